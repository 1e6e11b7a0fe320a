"""Pods on a node of paper, in virtual time: what runs when, and what the status says of it."""

import signal
from pathlib import Path

import pytest
from tests.support.paper import Node, condition, container, state

from fleetqueue.kube.errors import NotFound
from fleetqueue.runtime.kinds import POD
from fleetqueue.testing import Fleet

pytestmark = [pytest.mark.rule("jobs C.5"), pytest.mark.rule("jobs C.2")]


@pytest.fixture
async def node(fleet: Fleet, tmp_path: Path) -> Node:
    return Node(fleet, await fleet.add_cluster("one"), tmp_path)


async def test_a_pod_runs_and_succeeds(node: Node) -> None:
    await node.create(container("run 5"), restartPolicy="Never")
    status = await node.status(1)
    assert status["phase"] == "Running"
    assert status["podIP"] == "127.9.0.5"
    assert condition(status, "Ready")["status"] == "True"
    assert "running" in state(status)
    status = await node.status(5)
    assert status["phase"] == "Succeeded"
    assert state(status)["terminated"]["reason"] == "Completed"
    assert condition(status, "Ready")["reason"] == "PodCompleted"
    assert [reason for reason, _ in await node.events()] == ["Pulled", "Created", "Started"]


async def test_a_failure_without_restarts_fails_the_pod(node: Node) -> None:
    await node.create(container("fail 3"), container("run 9", "b"), restartPolicy="Never")
    status = await node.status(1)
    assert status["phase"] == "Running"
    ended = state(status)["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (3, "Error")
    assert (await node.status(10))["phase"] == "Failed"


async def test_restarts_come_later_and_later(node: Node) -> None:
    await node.create(container("fail 1"), restartPolicy="OnFailure")
    status = await node.status(1)
    assert status["phase"] == "Running"
    shown = status["containerStatuses"][0]
    assert shown["restartCount"] == 1
    assert shown["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    uid = (await node.get())["metadata"]["uid"]
    said = f"back-off 10s restarting failed container=main pod=a_default({uid})"
    assert shown["state"]["waiting"]["message"] == said
    assert shown["lastState"]["terminated"]["exitCode"] == 1
    status = await node.status(10)
    assert status["containerStatuses"][0]["restartCount"] == 2
    assert "back-off 20s" in state(status)["waiting"]["message"]
    await node.fleet.passes(minutes=30)
    status = await node.status()
    assert "back-off 5m0s" in state(status)["waiting"]["message"]


async def test_a_container_that_always_runs_is_started_again_after_success(node: Node) -> None:
    await node.create(container("run 20"))
    status = await node.status(30)
    assert status["phase"] == "Running"
    assert status["containerStatuses"][0]["restartCount"] == 1


async def test_init_containers_run_one_after_the_other(node: Node) -> None:
    inits = [container("run 5", "one"), container("run 5", "two")]
    await node.create(container("run 5"), initContainers=inits, restartPolicy="Never")
    status = await node.status(1)
    assert status["phase"] == "Pending"
    assert state(status)["waiting"]["reason"] == "PodInitializing"
    assert condition(status, "Initialized")["message"] == (
        "containers with incomplete status: [one two]"
    )
    status = await node.status(5)
    assert condition(status, "Initialized")["message"] == (
        "containers with incomplete status: [two]"
    )
    status = await node.status(5)
    assert status["phase"] == "Running"
    assert (await node.status(5))["phase"] == "Succeeded"


async def test_an_init_container_that_fails_for_good_fails_the_pod(node: Node) -> None:
    await node.create(
        container("run 5"), initContainers=[container("fail 2", "one")], restartPolicy="Never"
    )
    status = await node.status(1)
    assert status["phase"] == "Failed"
    assert node.commands == ["fail 2"]


async def test_sidecars_start_first_and_end_last(node: Node) -> None:
    side = container("serve", "side", restartPolicy="Always")
    await node.create(container("run 5"), initContainers=[side], restartPolicy="Never")
    status = await node.status(1)
    assert node.commands == ["serve", "run 5"]
    assert status["phase"] == "Running"
    status = await node.status(6)
    assert status["phase"] == "Succeeded"
    assert state(status, field="initContainerStatuses")["terminated"]["signal"] == signal.SIGTERM
    assert not node.processes.running


async def test_a_deleted_pod_gets_a_signal_and_its_grace(node: Node) -> None:
    await node.create(container("deaf"), terminationGracePeriodSeconds=20)
    await node.status(1)
    await node.cluster.client.delete(POD, "a", "default")
    status = await node.status(10)
    assert status["phase"] == "Running"
    assert [number for _, number in node.processes.signals] == [signal.SIGTERM]
    await node.fleet.passes(seconds=11)
    with pytest.raises(NotFound):
        await node.get()
    assert not node.processes.running
    assert ("Killing", "Stopping container main") in await node.events()
    assert node.preparation.released == ["a"]


async def test_a_second_deletion_hurries_the_first(node: Node) -> None:
    await node.create(container("deaf"), terminationGracePeriodSeconds=600)
    await node.status(1)
    await node.cluster.client.delete(POD, "a", "default")
    await node.status(1)
    await node.cluster.client.delete(POD, "a", "default", grace_period_seconds=5)
    await node.fleet.passes(seconds=6)
    with pytest.raises(NotFound):
        await node.get()
    assert not node.processes.running


async def test_nothing_runs_on_when_a_pod_is_removed_by_force(node: Node) -> None:
    await node.create(container("deaf"))
    await node.status(1)
    await node.cluster.client.delete(POD, "a", "default", grace_period_seconds=0)
    await node.fleet.passes(seconds=1)
    assert not node.processes.running


async def test_a_hook_runs_before_the_signal(node: Node) -> None:
    hook = {"preStop": {"exec": {"command": ["run", "3"]}}}
    await node.create(container("serve", lifecycle=hook), terminationGracePeriodSeconds=30)
    await node.status(1)
    await node.cluster.client.delete(POD, "a", "default")
    await node.fleet.passes(seconds=2)
    assert node.processes.executed == [("run", "3")]
    assert not node.processes.signals
    await node.fleet.passes(seconds=2)
    assert not node.processes.running


async def test_a_command_that_does_not_exist_is_a_start_error(node: Node) -> None:
    await node.create(container("missing"), restartPolicy="Never")
    status = await node.status(1)
    assert status["phase"] == "Failed"
    ended = state(status)["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert ended["message"] == 'exec: "missing": executable file not found in $PATH'


async def test_a_missing_config_map_keeps_the_pod_waiting_until_it_is_there(node: Node) -> None:
    said = ("CreateContainerConfigError", 'configmap "x" not found')
    node.preparation.missing["main command"] = said
    await node.create(container("run 5"), restartPolicy="Never")
    status = await node.status(1)
    assert status["phase"] == "Pending"
    assert state(status)["waiting"] == {"reason": said[0], "message": said[1]}
    assert ("Failed", 'Error: configmap "x" not found') in await node.events()
    node.preparation.missing.clear()
    assert (await node.status(7))["phase"] == "Running"


async def test_an_image_that_nothing_fits_is_not_pulled(node: Node) -> None:
    said = ("ErrImagePull", 'no local environment is mapped to image "i"')
    node.preparation.missing["main image"] = said
    await node.create(container("run 5"), restartPolicy="Never")
    status = await node.status(0.5)
    assert state(status)["waiting"] == {"reason": said[0], "message": said[1]}
    status = await node.status(2)
    assert state(status)["waiting"]["reason"] == "ImagePullBackOff"
    await node.cluster.client.delete(POD, "a", "default")
    await node.fleet.passes(seconds=1)
    with pytest.raises(NotFound):
        await node.get()


async def test_a_volume_that_is_missing_is_told_by_an_event(node: Node) -> None:
    node.preparation.missing["sandbox"] = ("FailedMount", 'secret "s" not found')
    await node.create(container("run 5"), restartPolicy="Never")
    status = await node.status(1)
    assert state(status)["waiting"]["reason"] == "ContainerCreating"
    assert condition(status, "PodReadyToStartContainers")["status"] == "False"
    assert ("FailedMount", 'secret "s" not found') in await node.events()


async def test_readiness_follows_its_probe(node: Node) -> None:
    probe = {"exec": {"command": ["run", "0.1"]}, "initialDelaySeconds": 10, "periodSeconds": 5}
    await node.create(container("serve", readinessProbe=probe))
    status = await node.status(2)
    assert status["phase"] == "Running"
    assert condition(status, "Ready")["message"] == "containers with unready status: [main]"
    assert condition(await node.status(10), "Ready")["status"] == "True"


async def test_liveness_ends_and_restarts_a_container(node: Node) -> None:
    probe = {"exec": {"command": ["fail", "1"]}, "periodSeconds": 2, "failureThreshold": 2}
    await node.create(container("serve", livenessProbe=probe))
    status = await node.status(4)
    shown = status["containerStatuses"][0]
    assert shown["restartCount"] == 1
    assert shown["lastState"]["terminated"]["exitCode"] == 143
    events = await node.events()
    assert ("Unhealthy", "Liveness probe failed: ") in events
    assert ("Killing", "Container main failed liveness probe, will be restarted") in events


async def test_a_startup_probe_holds_the_others_back(node: Node) -> None:
    start = {"exec": {"command": ["run", "0.1"]}, "initialDelaySeconds": 30}
    live = {"exec": {"command": ["fail", "1"]}, "periodSeconds": 1, "failureThreshold": 1}
    await node.create(container("serve", startupProbe=start, livenessProbe=live))
    status = await node.status(20)
    assert not status["containerStatuses"][0]["started"]
    assert status["containerStatuses"][0]["restartCount"] == 0
    assert (await node.status(15))["containerStatuses"][0]["restartCount"] >= 1


async def test_a_pod_past_its_deadline_fails(node: Node) -> None:
    await node.create(container("serve"), activeDeadlineSeconds=60, restartPolicy="Never")
    assert (await node.status(50))["phase"] == "Running"
    status = await node.status(15)
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert status["message"] == "Pod was active on the node longer than the specified deadline"
    assert not node.processes.running


@pytest.mark.rule("jobs C.13")
async def test_a_container_that_ended_while_nobody_looked_ended_once(node: Node) -> None:
    await node.create(container("run 5"), restartPolicy="OnFailure")
    await node.status(1)
    await node.restart(seconds_away=10)
    status = await node.status(2)
    assert status["phase"] == "Succeeded"
    assert node.commands == ["run 5"]


@pytest.mark.rule("jobs C.13")
async def test_a_container_whose_process_is_lost_is_said_to_be(node: Node) -> None:
    await node.create(container("serve"), restartPolicy="Never")
    await node.status(1)
    node.processes.running.clear()
    await node.restart()
    status = await node.status(2)
    ended = state(status)["terminated"]
    assert status["phase"] == "Failed"
    assert (ended["exitCode"], ended["message"]) == (137, "container process was lost")
