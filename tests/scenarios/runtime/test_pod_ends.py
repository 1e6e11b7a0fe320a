"""What a pod gives back when it ends, and how soon its containers are started again."""

from pathlib import Path

import pytest
from tests.support.paper import Node, container, state

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import POD
from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("jobs C.5")


@pytest.fixture
async def node(fleet: Fleet, tmp_path: Path) -> Node:
    return Node(fleet, await fleet.add_cluster("one"), tmp_path)


@pytest.mark.rule("jobs C.10")
@pytest.mark.parametrize("command", ["run 5", "fail 3"])
async def test_a_pod_that_ended_keeps_its_files_but_no_devices(node: Node, command: str) -> None:
    await node.create(container(command), container("run 5", "other"), restartPolicy="Never")
    assert (await node.status(1))["phase"] == "Running"
    assert node.preparation.retired == []
    assert (await node.status(5))["phase"] in ("Succeeded", "Failed")
    assert (node.preparation.retired, node.preparation.released) == (["a"], [])
    await node.cluster.client.delete(POD, "a", "default")
    await node.fleet.passes(seconds=1)
    assert node.preparation.released == ["a"]


async def test_a_pod_can_ask_for_other_times_between_its_restarts(node: Node) -> None:
    notes = {"fleetqueue.io/restart-backoff-base": "2s", "fleetqueue.io/restart-backoff-cap": "3s"}
    await create_noted(node, notes, container("fail 1"))
    status = await node.status(1)
    assert "back-off 2s restarting" in state(status)["waiting"]["message"]
    status = await node.status(2)
    assert "back-off 3s restarting" in state(status)["waiting"]["message"]
    assert (await node.status(3))["containerStatuses"][0]["restartCount"] == 3


async def create_noted(node: Node, notes: dict[str, str], *containers: Object) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default", "annotations": notes},
        "spec": {"containers": list(containers), "nodeName": "paper"},
    }
    await node.cluster.client.create(pod)
