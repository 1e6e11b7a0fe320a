"""What a user is told of a pod that cannot run, start, be asked or end: status, reason, message and
events, as a kubelet words them. On paper and in virtual time, so that every second is seen.
"""

import signal
from pathlib import Path

import pytest
from tests.support.paper import Node, condition, container, state

from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import POD
from fleetqueue.testing import Fleet

pytestmark = [pytest.mark.rule("jobs C.2"), pytest.mark.rule("jobs C.5")]

MISSING = 'exec: "missing": executable file not found in $PATH'


@pytest.fixture
async def node(fleet: Fleet, tmp_path: Path) -> Node:
    return Node(fleet, await fleet.add_cluster("one"), tmp_path)


async def who(node: Node) -> str:
    return f"a_default({(await node.get())['metadata']['uid']})"


def unready(status: Object) -> dict[str, tuple[str, str, str]]:
    """The conditions that are not True."""
    return {
        each["type"]: (each["status"], each.get("reason", ""), each.get("message", ""))
        for each in status["conditions"]
        if each["status"] != "True"
    }


NOT_READY = ("False", "ContainersNotReady", "containers with unready status: [main]")


async def test_a_program_that_does_not_exist_is_tried_again_and_again(node: Node) -> None:
    await node.create(container("missing"))
    status = await node.status(0.2)
    assert state(status)["waiting"] == {"reason": "RunContainerError", "message": MISSING}
    status = await node.status(2)
    shown = status["containerStatuses"][0]
    # It counts as restarting, although it never ran.
    assert status["phase"] == "Running"
    assert shown["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert shown["restartCount"] == 1
    ended = shown["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"], ended["message"]) == (128, "StartError", MISSING)
    assert unready(status) == {"Ready": NOT_READY, "ContainersReady": NOT_READY}
    assert await node.warnings() == [
        ("Failed", f"Error: {MISSING}"),
        ("BackOff", f"Back-off restarting failed container main in pod {await who(node)}"),
    ]


async def test_an_image_that_cannot_be_pulled(node: Node) -> None:
    why = 'no local environment is mapped to image "i"'
    node.preparation.missing["main image"] = ("ErrImagePull", why)
    await node.create(container("run 5"), restartPolicy="Never")
    status = await node.status(0.5)
    assert status["phase"] == "Pending"
    assert state(status)["waiting"] == {"reason": "ErrImagePull", "message": why}
    status = await node.status(1)
    assert state(status)["waiting"] == {
        "reason": "ImagePullBackOff",
        "message": f'Back-off pulling image "i": ErrImagePull: {why}',
    }
    assert unready(status) == {"Ready": NOT_READY, "ContainersReady": NOT_READY}
    assert await node.all_events() == [
        ("Normal", "Pulling", 'Pulling image "i"'),
        ("Warning", "Failed", f'Failed to pull image "i": {why}'),
        ("Warning", "Failed", "Error: ErrImagePull"),
        ("Normal", "BackOff", 'Back-off pulling image "i"'),
        ("Warning", "Failed", "Error: ImagePullBackOff"),
    ]
    node.preparation.missing.clear()
    assert (await node.status(10))["phase"] == "Running"


@pytest.mark.parametrize(
    ("reason", "message", "event"),
    [
        (
            "ErrImageNeverPull",
            'Container image "i" is not present with pull policy of Never',
            "ErrImageNeverPull",
        ),
        (
            "InvalidImageName",
            'Failed to apply default image tag "i": couldn\'t parse image name "i": '
            "invalid reference format",
            "InspectFailed",
        ),
    ],
)
async def test_an_image_that_is_not_asked_for(
    node: Node, reason: str, message: str, event: str
) -> None:
    node.preparation.missing["main image"] = (reason, message)
    await node.create(container("run 5"), restartPolicy="Never")
    status = await node.status(1)
    assert state(status)["waiting"] == {"reason": reason, "message": message}
    assert await node.warnings() == [(event, message), ("Failed", f"Error: {reason}")]


