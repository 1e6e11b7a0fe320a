"""A pod that is stuck on a node which nobody can reach, with and without the gate."""

import pytest

from fleetqueue.admission import kinds
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet
from support.kueue import NAMESPACE, Kueue

pytestmark = [pytest.mark.rule("kueue 2.3"), pytest.mark.rule("kueue 10.3")]

UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}


def node(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def pod(name: str, safe: str, on: str) -> Object:
    notes = {"kueue.x-k8s.io/safe-to-forcefully-delete": safe}
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": notes}
    spec = {"nodeName": on, "containers": [{"name": "c", "image": "busybox"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def failed(kueue: Kueue) -> list[str]:
    found = (await kueue.client.list(kinds.POD, NAMESPACE)).items
    return [each["metadata"]["name"] for each in found if each["status"]["phase"] == "Failed"]


async def deleted(fleet: Fleet, **gates: bool) -> Kueue:
    """Three pods that are being deleted; nobody on their nodes does it."""
    kueue = await Kueue.start(fleet, wanted_gates=gates)
    await kueue.create(node("away"), node("here"))
    await kueue.patch(kinds.NODE, "away", {"spec": {"taints": [UNREACHABLE]}})
    await kueue.patch(kinds.NODE, "here", {"spec": {"taints": None}})
    for name, safe, on in (("a", "true", "away"), ("b", "false", "away"), ("c", "true", "here")):
        await kueue.create(pod(name, safe, on))
        await kueue.delete(kinds.POD, name)
    return kueue


async def test_it_is_failed_when_its_time_to_end_is_over(fleet: Fleet) -> None:
    kueue = await deleted(fleet, FailureRecoveryPolicy=True)
    await fleet.passes(seconds=25)
    await fleet.settle()
    assert await failed(kueue) == []

    await fleet.passes(seconds=10)
    await fleet.settle()
    assert await failed(kueue) == ["a"]
    [(type, reason, message)] = await kueue.events("a")
    assert (type, reason) == ("Normal", "PodTerminatedByKueue")
    assert "node away cannot be reached" in message


async def test_a_node_that_is_lost_later_counts_too(fleet: Fleet) -> None:
    kueue = await deleted(fleet, FailureRecoveryPolicy=True)
    await fleet.passes(seconds=60)
    await kueue.patch(kinds.NODE, "here", {"spec": {"taints": [UNREACHABLE]}})
    assert await failed(kueue) == ["a", "c"]


async def test_nothing_happens_without_the_gate(fleet: Fleet) -> None:
    kueue = await deleted(fleet)
    await fleet.passes(seconds=60)
    await fleet.settle()
    assert await failed(kueue) == []
