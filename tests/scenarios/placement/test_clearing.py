"""What goes when a Work goes, what stays, and that a crash leaves nothing behind."""

import pytest
from tests.support import delivering
from tests.support.delivering import HOME, Delivery, config_map, of_manifest, said

from fleetqueue.api.fleet import labels
from fleetqueue.fleet import kinds
from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube.resources import CONFIG_MAPS, NAMESPACES
from fleetqueue.testing import Fleet, namespace


async def ours(delivery: Delivery) -> set[str]:
    """The ConfigMaps that an AppliedWork owns."""
    found = await delivery.member.all(CONFIG_MAPS, "app")
    return {each["metadata"]["name"] for each in found if each["metadata"].get("ownerReferences")}


@pytest.mark.rule("APPLY-3")
async def test_all_objects_go_with_their_work_but_those_of_others(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(namespace("new"), config_map("in", "new"), config_map("a"), config_map("b"))
    member = delivery.member
    foreign = (await member.get(NAMESPACES, "app"))["metadata"]["uid"]
    shared = await member.get(CONFIG_MAPS, "b", "app")
    other = {"apiVersion": "v1", "kind": "Namespace", "name": "app", "uid": foreign}
    owners = [*shared["metadata"]["ownerReferences"], other]
    await member.client.patch(CONFIG_MAPS, "b", {"metadata": {"ownerReferences": owners}}, "app")
    await delivery.world.settle()
    await delivery.delete()
    assert await delivery.hub.find(kinds.WORK, "w", HOME) is None
    assert await member.find(kinds.APPLIED_WORK, "w") is None
    assert await member.find(CONFIG_MAPS, "a", "app") is None
    assert await member.find(NAMESPACES, "new") is None
    left = await member.get(CONFIG_MAPS, "b", "app")
    assert left["metadata"]["ownerReferences"] == [other]


@pytest.mark.rule("APPLY-3")
async def test_an_object_that_does_not_go_holds_up_its_work_for_five_minutes(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    stuck = config_map("stuck")
    stuck["metadata"]["finalizers"] = ["example.org/stuck"]
    await delivery.send(stuck, config_map("a"))
    await delivery.delete()
    assert await delivery.hub.find(kinds.WORK, "w", HOME) is not None
    assert await delivery.member.find(CONFIG_MAPS, "a", "app") is None
    await delivery.world.passes(seconds=290)
    assert await delivery.hub.find(kinds.WORK, "w", HOME) is not None
    await delivery.world.passes(seconds=20)
    assert await delivery.hub.find(kinds.WORK, "w", HOME) is None
    assert await delivery.member.find(kinds.APPLIED_WORK, "w") is None
    assert await delivery.member.find(CONFIG_MAPS, "stuck", "app") is not None


@pytest.mark.rule("KJ-7")
async def test_objects_stay_where_they_are_abandoned(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    told = {labels.DELETE_PROPAGATION_POLICY: "Abandon"}
    await delivery.send(config_map(a="1"), annotations=told)
    await delivery.delete()
    assert await delivery.hub.find(kinds.WORK, "w", HOME) is None
    assert await delivery.member.find(kinds.APPLIED_WORK, "w") is None
    left = await delivery.member.get(CONFIG_MAPS, "conf", "app")
    assert "ownerReferences" not in left["metadata"]


async def test_an_applied_work_that_somebody_deletes_is_made_again(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(config_map(a="1"))
    await delivery.member.client.delete(kinds.APPLIED_WORK, "w", propagation="Foreground")
    work = await delivery.passes(30.0)
    assert said(work)[0] == ("Applied", "True", "AllManifestsApplied")
    applied = await delivery.member.get(kinds.APPLIED_WORK, "w")
    made = await delivery.member.get(CONFIG_MAPS, "conf", "app")
    assert made["metadata"]["ownerReferences"][0]["uid"] == applied["metadata"]["uid"]


WRITES = 5
"""Of the first pass: finalizer, AppliedWork with what is expected, object, its list, report."""
STEPS = 6
"""The same where the write-ahead is a step of its own."""


@pytest.mark.rule("APPLY-4")
@pytest.mark.parametrize(
    ("allowed", "settings"),
    [
        *((allowed, delivering.BUSY) for allowed in range(WRITES)),
        *((allowed, delivering.AWARE) for allowed in range(STEPS)),
    ],
    ids=[*(f"{allowed}" for allowed in range(WRITES)),
         *(f"{allowed} in steps" for allowed in range(STEPS))],
)  # fmt: skip
async def test_a_crash_after_any_write_leaves_nothing_behind(
    fleet: Fleet, allowed: int, settings: MemberSettings
) -> None:
    delivery = await delivering.start(fleet, settings)
    delivery.gate.close_after(allowed)
    await delivery.hub.create(delivering.work(config_map("a")))
    await delivery.world.fleet.passes(seconds=2)
    assert delivery.gate.is_closed, "the agent wrote less than that"
    body = {"spec": {"workload": {"manifests": [config_map("b")]}}}
    await delivery.hub.client.patch(kinds.WORK, "w", body, HOME)
    await delivery.restart()
    await delivery.world.settle()
    work = await delivery.work()
    assert of_manifest(work)[0] == ("Applied", "True", "Applied")
    assert await ours(delivery) == {"b"}
    await delivery.delete()
    assert await ours(delivery) == set()
    assert await delivery.member.find(kinds.APPLIED_WORK, "w") is None


@pytest.mark.parametrize("allowed", range(2))
async def test_a_crash_while_a_work_goes_does_not_keep_it(fleet: Fleet, allowed: int) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(config_map("a"))
    delivery.gate.close_after(allowed)
    await delivery.hub.client.delete(kinds.WORK, "w", HOME)
    await delivery.world.fleet.passes(seconds=2)
    assert delivery.gate.is_closed
    await delivery.restart()
    await delivery.world.passes(seconds=10)
    assert await delivery.hub.find(kinds.WORK, "w", HOME) is None
    assert await ours(delivery) == set()