async def test_a_reference_to_nothing_keeps_the_pod_pending(node: Node) -> None:
    why = "couldn't find key k in Secret default/s"
    node.preparation.missing["main command"] = ("CreateContainerConfigError", why)
    await node.create(container("run 5"), restartPolicy="Never")
    status = await node.status(1)
    assert status["phase"] == "Pending"
    shown = status["containerStatuses"][0]
    assert (shown["ready"], shown["started"], shown["restartCount"]) == (False, False, 0)
    assert shown["state"]["waiting"] == {"reason": "CreateContainerConfigError", "message": why}
    assert condition(status, "PodReadyToStartContainers")["status"] == "True"
    assert await node.warnings() == [("Failed", f"Error: {why}")]


async def test_an_init_container_that_fails_for_ever(node: Node) -> None:
    await node.create(container("serve"), initContainers=[container("fail 4", "first")])
    status = await node.status(1)
    assert status["phase"] == "Pending"
    first = status["initContainerStatuses"][0]
    assert first["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert first["lastState"]["terminated"]["exitCode"] == 4
    assert state(status)["waiting"] == {"reason": "PodInitializing"}
    assert unready(status)["Initialized"] == (
        "False",
        "ContainersNotInitialized",
        "containers with incomplete status: [first]",
    )
    assert await node.warnings() == [
        ("BackOff", f"Back-off restarting failed container first in pod {await who(node)}")
    ]
    await node.fleet.passes(hours=1)
    status = await node.status()
    assert status["phase"] == "Pending"
    assert status["initContainerStatuses"][0]["restartCount"] > 10
    assert "serve" not in node.commands
    await node.cluster.client.delete(POD, "a", "default")
    await node.fleet.passes(seconds=1)
    with pytest.raises(NotFound):
        await node.get()


async def test_an_init_container_that_fails_once_and_for_all(node: Node) -> None:
    inits = [container("fail 4", "first")]
    await node.create(container("serve"), initContainers=inits, restartPolicy="Never")
    status = await node.status(1)
    assert status["phase"] == "Failed"
    assert state(status, field="initContainerStatuses")["terminated"]["exitCode"] == 4
    assert state(status)["waiting"] == {"reason": "PodInitializing"}
    assert condition(status, "Ready")["reason"] == "PodFailed"


@pytest.mark.parametrize("kind", ["liveness", "readiness"])
async def test_a_probe_that_cannot_be_asked_counts_for_nothing(node: Node, kind: str) -> None:
    probe = {"exec": {"command": ["missing"]}, "periodSeconds": 2, "failureThreshold": 2}
    await node.create(container("serve", **{f"{kind}Probe": probe}))
    status = await node.status(30)
    shown = status["containerStatuses"][0]
    assert shown["restartCount"] == 0
    assert shown["ready"] is (kind == "liveness")
    assert await node.warnings() == [
        (
            "Unhealthy",
            f"{kind.capitalize()} probe errored and resulted in unknown state: {MISSING}",
        )
    ]


@pytest.mark.parametrize("action", ["httpGet", "tcpSocket"])
async def test_a_probe_of_a_port_that_has_no_such_name(node: Node, action: str) -> None:
    probe = {action: {"port": "web"}, "periodSeconds": 2, "failureThreshold": 1}
    await node.create(container("serve", readinessProbe=probe, livenessProbe=probe))
    status = await node.status(10)
    assert status["containerStatuses"][0]["restartCount"] == 0
    assert condition(status, "Ready")["status"] == "False"
    why = 'errored and resulted in unknown state: strconv.Atoi: parsing "web": invalid syntax'
    said = await node.warnings()
    assert sorted(said) == [
        ("Unhealthy", f"Liveness probe {why}"),
        ("Unhealthy", f"Readiness probe {why}"),
    ]


async def test_a_probe_that_takes_too_long(node: Node) -> None:
    probe = {"exec": {"command": ["run", "60"]}, "periodSeconds": 5, "timeoutSeconds": 2}
    await node.create(container("serve", readinessProbe=probe))
    await node.status(3)
    assert await node.warnings() == [
        ("Unhealthy", 'Readiness probe failed: command timed out: "run 60" timed out after 2s')
    ]


@pytest.mark.parametrize("kind", ["liveness", "startup"])
@pytest.mark.parametrize("policy", ["Always", "Never"])
async def test_a_probe_that_fails_ends_the_container(node: Node, kind: str, policy: str) -> None:
    probe = {
        "exec": {"command": ["fail", "1"]},
        "periodSeconds": 2,
        "failureThreshold": 2,
        "terminationGracePeriodSeconds": 7,
    }
    hook = {"preStop": {"exec": {"command": ["run", "1"]}}}
    named = {f"{kind}Probe": probe, "lifecycle": hook}
    await node.create(container("deaf", **named), restartPolicy=policy)
    status = await node.status(8)
    assert status["phase"] == "Running"
    assert node.processes.executed[-1] == ("run", "1")
    status = await node.status(3)
    shown = status["containerStatuses"][0]
    ended = shown["lastState" if policy == "Always" else "state"]["terminated"]
    assert (ended["exitCode"], shown["restartCount"]) == (137, int(policy == "Always"))
    assert status["phase"] == ("Running" if policy == "Always" else "Failed")
    coda = ", will be restarted" if policy == "Always" else ""
    told = [text for _, reason, text in await node.all_events() if reason == "Killing"]
    assert told == [f"Container main failed {kind} probe{coda}"]


async def test_a_hook_that_fails_after_the_start(node: Node) -> None:
    hook = {"postStart": {"exec": {"command": ["fail", "3"]}}}
    seen = await node.states("serve", lifecycle=hook)
    words = (
        f'Exec lifecycle hook ([fail 3]) for Container "main" in Pod "{await who(node)}" failed '
        "- error: command 'fail 3' exited with 3: , message: \"\""
    )
    assert {"waiting": {"reason": "PostStartHookError", "message": words}} in seen
    told = [each for each in await node.all_events() if each[1] in KILLS]
    assert told[:2] == [
        ("Warning", "FailedPostStartHook", "PostStartHook failed"),
        ("Normal", "Killing", "FailedPostStartHook"),
    ]
    status = await node.status()
    assert status["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 143


KILLS = ("FailedPostStartHook", "FailedPreStopHook", "Killing")


async def test_a_hook_that_fails_before_the_end(node: Node) -> None:
    hook = {"preStop": {"exec": {"command": ["missing"]}}}
    await node.create(container("serve", lifecycle=hook))
    await node.status(1)
    await node.cluster.client.delete(POD, "a", "default")
    await node.fleet.passes(seconds=1)
    with pytest.raises(NotFound):
        await node.get()
    told = [each for each in await node.all_events() if each[1] in KILLS]
    assert told == [
        ("Normal", "Killing", "Stopping container main"),
        ("Warning", "FailedPreStopHook", "PreStopHook failed"),
    ]


async def test_a_pod_that_ignores_the_signal_is_killed_and_says_so(node: Node) -> None:
    await node.create(container("deaf"), terminationGracePeriodSeconds=20)
    await node.status(1)
    keep = {"metadata": {"finalizers": ["example.com/keep"]}}
    await node.cluster.client.patch(POD, "a", keep, "default")
    await node.cluster.client.delete(POD, "a", "default")
    assert (await node.status(19))["phase"] == "Running"
    status = await node.status(2)
    assert status["phase"] == "Failed"
    ended = state(status)["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "Error")
    assert [number for _, number in node.processes.signals] == [signal.SIGTERM, signal.SIGKILL]
    assert ("Normal", "Killing", "Stopping container main") in await node.all_events()
