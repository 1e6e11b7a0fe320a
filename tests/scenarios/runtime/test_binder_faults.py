"""The scheduler when an answer is lost and nobody else tells it what happened: a binding that may
exist keeps its place until its pod says so or not.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import Unreachable
from fleetqueue.kube.resources import Object
from fleetqueue.kube.transport import Answer, Call, Frame, Stream
from fleetqueue.runtime.binder import Binder
from fleetqueue.runtime.kinds import NODE, POD
from fleetqueue.testing import Fleet, FleetCluster
from support.scheduling import node

pytestmark = [pytest.mark.rule("jobs C.10"), pytest.mark.rule("jobs B.11")]


class Silent:
    """A transport that loses the answers to the first binding and to the first looks after it, and
    whose watches say nothing from then on until they may.
    """

    def __init__(self, inner: Any, *, is_done: bool, lost_looks: int) -> None:
        self._inner = inner
        self._is_done = is_done
        self._lost_looks = lost_looks
        self.may_speak = asyncio.Event()
        self.may_speak.set()
        self.has_bound = asyncio.Event()
        self.bindings: list[str] = []
        self.looks = 0

    async def request(self, call: Call) -> Answer:
        *_, before, last = call.path.split("/")
        if (call.method, last) == ("POST", "binding"):
            return await self._bind(call, before)
        if (call.method, before) == ("GET", "pods"):
            self.looks += 1
            if self.looks <= self._lost_looks:
                raise Unreachable("the answer was lost", sent=True)
        answer: Answer = await self._inner.request(call)
        return answer

    async def _bind(self, call: Call, pod: str) -> Answer:
        self.bindings.append(pod)
        if len(self.bindings) > 1:
            answer: Answer = await self._inner.request(call)
            return answer
        self.may_speak.clear()
        self.has_bound.set()
        if self._is_done:
            await self._inner.request(call)
        raise Unreachable("the answer was lost", sent=True)

    async def stream(self, call: Call) -> Stream:
        stream: Stream = await self._inner.stream(call)
        if stream.frames is None:
            return stream
        held = self._held(stream)
        return Stream(stream.status, stream.headers, frames=held, close=stream.aclose)

    async def _held(self, stream: Stream) -> AsyncIterator[list[Frame]]:
        async for batch in stream.watch_frames():
            await self.may_speak.wait()
            yield list(batch)

    async def close(self) -> None:
        await self._inner.close()


async def start(fleet: Fleet, **faults: Any) -> tuple[FleetCluster, Silent]:
    """One node with room for one pod, and two pods."""
    cluster = await fleet.add_cluster("one")
    await _add_node(cluster)
    made: list[Silent] = []

    def make(own: Cluster) -> Binder:
        client: Any = own.client
        client.transport = Silent(client.transport, **faults)
        made.append(client.transport)
        return Binder(own)

    fleet.run(make, on=cluster)
    for name in ("p", "q"):
        await cluster.client.create(pod(name))
    return cluster, made[0]


async def _add_node(cluster: FleetCluster) -> None:
    obj = node("a", cpu="1")
    await cluster.client.create({key: obj[key] for key in obj if key != "status"})
    await cluster.client.patch(NODE, "a", {"spec": {"taints": obj["spec"]["taints"]}})
    await cluster.client.patch(NODE, "a", {"status": obj["status"]}, subresource="status")


def pod(name: str) -> Object:
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    metadata = {"name": name, "namespace": "default"}
    spec = {"containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def homes(cluster: FleetCluster) -> dict[str, str]:
    found = (await cluster.client.list(POD, "default")).items
    return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in found}


@pytest.mark.parametrize("lost_looks", [0, 1, 3])
@pytest.mark.parametrize("is_done", [True, False])
async def test_a_binding_whose_answer_is_lost_keeps_its_place(
    fleet: Fleet, is_done: bool, lost_looks: int
) -> None:
    cluster, silent = await start(fleet, is_done=is_done, lost_looks=lost_looks)
    # Long enough for every try that follows; the watches say nothing meanwhile.
    await fleet.passes(seconds=30)
    first = silent.bindings[0]
    other = {"p": "q", "q": "p"}[first]
    assert await homes(cluster) == {first: "a", other: ""}
    assert set(silent.bindings) == {first}
    # What did not happen is done at the next try, without another look.
    assert silent.looks > (lost_looks if is_done else 0)
    silent.may_speak.set()
    await fleet.settle()
    assert await homes(cluster) == {first: "a", other: ""}
    await cluster.client.delete(POD, first, "default", grace_period_seconds=0)
    await fleet.settle()
    assert await homes(cluster) == {other: "a"}


@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_pod_that_went_while_its_binding_was_in_doubt_leaves_its_place(
    fleet: Fleet, comes_back: bool
) -> None:
    cluster, silent = await start(fleet, is_done=False, lost_looks=2)
    await silent.has_bound.wait()
    first = silent.bindings[0]
    other = {"p": "q", "q": "p"}[first]
    await cluster.client.delete(POD, first, "default", grace_period_seconds=0)
    if comes_back:
        await cluster.client.create(pod(first))
    await fleet.passes(seconds=30)
    silent.may_speak.set()
    await fleet.settle()
    found = await homes(cluster)
    assert sorted(found.values()) == (["", "a"] if comes_back else ["a"])
    assert other in found
