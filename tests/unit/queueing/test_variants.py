"""Variants of one workload, each for a flavor: the most wanted one that can be had wins."""

from dataclasses import replace
from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.queueing.equivalence import hash_of
from fleetqueue.queueing.model import ConcurrentAdmission
from fleetqueue.queueing.plan import Migrate, Wait
from fleetqueue.queueing.queues import PendingQueue, Requeue
from fleetqueue.queueing.settings import Settings
from fleetqueue.queueing.workload import PodSetAssignment, Workload
from support.cycles import Scene, scene, waiting

pytestmark = pytest.mark.rule("kueue 9.10")

CONCURRENT = Settings(admits_concurrently=True, honors_preemption_gates=True)
PICTURE = "team reserved:cpu=4 on-demand:cpu=4 spot:cpu=4 within=LowerPriority"


def variant(flavor: str, parent: str = "job", **said: Any) -> Workload:
    allowed = frozenset((flavor,))
    return waiting(f"{flavor}@team cpu=2", allowed_flavors=allowed, parent_uid=parent, **said)


def admitted(flavor: str, parent: str = "job") -> Workload:
    found = variant(flavor, parent, is_admitted=True)
    held = PodSetAssignment("main", 1, {"cpu": flavor}, {"cpu": 2000})
    return replace(found, assignments=(held,), reserved_at=found.created_at)


def queue(last: str = "", *running: Workload, mode: Any = "TryPreferredFlavors") -> Scene:
    found = scene(PICTURE, settings=CONCURRENT)
    policy = ConcurrentAdmission(mode, last)
    found.state.put_queue(replace(found.state.queues["team"], concurrent=policy))
    for each in running:
        found.state.hold(each)
    return found


def test_a_variant_takes_its_own_flavor_only() -> None:
    assert queue().cycle(variant("on-demand")) == ["on-demand: admit on-demand"]


@pytest.mark.rule("kueue 5.9")
def test_other_flavors_are_said_to_be_skipped() -> None:
    others = [replace(admitted("spot", name), key=waiting(f"{name}@team").key) for name in "xy"]
    found = queue("", *others)
    (decision,) = found.plan(variant("spot")).decisions
    assert isinstance(decision, Wait)
    assert decision.message == (
        "couldn't assign flavors to pod set main: "
        "insufficient unused quota for cpu in flavor spot, 2 more needed, "
        "skipping flavor on-demand due to WorkloadAllowedResourceFlavorAnnotation annotation, "
        "skipping flavor reserved due to WorkloadAllowedResourceFlavorAnnotation annotation"
    )


def test_a_more_wanted_variant_evicts_a_less_wanted_one() -> None:
    (decision,) = queue("", admitted("spot")).plan(variant("on-demand")).decisions
    assert isinstance(decision, Migrate)
    assert decision.target.key.name == "spot"
    assert decision.message == (
        "Evicted to accommodate a workload (UID: on-demand) due to migration to more favorable "
        "resource flavor"
    )
    assert decision.wait.message == ". Pending the migration of 1 workload(s)"
    assert decision.wait.requeue is Requeue.PENDING_MIGRATION


@pytest.mark.parametrize("flavor", ["reserved", "spot"])
def test_what_claims_the_same_parent_in_another_namespace_is_no_variant(flavor: str) -> None:
    stranger = replace(admitted("on-demand"), key=Key("theirs", "on-demand"))
    found = queue("", stranger)
    assert found.cycle(variant(flavor)) == [f"{flavor}: admit {flavor}"]


def test_a_less_wanted_variant_stays_out() -> None:
    (decision,) = queue("", admitted("reserved")).plan(variant("spot")).decisions
    assert isinstance(decision, Wait)
    assert decision.message == "A more favorable variant is already admitted"


@pytest.mark.parametrize("flavor", ["reserved", "spot"])
def test_where_the_first_admission_is_kept_all_others_stay_out(flavor: str) -> None:
    found = queue("", admitted("on-demand"), mode="RetainFirstAdmission")
    (decision,) = found.plan(variant(flavor)).decisions
    assert isinstance(decision, Wait)
    assert decision.message == "Another variant is already admitted"


@pytest.mark.rule("kueue 4.2")
def test_of_variants_that_came_together_the_most_wanted_goes_first() -> None:
    flavors = ("reserved", "on-demand", "spot")
    found = [variant(each, flavor_rank=at) for at, each in enumerate(flavors)]
    waits = PendingQueue("team")
    for each in reversed(found):
        waits.put(each, each.created_at)
    assert [each.key.name for each in waits.ordered()] == list(flavors)


@pytest.mark.rule("kueue 4.5")
def test_what_is_hopeless_for_one_flavor_may_do_for_another() -> None:
    hashes = {hash_of(0, {}, (), {flavor}) for flavor in ("reserved", "spot")}
    assert len(hashes | {hash_of(0, {}, ())}) == 3


@pytest.mark.parametrize(("flavor", "migrates"), [("reserved", True), ("on-demand", False)])
def test_what_lies_beyond_the_last_acceptable_flavor_is_not_migrated_to(
    flavor: str, migrates: bool
) -> None:
    (decision,) = queue("reserved", admitted("spot")).plan(variant(flavor)).decisions
    assert isinstance(decision, Migrate) is migrates
    if isinstance(decision, Wait):
        assert decision.message == "Target flavor is below LastAcceptableFlavorName"


def test_variants_of_others_do_not_matter() -> None:
    found = queue("", admitted("spot", "another"), admitted("reserved", "another"))
    assert found.cycle(variant("on-demand")) == ["on-demand: admit on-demand"]


def test_one_that_only_reserved_quota_does_not_matter() -> None:
    found = queue("", replace(admitted("spot"), is_admitted=False))
    assert found.cycle(variant("on-demand")) == ["on-demand: admit on-demand"]


def test_a_variant_that_left_is_forgotten() -> None:
    spot = admitted("spot")
    found = queue("", spot)
    found.state.release(spot.key)
    assert list(found.state.variants_of("job")) == []
    assert found.cycle(variant("on-demand")) == ["on-demand: admit on-demand"]


def test_nobody_is_preempted_for_a_variant_that_would_stay_out() -> None:
    found = queue("", admitted("reserved"))
    low = replace(
        admitted("spot", ""),
        priority=-1,
        assignments=(PodSetAssignment("main", 1, {"cpu": "spot"}, {"cpu": 4000}),),
    )
    found.state.hold(replace(low, key=waiting("low@team").key, uid="low"))
    assert found.cycle(variant("spot")) == ["spot: wait WaitingForQuota"]


def test_without_concurrent_admission_the_allowed_flavors_do_not_matter() -> None:
    assert scene(PICTURE).cycle(variant("spot")) == ["spot: admit reserved"]
