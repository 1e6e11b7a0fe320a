"""When a simulated pod does what, by its labels and annotations."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.kube.resources import Object
from fleetqueue.runtime import stages
from fleetqueue.runtime.addresses import AddressesExhausted, AddressPool
from fleetqueue.runtime.lives import Life, Moment
from fleetqueue.runtime.pod_status import build_status
from fleetqueue.runtime.stages import FAST, GENERAL, Profile

pytestmark = pytest.mark.rule("jobs C.11")

START = datetime(2026, 1, 1, tzinfo=UTC)
KWOK = "stage.kwok.x-k8s.io"


def pod(
    labels: dict[str, str] | None = None,
    job: bool = False,
    policy: str = "Never",
    uid: str = "u",
    spec: Object | None = None,
    **notes: str,
) -> Object:
    """Annotations as keyword arguments: `run_seconds="5"` is `fleetqueue.io/sim-run-seconds`."""
    own = {f"fleetqueue.io/sim-{key.replace('_', '-')}": value for key, value in notes.items()}
    metadata: Object = {"name": "p", "namespace": "d", "uid": uid, "annotations": own}
    if labels:
        metadata["labels"] = labels
    if job:
        metadata["ownerReferences"] = [{"kind": "Job", "name": "j", "uid": "j"}]
    containers = [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]
    body: Object = {"restartPolicy": policy, "containers": containers, **(spec or {})}
    return {"metadata": metadata, "spec": body}


def noted(notes: dict[str, str], **more: Any) -> Object:
    made = pod(**more)
    made["metadata"]["annotations"] |= notes
    return made


DELAYS: dict[str, tuple[dict[str, str], Profile, float, float]] = {
    "at once": ({}, FAST, 0, 0),
    "a few seconds": ({}, GENERAL, 1, 5),
    "a duration": ({f"pod-ready.{KWOK}/delay": "1m30s"}, FAST, 90, 90),
    "milliseconds": ({f"pod-ready.{KWOK}/delay": "1500"}, FAST, 1.5, 1.5),
    "an own delay has no chance in it": ({f"pod-ready.{KWOK}/delay": "2s"}, GENERAL, 2, 2),
    "up to some time": (
        {f"pod-ready.{KWOK}/delay": "2s", f"pod-ready.{KWOK}/jitter-delay": "4s"},
        FAST,
        2,
        4,
    ),
    "chance below the delay wins": (
        {f"pod-ready.{KWOK}/delay": "9s", f"pod-ready.{KWOK}/jitter-delay": "4s"},
        FAST,
        4,
        4,
    ),
    "faster than the clock": ({f"pod-ready.{KWOK}/delay": "60s"}, Profile(speed=60), 1, 1),
    "nonsense is not heard": ({f"pod-ready.{KWOK}/delay": "soon"}, FAST, 0, 0),
}


@pytest.mark.parametrize(("notes", "profile", "least", "most"), DELAYS.values(), ids=DELAYS)
def test_a_stage_is_due_after_its_delay(
    notes: dict[str, str], profile: Profile, least: float, most: float
) -> None:
    found = [stages.delay(noted(notes, uid=f"u{n}"), "pod-ready", profile) for n in range(20)]
    assert all(least <= each <= most for each in found)
    assert (len(set(found)) > 10) == (most > least)


CODES: dict[str, tuple[Object, int, dict[str, int]]] = {
    "all well": (pod(), 0, {"a": 0, "b": 0}),
    "one code for all": (pod(exit_code="3"), 0, {"a": 3, "b": 3}),
    "by container": (pod(exit_code="a=1, b=137"), 0, {"a": 1, "b": 137}),
    "the first attempts fail": (pod(fail_attempts="2"), 1, {"a": 1, "b": 1}),
    "the next does not": (pod(fail_attempts="2"), 2, {"a": 0, "b": 0}),
    "they fail in their way": (pod(fail_attempts="1", exit_code="b=9"), 0, {"a": 0, "b": 9}),
    "and then no more": (pod(fail_attempts="1", exit_code="b=9"), 1, {"a": 0, "b": 0}),
}


@pytest.mark.parametrize(("given", "attempt", "codes"), CODES.values(), ids=CODES)
def test_exit_codes_are_as_the_pod_says(given: Object, attempt: int, codes: dict[str, int]) -> None:
    assert stages.exit_codes(given, attempt) == codes


def seen(given: Object, seconds: float, profile: Profile = FAST, **options: Any) -> Object:
    """The status after so long, with what was to be seen on the way seen."""
    life = Life(given, START, profile, options.pop("attempt", 0))
    now = START + timedelta(seconds=seconds)
    return build_status(given, life.at(now, was_running=True).facts, now)


def states(status: Object, kind: str = "containerStatuses") -> list[str]:
    """The state of each container in one word."""
    words = []
    for each in status[kind]:
        ((word, said),) = each["state"].items()
        detail = said.get("exitCode", said.get("reason", ""))
        words.append(f"{word} {detail}".strip())
    return words


def phases(given: Object, *seconds: float, **options: Any) -> list[str]:
    return [seen(given, each, **options)["phase"] for each in seconds]


def test_a_plain_pod_runs_until_it_is_deleted() -> None:
    status = seen(pod(), 100_000)
    assert (status["phase"], states(status)) == ("Running", ["running", "running"])
    assert Life(pod(), START, FAST).at(START, was_running=False).changes_at is None


def test_a_pod_of_a_job_ends_well_but_not_unseen() -> None:
    life = Life(pod(job=True), START, FAST)
    first = life.at(START, was_running=False)
    assert first.changes_at == START
    assert build_status(life.pod, first.facts, START)["phase"] == "Running"
    assert seen(life.pod, 0)["phase"] == "Succeeded"


def test_a_pod_runs_as_long_as_it_says() -> None:
    assert phases(pod(run_seconds="5"), 4.9, 5) == ["Running", "Succeeded"]
    assert phases(pod(run_seconds="5m"), 299, 300) == ["Running", "Succeeded"]
    assert phases(pod(run_seconds="5", exit_code="a=2"), 4.9, 5) == ["Running", "Failed"]
    assert phases(pod(job=True, run_seconds="never"), 10_000) == ["Running"]
    fast = Profile(speed=10)
    assert phases(pod(run_seconds="50"), 4.9, 5, profile=fast) == ["Running", "Succeeded"]


def test_a_pod_is_ready_when_it_says() -> None:
    given = pod(ready_seconds="3")
    ready = [seen(given, seconds)["containerStatuses"][0]["ready"] for seconds in (0, 2.9, 3, 500)]
    assert ready == [False, False, True, True]
    assert not seen(pod(ready_seconds="never"), 10_000)["containerStatuses"][0]["ready"]


def test_stages_follow_each_other() -> None:
    inits = [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]
    notes = {
        f"{name}.{KWOK}/delay": "10s"
        for name in (
            "pod-create",
            "pod-init-container-running",
            "pod-init-container-completed",
            "pod-ready",
            "pod-complete",
        )
    }
    given = noted(notes, job=True, spec={"initContainers": inits})
    rows = [seen(given, seconds) for seconds in (15, 25, 35, 45, 55)]
    assert [states(row, "initContainerStatuses") for row in rows] == [
        ["waiting PodInitializing", "waiting PodInitializing"],
        ["running", "running"],
        ["terminated 0", "running"],
        ["terminated 0", "running"],
        ["terminated 0", "terminated 0"],
    ]
    assert [states(row)[0] for row in rows] == [
        "waiting PodInitializing",
        "waiting PodInitializing",
        "waiting PodInitializing",
        "running",
        "terminated 0",
    ]
    assert [row["phase"] for row in rows] == [
        "Pending",
        "Pending",
        "Pending",
        "Running",
        "Succeeded",
    ]
    early = Life(given, START, FAST).at(START, was_running=False)
    assert not early.facts.has_sandbox
    assert early.changes_at == START + timedelta(seconds=10)


FAILED = "pod-container-running-failed"
INIT_FAILED = "pod-init-container-running-failed"


def test_a_label_lets_a_container_fail() -> None:
    given = noted({f"{FAILED}.{KWOK}/delay": "5s"}, labels={f"{FAILED}.{KWOK}": "true"})
    assert phases(given, 4, 5) == ["Running", "Failed"]
    ended = seen(given, 5)["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"], ended["message"]) == (
        1,
        "containerFailed",
        "container failed",
    )
    notes = {
        f"{FAILED}.{KWOK}/container-name": "b",
        f"{FAILED}.{KWOK}/reason": "OOMKilled",
        f"{FAILED}.{KWOK}/message": "too much",
        f"{FAILED}.{KWOK}/exit-code": "137",
    }
    status = seen(noted(notes, labels={f"{FAILED}.{KWOK}": "true"}), 0)
    assert states(status) == ["terminated 143", "terminated 137"]
    assert status["containerStatuses"][1]["state"]["terminated"]["reason"] == "OOMKilled"


def test_a_label_lets_an_init_container_fail() -> None:
    spec = {"initContainers": [{"name": "i"}]}
    status = seen(pod(labels={f"{INIT_FAILED}.{KWOK}": "true"}, spec=spec), 0)
    assert (status["phase"], states(status)) == (
        "Failed",
        ["waiting PodInitializing", "waiting PodInitializing"],
    )
    ended = status["initContainerStatuses"][0]["state"]["terminated"]
    assert (ended["reason"], ended["message"]) == (
        "initContainerError",
        "initContainer reported errors",
    )


def test_weights_decide_how_many_fail() -> None:
    notes = {f"{FAILED}.{KWOK}/weight": "1", f"pod-complete.{KWOK}/weight": "1"}
    labels = {f"{FAILED}.{KWOK}": "true"}
    made = [noted(notes, labels=labels, job=True, uid=f"u{number}") for number in range(200)]
    failed = sum(phases(each, 0) == ["Failed"] for each in made)
    assert 60 < failed < 140


def test_containers_that_fail_are_started_again_ever_later() -> None:
    given = pod(run_seconds="5", exit_code="a=1", policy="OnFailure")
    rows = [seen(given, seconds) for seconds in (4, 6, 10, 21)]
    assert [states(row) for row in rows] == [
        ["running", "running"],
        ["running", "terminated 0"],
        ["waiting CrashLoopBackOff", "terminated 0"],
        ["running", "terminated 0"],
    ]
    assert [row["containerStatuses"][0]["restartCount"] for row in rows] == [0, 1, 1, 2]
    assert {row["phase"] for row in rows} == {"Running"}
    waiting = rows[2]["containerStatuses"][0]
    assert waiting["state"]["waiting"]["message"] == (
        "back-off 10s restarting failed container=a pod=p_d(u)"
    )
    assert waiting["lastState"]["terminated"]["exitCode"] == 1


def test_attempts_in_one_pod_count_as_well() -> None:
    given = pod(run_seconds="5", fail_attempts="1", policy="OnFailure")
    assert phases(given, 6, 10) == ["Running", "Succeeded"]
    never = pod(run_seconds="5", fail_attempts="1")
    assert phases(never, 5, attempt=0) == ["Failed"]
    assert phases(never, 5, attempt=1) == ["Succeeded"]


def test_a_container_that_is_always_started_again_never_ends_its_pod() -> None:
    given = pod(run_seconds="5", policy="Always")
    assert set(phases(given, *range(0, 5000, 7))) == {"Running"}


def test_a_pod_has_a_deadline() -> None:
    status = seen(pod(spec={"activeDeadlineSeconds": 7}), 8)
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert states(status) == ["terminated 143", "terminated 143"]
    moment: Moment = Life(pod(spec={"activeDeadlineSeconds": 7}), START, FAST).at(
        START, was_running=False
    )
    assert moment.changes_at == START + timedelta(seconds=7)
    done = pod(run_seconds="3", spec={"activeDeadlineSeconds": 7})
    assert phases(done, 8) == ["Succeeded"]


def test_what_a_pod_is_said_to_have_written() -> None:
    assert stages.log_of(pod(log="hello\n")) == "hello\n"
    assert stages.log_of(pod()) == ""


def test_addresses_are_not_used_again_soon() -> None:
    pool = AddressPool("10.0.0.0/29")
    first = [pool.take(number) for number in range(3)]
    assert first == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
    assert pool.take(1) == "10.0.0.2"
    pool.release(0)
    assert pool.take("next") == "10.0.0.4"
    pool.keep("old", "10.0.0.5")
    assert [pool.take(name) for name in "abc"] == ["10.0.0.6", "10.0.0.7", "10.0.0.1"]
    with pytest.raises(AddressesExhausted):
        pool.take("more")
