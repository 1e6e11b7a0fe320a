"""The status of a pod from the states of its containers."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.pod_quality import quality_of_service
from fleetqueue.runtime.pod_status import (
    DEADLINE_EXCEEDED,
    ContainerFacts,
    Failure,
    PodFacts,
    Running,
    Terminated,
    Waiting,
    build_status,
)

pytestmark = pytest.mark.rule("jobs C.2")

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
EARLIER = NOW - timedelta(hours=1)

RUNS = ContainerFacts(Running(EARLIER), is_ready=True)
STARTS = ContainerFacts(Running(EARLIER), is_ready=True, is_started=False)
DONE = ContainerFacts(Terminated(0, started_at=EARLIER, finished_at=NOW))
FAILED = ContainerFacts(Terminated(3, started_at=EARLIER, finished_at=NOW))
WAITS = ContainerFacts(Waiting("ContainerCreating"))
CRASHED = ContainerFacts(Waiting("CrashLoopBackOff"), last=Terminated(1), restarts=2)
BACK = ContainerFacts(Running(NOW), is_ready=True, last=Terminated(1), restarts=1)


def pod(mains: int = 1, inits: tuple[str, ...] = (), policy: str = "Never", **more: Any) -> Object:
    """Containers m0, m1 …; init containers by name, sidecars where it begins with `s`."""
    return {
        "metadata": {"name": "p", "namespace": "default", "uid": "u", "generation": 1},
        "spec": {
            "restartPolicy": policy,
            "containers": [{"name": f"m{n}", "image": "busybox"} for n in range(mains)],
            **({"initContainers": [_init(name) for name in inits]} if inits else {}),
            **more.pop("spec", {}),
        },
        **more,
    }


def _init(name: str) -> Object:
    return {"name": name} | ({"restartPolicy": "Always"} if name[0] == "s" else {})


def built(given: Object, is_over: bool = False, **containers: ContainerFacts) -> Object:
    return build_status(given, PodFacts(containers, is_over=is_over, started_at=EARLIER), NOW)


def condition(status: Object, type: str) -> tuple[str, str, str]:
    (found,) = [each for each in status["conditions"] if each["type"] == type]
    return found["status"], found.get("reason", ""), found.get("message", "")


PHASES: dict[str, tuple[Object, dict[str, ContainerFacts], str]] = {
    "nothing has begun": (pod(), {}, "Pending"),
    "one of two waits": (pod(2), {"m0": RUNS}, "Pending"),
    "all run": (pod(2), {"m0": RUNS, "m1": RUNS}, "Running"),
    "one runs, one ended": (pod(2), {"m0": RUNS, "m1": FAILED}, "Running"),
    "all ended well": (pod(2), {"m0": DONE, "m1": DONE}, "Succeeded"),
    "one failed": (pod(2), {"m0": DONE, "m1": FAILED}, "Failed"),
    "one failed and is started again": (pod(2, policy="OnFailure"), {"m0": DONE, "m1": FAILED},
                                        "Running"),
    "one failed and waits to start again": (pod(policy="OnFailure"), {"m0": CRASHED}, "Running"),
    "it runs again": (pod(policy="OnFailure"), {"m0": BACK}, "Running"),
    "all ended and are always started again": (pod(policy="Always"), {"m0": DONE}, "Running"),
    "an init container runs": (pod(inits=("i",)), {"i": RUNS}, "Pending"),
    "an init container failed for good": (pod(inits=("i",)), {"i": FAILED}, "Failed"),
    "an init container failed and is tried again": (
        pod(inits=("i",), policy="OnFailure"), {"i": CRASHED}, "Pending",
    ),
    "init containers are done": (pod(inits=("i",)), {"i": DONE, "m0": RUNS}, "Running"),
    "init containers are done, nothing runs yet": (pod(inits=("i",)), {"i": DONE}, "Pending"),
    "a sidecar has not started": (pod(inits=("s",)), {"s": STARTS}, "Pending"),
    "a sidecar starts again while the container runs": (
        pod(inits=("s",)), {"s": CRASHED, "m0": RUNS}, "Running",
    ),
    "a sidecar has to start again while the container runs": (
        pod(inits=("s",)), {"s": STARTS, "m0": RUNS}, "Running",
    ),
    "a sidecar still runs": (pod(inits=("s",)), {"s": RUNS, "m0": DONE}, "Running"),
    "a sidecar that failed does not count": (
        pod(inits=("s",)), {"s": FAILED, "m0": DONE}, "Succeeded",
    ),
    "a sidecar that ended well does not help": (
        pod(inits=("s",)), {"s": DONE, "m0": FAILED}, "Failed",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("given", "containers", "phase"), PHASES.values(), ids=PHASES)
def test_the_phase_follows_from_the_containers(
    given: Object, containers: dict[str, ContainerFacts], phase: str
) -> None:
    assert built(given, **containers)["phase"] == phase


ENDS: dict[str, tuple[dict[str, ContainerFacts], str]] = {
    "ended well": ({"m0": DONE}, "Succeeded"),
    "failed": ({"m0": FAILED}, "Failed"),
    "waited to start again": ({"m0": CRASHED}, "Failed"),
    "never began": ({}, "Failed"),
}


@pytest.mark.parametrize(("containers", "phase"), ENDS.values(), ids=ENDS)
def test_a_pod_that_is_over_has_a_terminal_phase_whatever_its_policy(
    containers: dict[str, ContainerFacts], phase: str
) -> None:
    assert built(pod(policy="Always"), is_over=True, **containers)["phase"] == phase


def test_a_terminal_phase_never_changes_back() -> None:
    ended = pod(status={"phase": "Failed", "reason": "Evicted", "message": "too much"})
    status = built(ended, m0=RUNS)
    assert (status["phase"], status["reason"], status["message"]) == (
        "Failed",
        "Evicted",
        "too much",
    )


def test_a_deadline_shows_when_the_pod_is_over() -> None:
    facts = PodFacts({"m0": RUNS}, failure=DEADLINE_EXCEEDED)
    still = build_status(pod(), facts, NOW)
    assert still["phase"] == "Running"
    assert "reason" not in still
    facts = PodFacts({"m0": DONE}, failure=DEADLINE_EXCEEDED, is_over=True)
    status = build_status(pod(), facts, NOW)
    assert (status["phase"], status["reason"], status["message"]) == (
        "Failed",
        "DeadlineExceeded",
        "Pod was active on the node longer than the specified deadline",
    )
    assert "message" not in build_status(
        pod(), PodFacts({}, failure=Failure("Evicted"), is_over=True), NOW
    )


UNREADY = "containers with unready status:"
CONDITIONS: dict[str, tuple[Object, dict[str, ContainerFacts], str, tuple[str, str, str]]] = {
    "initialized without init containers": (pod(), {}, "Initialized", ("True", "", "")),
    "not initialized": (
        pod(inits=("i", "s")),
        {"s": STARTS},
        "Initialized",
        ("False", "ContainersNotInitialized", "containers with incomplete status: [i s]"),
    ),
    "initialized once a sidecar has started": (
        pod(inits=("i", "s")), {"i": DONE, "s": RUNS}, "Initialized", ("True", "", ""),
    ),
    "still initialized when a sidecar starts again": (
        pod(inits=("s",)), {"s": CRASHED, "m0": RUNS}, "Initialized", ("True", "", ""),
    ),
    "still initialized when everything starts again": (
        pod(inits=("s",), policy="OnFailure"),
        {"s": STARTS, "m0": CRASHED},
        "Initialized",
        ("True", "", ""),
    ),
    "completed": (pod(), {"m0": DONE}, "Initialized", ("True", "PodCompleted", "")),
    "ready": (pod(), {"m0": RUNS}, "Ready", ("True", "", "")),
    "not ready": (
        pod(2, inits=("s",)),
        {"s": STARTS, "m0": RUNS},
        "Ready",
        ("False", "ContainersNotReady", f"{UNREADY} [s m1]"),
    ),
    "containers not ready": (
        pod(2), {"m1": RUNS}, "ContainersReady", ("False", "ContainersNotReady", f"{UNREADY} [m0]"),
    ),
    "no longer ready": (pod(), {"m0": DONE}, "Ready", ("False", "PodCompleted", "")),
    "failed": (pod(), {"m0": FAILED}, "ContainersReady", ("False", "PodFailed", "")),
    "a gate that nobody opened": (
        pod(spec={"readinessGates": [{"conditionType": "example.com/a"}]}),
        {"m0": RUNS},
        "Ready",
        (
            "False",
            "ReadinessGatesNotReady",
            'corresponding condition of pod readiness gate "example.com/a" does not exist.',
        ),
    ),
    "a gate that is closed": (
        pod(
            spec={"readinessGates": [{"conditionType": "example.com/a"}]},
            status={"conditions": [{"type": "example.com/a", "status": "False"}]},
        ),
        {"m0": RUNS},
        "Ready",
        (
            "False",
            "ReadinessGatesNotReady",
            'the status of pod readiness gate "example.com/a" is not "True", but False',
        ),
    ),
    "a gate that is open": (
        pod(
            spec={"readinessGates": [{"conditionType": "example.com/a"}]},
            status={"conditions": [{"type": "example.com/a", "status": "True"}]},
        ),
        {"m0": RUNS},
        "Ready",
        ("True", "", ""),
    ),
    "scheduled": (pod(), {}, "PodScheduled", ("True", "", "")),
    "ready to start": (pod(), {}, "PodReadyToStartContainers", ("True", "", "")),
}  # fmt: skip


@pytest.mark.parametrize(("given", "containers", "type", "said"), CONDITIONS.values(),
                         ids=CONDITIONS)  # fmt: skip
def test_conditions_say_how_far_a_pod_is(
    given: Object, containers: dict[str, ContainerFacts], type: str, said: tuple[str, str, str]
) -> None:
    assert condition(built(given, **containers), type) == said


def test_a_transition_time_moves_only_with_its_status() -> None:
    given = pod()
    given["status"] = built(given, m0=RUNS)
    later = build_status(given, PodFacts({"m0": FAILED}), NOW + timedelta(hours=1))
    times = {each["type"]: each["lastTransitionTime"] for each in later["conditions"]}
    assert times["Ready"] == "2026-01-01T13:00:00Z"
    assert times["Initialized"] == "2026-01-01T12:00:00Z"
    assert all(each["lastProbeTime"] is None for each in later["conditions"])
    assert all(each["observedGeneration"] == 1 for each in later["conditions"])


def test_conditions_of_others_are_kept() -> None:
    target = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    status = built(pod(status={"conditions": [target]}), m0=RUNS)
    assert [each["type"] for each in status["conditions"]] == [
        "DisruptionTarget",
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]
    assert status["conditions"][0] == target


def test_nothing_is_ready_before_directories_and_addresses_are() -> None:
    status = build_status(pod(), PodFacts(has_sandbox=False), NOW)
    assert condition(status, "PodReadyToStartContainers")[0] == "False"
    assert "podIP" not in status


def test_containers_that_have_not_begun_say_what_they_wait_for() -> None:
    status = built(pod())
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
    status = built(pod(inits=("i", "j")), i=RUNS)
    lists = status["initContainerStatuses"] + status["containerStatuses"]
    assert [each["name"] for each in lists] == ["i", "j", "m0"]
    assert [each["state"].get("waiting") for each in lists] == [
        None,
        {"reason": "PodInitializing"},
        {"reason": "PodInitializing"},
    ]


def test_a_container_that_ended_tells_how() -> None:
    ended = Terminated(137, "OOMKilled", "out", signal=9, started_at=EARLIER, finished_at=NOW)
    last = Terminated(1, id="before")
    facts = ContainerFacts(ended, restarts=1, last=last, id="now", image_id="sha256:1")
    (status,) = built(pod(), m0=facts)["containerStatuses"]
    assert status == {
        "name": "m0",
        "image": "busybox",
        "imageID": "sha256:1",
        "containerID": "fleetqueue://now",
        "ready": False,
        "started": False,
        "restartCount": 1,
        "state": {
            "terminated": {
                "exitCode": 137,
                "reason": "OOMKilled",
                "message": "out",
                "signal": 9,
                "startedAt": "2026-01-01T11:00:00Z",
                "finishedAt": "2026-01-01T12:00:00Z",
                "containerID": "fleetqueue://now",
            }
        },
        "lastState": {
            "terminated": {
                "exitCode": 1,
                "reason": "Error",
                "startedAt": None,
                "finishedAt": None,
                "containerID": "fleetqueue://before",
            }
        },
    }
    (status,) = built(pod(), m0=DONE)["containerStatuses"]
    assert status["state"]["terminated"]["reason"] == "Completed"


def test_addresses_and_times_are_told() -> None:
    facts = PodFacts({"m0": RUNS}, started_at=EARLIER, pod_ip="10.0.0.2", host_ip="10.0.0.1")
    status = build_status(pod(), facts, NOW)
    assert status["podIPs"] == [{"ip": "10.0.0.2"}]
    assert (status["hostIP"], status["hostIPs"]) == ("10.0.0.1", [{"ip": "10.0.0.1"}])
    assert status["startTime"] == "2026-01-01T11:00:00Z"
    assert status["observedGeneration"] == 1
    again = build_status(pod(status=status), PodFacts({"m0": RUNS}, started_at=NOW), NOW)
    assert again["startTime"] == "2026-01-01T11:00:00Z"


def resources(**kinds: Object) -> Object:
    return {"resources": kinds}


BOTH = {"cpu": "1", "memory": "1Gi"}
QUALITIES: dict[str, tuple[Object, str]] = {
    "nothing": ({"containers": [{}]}, "BestEffort"),
    "zero is nothing": ({"containers": [resources(requests={"cpu": "0"})]}, "BestEffort"),
    "equal": ({"containers": [resources(requests=BOTH, limits=BOTH)]}, "Guaranteed"),
    "limits alone": ({"containers": [resources(limits=BOTH)]}, "Guaranteed"),
    "requests alone": ({"containers": [resources(requests=BOTH)]}, "Burstable"),
    "less than the limit": (
        {"containers": [resources(requests={**BOTH, "cpu": "500m"}, limits=BOTH)]},
        "Burstable",
    ),
    "one container without": ({"containers": [resources(limits=BOTH), {}]}, "Burstable"),
    "an init container without": (
        {"containers": [resources(limits=BOTH)], "initContainers": [{}]},
        "Burstable",
    ),
    "other resources do not count": (
        {"containers": [resources(limits={"nvidia.com/gpu": "1"})]},
        "BestEffort",
    ),
    "the pod as a whole": ({"containers": [{}], **resources(limits=BOTH)}, "Guaranteed"),
}


@pytest.mark.parametrize(("spec", "expected"), QUALITIES.values(), ids=QUALITIES)
def test_the_quality_of_service_follows_from_requests_and_limits(
    spec: Object, expected: str
) -> None:
    assert quality_of_service(spec) == expected
