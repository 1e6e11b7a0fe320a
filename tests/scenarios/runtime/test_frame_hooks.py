"""What else a toy operator may ask of the frame: completed objects, fetched ones, told refusals."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.frame import Follow, Operator, controller_of
from fleetqueue.kube.plan import Apply, Create, Look, Note, Patch, Plan, Step, child, title
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.sources import Source
from fleetqueue.runtime.kinds import CONFIG_MAP, SECRET
from fleetqueue.testing import Fleet, secret

_EVENT = Resource("", "v1", "events", "Event")


def config_map(**data: str) -> Object:
    metadata = {"name": "a", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def test_an_object_is_completed_before_it_is_made(fleet: Fleet) -> None:
    def decide(look: Look) -> Plan:
        made = child(SECRET, look.parent, {"name": "keys"})
        return Plan() if look.find(SECRET, "keys") else Plan([Create(made)])

    def complete(obj: Object) -> Object:
        return {**obj, "stringData": {"key": "fresh"}}

    operator = Operator("keys", CONFIG_MAP, decide, owns=(SECRET,), complete=complete)
    cluster = await fleet.add_cluster("one")
    fleet.run(controller_of(operator), on=cluster)
    await cluster.client.create(config_map())
    await fleet.settle()
    made = await cluster.client.get(SECRET, "keys", "default")
    assert made["data"] == {"key": "ZnJlc2g="}


@pytest.mark.parametrize("kind", ["Secret", "NoSuchKind"])
async def test_objects_of_any_kind_are_fetched_for_a_decision(fleet: Fleet, kind: str) -> None:
    def wanted(parent: Object) -> Iterable[Object]:
        yield {"apiVersion": "v1", "kind": kind, "metadata": {"name": parent["data"]["reads"]}}

    def decide(look: Look) -> Plan:
        (stub,) = wanted(look.parent)
        seen = str(title(stub) in look.observed)
        return Plan([Patch(look.parent, {"metadata": {"annotations": {"seen": seen}}})])

    cluster = await fleet.add_cluster("one")
    secret = {"name": "there", "namespace": "default"}
    await cluster.client.create({"apiVersion": "v1", "kind": "Secret", "metadata": secret})
    fleet.run(controller_of(Operator("reader", CONFIG_MAP, decide, fetches=wanted)), on=cluster)
    for name in ("there", "elsewhere"):
        one = config_map(reads=name)
        await cluster.client.create({**one, "metadata": {"name": name, "namespace": "default"}})
    await fleet.settle()
    for name in ("there", "elsewhere"):
        found = await cluster.client.get(CONFIG_MAP, name, "default")
        is_there = kind == "Secret" and name == "there"
        assert found["metadata"]["annotations"]["seen"] == str(is_there)


async def test_a_refused_apply_is_told(fleet: Fleet) -> None:
    def decide(look: Look) -> Plan:
        bad = {"apiVersion": "v1", "kind": "Secret", "type": 7}
        return Plan([Apply({**bad, "metadata": {"name": "x", "namespace": "default"}}, "me")])

    def refused(look: Look, step: Step, error: KubeError) -> Plan:
        return Plan([Note("FailedApply", type(step).__name__, "Warning")])

    cluster = await fleet.add_cluster("one")
    operator = Operator("bad", CONFIG_MAP, decide, owns=(SECRET,), refused=refused)
    fleet.run(controller_of(operator), on=cluster)
    await cluster.client.create(config_map())
    await fleet.passes(seconds=2)
    events = (await cluster.client.list(_EVENT, "default")).items
    assert ("FailedApply", "Apply") in {(each["reason"], each["message"]) for each in events}


async def test_changes_of_what_is_followed_are_taken_in_together(fleet: Fleet) -> None:
    looks: list[datetime] = []

    def decide(look: Look) -> Plan:
        looks.append(look.now)
        return Plan()

    def parents(source: Source, obj: Object) -> list[Key]:
        return [Key("default", "a")]

    follow = Follow(SECRET, parents, after=5.0)
    counter = Operator("counter", CONFIG_MAP, decide, follows=(follow,))
    cluster = await fleet.add_cluster("one")
    await cluster.client.create(config_map())
    fleet.run(controller_of(counter), on=cluster)
    await fleet.settle()
    looks.clear()
    begun = fleet.clock.now()

    for number in range(3):
        await cluster.client.create(secret(f"s{number}"))
        await fleet.passes(seconds=1)
    await fleet.passes(seconds=10)

    assert looks == [begun + timedelta(seconds=5)]


@pytest.mark.parametrize("is_there", [False, True])
async def test_an_owner_that_is_gone_is_not_added_again_and_again(
    fleet: Fleet, is_there: bool
) -> None:
    """A decision whose cache is behind wants what the garbage collector takes away at once."""
    cluster = await fleet.add_cluster("one")
    owners = []
    for name in ("kept", "other"):
        made = await cluster.client.create(secret(name))
        uid = made["metadata"]["uid"]
        owners.append({"apiVersion": "v1", "kind": "Secret", "name": name, "uid": uid})
    tries = 0

    def decide(look: Look) -> Plan:
        nonlocal tries
        if look.parent["metadata"].get("ownerReferences") == owners or tries > 20:
            return Plan()
        tries += 1
        return Plan([Patch(look.parent, {"metadata": {"ownerReferences": owners}})])

    if not is_there:
        await cluster.client.delete(SECRET, "other", "default")
    fleet.run(controller_of(Operator("toy", CONFIG_MAP, decide)), on=cluster)
    await cluster.client.create(config_map())
    await fleet.passes(seconds=1)
    found = await cluster.client.get(CONFIG_MAP, "a", "default")
    assert found["metadata"]["ownerReferences"] == (owners if is_there else owners[:1])
    # Those that come after the second are put off for longer and longer.
    assert tries == 1 if is_there else 2 <= tries < 12


@pytest.mark.parametrize("is_there", [False, True])
async def test_what_nobody_owns_any_more_is_not_applied_again_and_again(
    fleet: Fleet, is_there: bool
) -> None:
    """A decision whose cache is behind makes what the garbage collector takes away at once."""
    cluster = await fleet.add_cluster("one")
    owner = await cluster.client.create(secret("owner"))
    reference = {
        "apiVersion": "v1",
        "kind": "Secret",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    tries = 0

    def decide(look: Look) -> Plan:
        nonlocal tries
        tries += 1
        if tries > 20:
            return Plan()
        made = secret("child")
        made["metadata"]["ownerReferences"] = [reference]
        return Plan([Apply(made, "toy")])

    def parents(source: Source, obj: Object) -> list[Key]:
        return [Key("default", "a")]

    if not is_there:
        await cluster.client.delete(SECRET, "owner", "default")
    operator = Operator("toy", CONFIG_MAP, decide, follows=(Follow(SECRET, parents),))
    fleet.run(controller_of(operator), on=cluster)
    await cluster.client.create(config_map())
    await fleet.passes(seconds=1)
    left = [each["metadata"]["name"] for each in (await cluster.client.list(SECRET)).items]
    assert ("child" in left) == is_there
    # Each that was made and each that was collected wakes the decision again.
    assert tries < 8
