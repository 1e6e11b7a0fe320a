"""Pods whose deletion meets something else: the end of the runtime, or the start of a process. On
paper and in virtual time.
"""

import asyncio
from pathlib import Path

import pytest
from tests.support.paper import Node, container, state

from fleetqueue.kube.errors import NotFound
from fleetqueue.runtime.kinds import POD
from fleetqueue.runtime.processes import Command
from fleetqueue.testing import Fleet
from fleetqueue.testing.processes import PaperProcess, PaperProcesses

pytestmark = [pytest.mark.rule("jobs C.5"), pytest.mark.rule("jobs C.13")]


@pytest.fixture
async def node(fleet: Fleet, tmp_path: Path) -> Node:
    return Node(fleet, await fleet.add_cluster("one"), tmp_path)


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
@pytest.mark.parametrize(("is_known", "code"), [(True, 143), (False, 137)])
async def test_nothing_is_started_for_a_pod_that_was_being_deleted(
    node: Node, policy: str, is_known: bool, code: int
) -> None:
    await node.create(container("serve"), restartPolicy=policy)
    await node.status(1)
    keep = {"metadata": {"finalizers": ["example.com/keep"]}}
    await node.cluster.client.patch(POD, "a", keep, "default")
    await node.keeper.stop()
    await node.cluster.client.delete(POD, "a", "default")
    node.processes.end_all(is_known=is_known)
    await node.restart()
    status = await node.status(60)
    assert (status["phase"], state(status)["terminated"]["exitCode"]) == ("Failed", code)
    assert node.commands == ["serve"]
    await node.cluster.client.patch(POD, "a", {"metadata": {"finalizers": None}}, "default")
    await node.fleet.passes(seconds=1)
    with pytest.raises(NotFound):
        await node.get()
    assert set(node.preparation.released) == {"a"}


async def test_a_pod_that_was_deleted_before_it_began_never_begins(node: Node) -> None:
    await node.keeper.stop()
    await node.create(container("serve"))
    await node.cluster.client.delete(POD, "a", "default")
    await node.restart()
    await node.fleet.passes(seconds=1)
    with pytest.raises(NotFound):
        await node.get()
    assert node.commands == []


class SlowProcesses(PaperProcesses):
    """Each start takes until it is allowed."""

    allowed: asyncio.Event

    async def start(self, id: str, command: Command, log: Path) -> PaperProcess:
        await self.allowed.wait()
        return await super().start(id, command, log)


@pytest.mark.parametrize("steps", range(0, 60, 3))
async def test_a_pod_that_is_deleted_while_its_process_starts(node: Node, steps: int) -> None:
    """The start ends so many steps of the loop after the deletion was asked for."""
    node.processes = SlowProcesses(node.fleet.clock)
    node.processes.allowed = asyncio.Event()
    await node.restart()
    first = container("serve", "first")
    await node.create(container("serve"), initContainers=[first])
    await node.fleet.passes(seconds=1)
    await node.cluster.client.delete(POD, "a", "default")
    for _ in range(steps):
        await asyncio.sleep(0)
    node.processes.allowed.set()
    await node.fleet.passes(seconds=35)
    assert not node.processes.running
    with pytest.raises(NotFound):
        await node.get()
