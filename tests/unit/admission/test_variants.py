"""Variants of a workload: what one look at all of them writes, tells, or waits for."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.admission import variant_form, variants
from fleetqueue.admission.family import Family
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.times import format_time
from fleetqueue.kube.plan import Apply, Create, Delete, Note, Patch, Plan
from fleetqueue.queueing.model import ClusterQueue, ConcurrentAdmission, ResourceGroup

pytestmark = pytest.mark.rule("kueue 9.10")

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TRY, RETAIN = "TryPreferredFlavors", "RetainFirstAdmission"
FLAVORS = ("reserved", "spot", "last")
LABEL = {"kueue.x-k8s.io/concurrent-admission-parent": "true"}
GATE = "kueue.x-k8s.io/concurrent-admission"


def queue(mode: Any = TRY, last: str = "", *flavors: str) -> ClusterQueue:
    groups = (ResourceGroup(("cpu",), flavors or FLAVORS),)
    return ClusterQueue("queue", groups=groups, concurrent=ConcurrentAdmission(mode, last))


def parent(*conditions: Json, **parts: Any) -> Json:
    metadata = {"name": "job-sample-0a1b2", "namespace": "team", "uid": "1", "generation": 1}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {**metadata, "labels": LABEL, **parts.get("meta", {})},
        "spec": {"queueName": "main", "podSets": [], "active": True, **parts.get("spec", {})},
        "status": {"conditions": list(conditions), **parts.get("status", {})},
    }


def variant(flavor: str, *conditions: Json, active: bool = True, **said: Any) -> Json:
    name = variant_form.variant_name(parent(), flavor)
    made = variant_form.new_variant(parent(), flavor, is_active=active, name=name)
    made["metadata"] |= {"uid": flavor, "generation": 1}
    return {**made, "status": {"conditions": list(conditions), **said}}


def condition(type: str, value: str, reason: str = "", at: float = 0) -> Json:
    moment = format_time(NOW + timedelta(seconds=at))
    message = f"{type} is {value}"
    told = {"status": value, "reason": reason or type, "message": message}
    return {"type": type, **told, "lastTransitionTime": moment, "observedGeneration": 1}


def admission(flavor: str) -> Json:
    held = {"name": "main", "count": 1, "flavors": {"cpu": flavor}, "resourceUsage": {"cpu": "1"}}
    return {"clusterQueue": "queue", "podSetAssignments": [held]}


RESERVED, ADMITTED = condition("QuotaReserved", "True"), condition("Admitted", "True")


def holding(flavor: str, *more: Json, **said: Any) -> Json:
    return variant(flavor, RESERVED, ADMITTED, *more, admission=admission(flavor), **said)


def running(flavor: str, *more: Json, **parts: Any) -> Json:
    return parent(RESERVED, ADMITTED, *more, **parts, status={"admission": admission(flavor)})


def blocked(flavor: str, position: str = "Closed", at: float = 0) -> Json:
    moment = format_time(NOW + timedelta(seconds=at))
    gate = {"name": GATE, "position": position, "lastTransitionTime": moment}
    told = condition("BlockedOnPreemptionGates", "True", "PreemptionGated")
    return variant(flavor, told, preemptionGates=[gate])


def decide(
    obj: Json, *found: Json, at: float = 0, of: ClusterQueue | None = None, **more: Any
) -> Plan:
    moment = NOW + timedelta(seconds=at)
    return variants.decide(Family(obj, found, of or queue(), moment, **more))


def written(plan: Plan) -> dict[str, Json]:
    """By name, the status that is applied."""
    found = [each.obj for each in plan.steps if isinstance(each, Apply)]
    return {each["metadata"]["name"]: each["status"] for each in found}


def notes(plan: Plan) -> list[tuple[str, str]]:
    return [(each.reason, each.message) for each in plan.steps if isinstance(each, Note)]


def activity(plan: Plan) -> dict[str, bool]:
    found = [each for each in plan.steps if isinstance(each, Patch)]
    return {variant_form.flavor_of(each.obj): each.patch["spec"]["active"] for each in found}


def name(flavor: str) -> str:
    return variant_form.variant_name(parent(), flavor)


# The form


@pytest.mark.rule("kueue 3.12")
@pytest.mark.parametrize(
    ("called", "starts"),
    [
        ("job-sample-0a1b2", "job-sample-variant-spot-"),
        ("plain", "plain-variant-spot-"),
        ("my-workload", "my-workload-variant-spot-"),
    ],
)
def test_a_name_begins_like_the_parents_without_its_hash(called: str, starts: str) -> None:
    made = variant_form.variant_name({"metadata": {"name": called, "uid": "1"}}, "spot")
    assert made.startswith(starts)
    assert len(made) == len(starts) + 5


def test_a_name_depends_on_the_parents_uid_and_the_flavor() -> None:
    # The first digits of the SHA-1 of "Workload\nkueue.x-k8s.io\njob-sample-0a1b2\n1\nspot".
    assert name("spot") == "job-sample-variant-spot-f00a9"
    other = variant_form.variant_name(parent(meta={"uid": "2"}), "spot")
    assert len({name("spot"), name("last"), other}) == 3


@pytest.mark.parametrize("length", [253, 63])
def test_a_long_name_is_cut_before_its_hash(length: int) -> None:
    made = variant_form.variant_name(parent(meta={"name": "x" * 250}), "spot", length)
    assert len(made) == length


def test_a_variant_is_the_parent_with_a_flavor_and_a_gate() -> None:
    obj = parent(spec={"priority": 3}, meta={"annotations": {"a": "b"}})
    made = variant_form.new_variant(obj, "spot", is_active=True, name="v")
    assert made["spec"] == {**obj["spec"], "preemptionGates": [{"name": GATE}]}
    assert made["metadata"]["annotations"] == {
        "a": "b",
        "kueue.x-k8s.io/workload-allowed-resource-flavors": "spot",
    }
    assert "labels" not in made["metadata"]


@pytest.mark.parametrize(
    ("spec", "reserved", "patch"),
    [
        ({}, False, {}),
        ({"priority": 5}, False, {"spec": {"priority": 5}}),
        ({"priority": 5, "queueName": "x"}, False, {"spec": {"priority": 5, "queueName": "x"}}),
        ({"priority": 5, "queueName": "x"}, True, {"spec": {"priority": 5}}),
        ({"queueName": "x"}, True, {}),
    ],
)
def test_a_variant_follows_the_parents_spec(spec: Json, reserved: bool, patch: Json) -> None:
    found = holding("spot") if reserved else variant("spot")
    assert variant_form.difference(parent(spec=spec), found) == patch


# Parents


def test_a_workload_is_marked_before_anything_else() -> None:
    plan = decide(parent(meta={"labels": {}}))
    (step,) = plan.steps
    assert isinstance(step, Patch)
    assert step.patch == {"metadata": {"labels": LABEL}}


@pytest.mark.parametrize(
    "obj",
    [
        parent(RESERVED, meta={"labels": {}}),
        parent(condition("Finished", "True"), meta={"labels": {}}),
        variant("spot"),
        parent(meta={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
    ],
    ids=["with quota", "finished", "a variant", "deleted"],
)
def test_others_are_left_alone(obj: Json) -> None:
    assert decide(obj).steps == []


def test_variants_are_made_in_the_order_of_the_flavors() -> None:
    plan = decide(parent())
    made = [variant_form.flavor_of(each.obj) for each in plan.steps if isinstance(each, Create)]
    assert made == list(FLAVORS)
    assert notes(plan)[0] == (
        "CreatedVariant",
        f'Variant Workload "team/{name("reserved")}" created',
    )


def test_variants_of_an_inactive_parent_are_made_inactive() -> None:
    plan = decide(parent(spec={"active": False}))
    found = [each.obj["spec"]["active"] for each in plan.steps if isinstance(each, Create)]
    assert found == [False] * 3


def test_a_parent_whose_queue_has_no_policy_any_more_is_a_plain_workload_again() -> None:
    plain = ClusterQueue("queue", groups=(ResourceGroup(("cpu",), FLAVORS),))
    plan = decide(parent(), variant("spot"), of=plain)
    assert [type(each) for each in plan.steps] == [Delete, Note]

    (step,) = decide(parent(), of=plain).steps
    assert isinstance(step, Patch)
    assert step.patch == {"metadata": {"labels": dict.fromkeys(LABEL)}}


def all_of(**said: Json) -> list[Json]:
    return [said.get(each) or variant(each) for each in FLAVORS]


def test_the_most_wanted_admission_becomes_the_parents() -> None:
    plan = decide(parent(), *all_of(spot=holding("spot"), last=holding("last")))
    found = written(plan)[parent()["metadata"]["name"]]
    assert found["admission"] == admission("spot")


@pytest.mark.parametrize(
    ("obj", "found"),
    [
        (parent(spec={"active": False}), holding("spot")),
        (parent(), holding("spot", condition("Evicted", "True", "Preempted"))),
        (parent(), variant("spot", RESERVED, admission=admission("spot"))),
        (parent(), holding("spot", condition("Finished", "True"))),
        (parent(status={"requeueState": {"requeueAt": "2026-01-01T00:01:00Z"}}), holding("spot")),
    ],
    ids=["inactive parent", "evicted", "reserved only", "finished", "backing off"],
)
def test_not_every_variant_lends_its_admission(obj: Json, found: Json) -> None:
    plan = decide(obj, *all_of(spot=found))
    assert obj["metadata"]["name"] not in written(plan)


def test_new_places_of_the_variant_are_the_parents_too() -> None:
    moved = holding("spot")
    moved["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"] = {"levels": ["a"]}
    plan = decide(running("spot"), *all_of(spot=moved))
    (found,) = written(plan).values()
    assert found["admission"] == moved["status"]["admission"]


@pytest.mark.parametrize(
    ("found", "reason", "message"),
    [
        (None, "ConcurrentAdmission", "No variant is running"),
        (
            holding("spot", condition("Evicted", "True", "Preempted")),
            "VariantEvicted",
            "Admitted variant was evicted",
        ),
    ],
)
def test_a_parent_stops_with_its_variant(found: Json | None, reason: str, message: str) -> None:
    plan = decide(running("spot"), *all_of(**({} if found is None else {"spot": found})))
    (told,) = written(plan).values()
    evicted = next(each for each in told["conditions"] if each["type"] == "Evicted")
    assert (evicted["status"], evicted["reason"], evicted["message"]) == ("True", reason, message)
    assert notes(plan) == [(f"EvictedDueTo{reason}", message)]


def test_an_evicted_variant_keeps_its_quota_while_the_job_runs() -> None:
    evicted = condition("Evicted", "True", "VariantEvicted")
    gone = holding("spot", condition("Evicted", "True", "Preempted"))
    assert written(decide(running("spot", evicted), *all_of(spot=gone))) == {}

    found = written(decide(parent(evicted), *all_of(spot=gone)))[name("spot")]
    assert "admission" not in found


def test_a_variant_with_which_nothing_runs_gives_its_quota_back_at_once() -> None:
    gone = holding("last", condition("Evicted", "True", "Deactivated"))
    plan = decide(running("spot"), *all_of(spot=holding("spot"), last=gone))
    assert list(written(plan)) == [name("last")]


# Activity


@pytest.mark.parametrize(
    ("policy", "obj", "found", "wanted"),
    [
        (queue(), parent(), {}, []),
        (queue(), parent(spec={"active": False}), {}, ["last", "reserved", "spot"]),
        (queue(), running("spot"), {"spot": holding("spot")}, ["last"]),
        (queue(RETAIN), running("spot"), {"spot": holding("spot")}, ["last", "reserved"]),
        (queue(TRY, "reserved"), running("last"), {"last": holding("last")}, ["spot"]),
        (queue(TRY, "spot"), running("last"), {"last": holding("last")}, []),
        (queue(), running("reserved"), {"reserved": holding("reserved")}, ["last", "spot"]),
        (
            queue(),
            running("spot"),
            {"spot": holding("spot"), "reserved": holding("reserved")},
            ["last", "spot"],
        ),
        (
            queue(RETAIN),
            running("spot"),
            {"spot": holding("spot"), "reserved": holding("reserved")},
            ["last", "reserved"],
        ),
        (queue(), parent(condition("QuotaReserved", "False", "OnHold")), {}, list(FLAVORS)),
        (queue(), parent(condition("WaitingForReplacementPods", "True")), {}, list(FLAVORS)),
    ],
)
def test_which_variants_are_deactivated(
    policy: ClusterQueue, obj: Json, found: dict[str, Json], wanted: list[str]
) -> None:
    told = activity(decide(obj, *all_of(**found), of=policy))
    assert sorted(told) == sorted(wanted)
    assert not any(told.values())


def test_more_wanted_variants_are_activated_beside_the_admitted_one() -> None:
    found = [variant("reserved", active=False), holding("spot"), variant("last", active=False)]
    plan = decide(running("spot"), *found)
    assert activity(plan) == {"reserved": True}
    assert notes(plan) == [
        (
            "ActivatedVariant",
            "Variant Workload activated due to its flavor being preferred to that of the variant "
            f"{name('spot')}",
        )
    ]


# Preemption


def test_one_gate_is_opened_and_the_next_after_five_minutes() -> None:
    plan = decide(parent(), *all_of(spot=blocked("spot"), last=blocked("last")), at=1)
    found = written(plan)
    assert list(found) == [name("spot")]
    moment = format_time(NOW + timedelta(seconds=1))
    (gate,) = found[name("spot")]["preemptionGates"]
    assert gate == {"name": GATE, "position": "Open", "lastTransitionTime": moment}
    assert [reason for reason, _ in notes(plan)] == ["PreemptionUngatedVariant"]

    opened = all_of(spot=blocked("spot", "Open", at=1), last=blocked("last"))
    early = decide(parent(), *opened, at=300)
    assert (early.steps, early.after) == ([], 1.0)
    late = decide(parent(), *opened, at=301)
    assert list(written(late)) == [name("last")]


def test_a_more_wanted_variant_waits_for_the_same_time() -> None:
    found = all_of(spot=blocked("spot", "Open"), reserved=blocked("reserved"))
    assert decide(parent(), *found, at=299).after == 1.0
    assert list(written(decide(parent(), *found, at=300))) == [name("reserved")]


@pytest.mark.parametrize(
    "found",
    [variant("spot"), blocked("spot", "Open"), {**blocked("spot"), "spec": {"active": False}}],
    ids=["not blocked", "open", "inactive"],
)
def test_gates_are_opened_for_those_alone_who_wait_for_it(found: Json) -> None:
    found = {**found, "spec": {**variant("spot")["spec"], **found["spec"]}}
    assert written(decide(parent(spec={"active": found["spec"]["active"]}), found)) == {}


def test_reasons_to_queue_again_include_migration() -> None:
    gone = holding("spot", condition("Evicted", "True", "FlavorMigration"))
    made = status.release_evicted(gone, NOW)
    assert status.is_true(made, status.REQUEUED)
