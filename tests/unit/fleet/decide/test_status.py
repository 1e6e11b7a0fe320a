"""What a placement says of itself."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.fleet.decide import status
from fleetqueue.fleet.decide.status_clusters import Facts

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
EARLIER = "2026-01-01T11:00:00Z"
GENERATION = 3
STEPS = ("RolloutStarted", "Overridden", "WorkSynchronized", "Applied", "Available")
REASONS = {
    "RolloutStarted": "RolloutStarted",
    "Overridden": "NoOverrideSpecified",
    "WorkSynchronized": "AllWorkSynced",
    "Applied": "AllWorkHaveBeenApplied",
    "Available": "AllWorkAreAvailable",
    "DiffReported": "AllWorkHaveDiffReported",
}
IDENTITIES = [{"version": "v1", "kind": "Namespace", "name": "web"}]


def condition(type: str, status: str = "True", reason: str = "", generation: int = 1) -> Json:
    reason = reason or REASONS.get(type, type)
    return {
        "type": type,
        "status": status,
        "reason": reason,
        "message": f"{reason} it is",
        "observedGeneration": generation,
        "lastTransitionTime": EARLIER,
    }


def binding(cluster: str, *conditions: Json, snapshot: int | None = 1, **more: Any) -> Json:
    spec = {
        "state": "Bound",
        "targetCluster": cluster,
        "schedulingPolicySnapshotName": "p-0",
        "resourceSnapshotName": "" if snapshot is None else f"p-{snapshot}-snapshot",
        **more.pop("spec", {}),
    }
    metadata = {"name": f"b-{cluster}", "generation": 1, **more.pop("metadata", {})}
    return {"metadata": metadata, "spec": spec, "status": {"conditions": list(conditions), **more}}


def done(upto: str = "Available") -> list[Json]:
    return [condition(each) for each in STEPS[: STEPS.index(upto) + 1]]


def policy(*picked: str, others: Sequence[str] = (), **more: Any) -> Json:
    decisions = [
        *({"clusterName": each, "selected": True, "reason": f"{each} it is"} for each in picked),
        *({"clusterName": each, "selected": False, "reason": f"not {each}"} for each in others),
    ]
    return {
        "metadata": {"name": "p-0", "generation": 1},
        "status": {
            "observedCRPGeneration": GENERATION,
            "conditions": [condition("Scheduled", reason="SchedulingPolicyFulfilled")],
            "targetClusters": decisions,
            **more,
        },
    }


def placement(kind: str = "ClusterResourcePlacement", **more: Any) -> Json:
    return {
        "kind": kind,
        "metadata": {"name": "p", "generation": GENERATION},
        "spec": {"policy": {"placementType": "PickAll"}, **more.pop("spec", {})},
        **more,
    }


def facts(*bindings: Json, **more: Any) -> Facts:
    clusters = [each["spec"]["targetCluster"] for each in bindings]
    told: Json = {
        "placement": placement(),
        "policy": policy(*clusters),
        "now": NOW,
        "master": "p-1-snapshot",
        "index": "1",
        **more,
    }
    return Facts(bindings=bindings, **told)


def tell(found: Facts) -> Json:
    return status.told(found, IDENTITIES, lambda index: [{"kind": "Held", "name": index}])


def short(conditions: Sequence[Json]) -> dict[str, str]:
    return {
        each["type"].removeprefix("ClusterResourcePlacement").removeprefix("ResourcePlacement"): (
            f"{each['status']} {each['reason']}"
        )
        for each in conditions
    }


def message(told: Json, type: str) -> str:
    return next(str(each["message"]) for each in told["conditions"] if each["type"].endswith(type))


NOT_SCHEDULED = {
    "nothing is said": policy(conditions=[]),
    "the word is about another snapshot": policy(conditions=[condition("Scheduled", generation=0)]),
    "the word is about an older placement": policy(observedCRPGeneration=GENERATION - 1),
}


@pytest.mark.rule("ST-1")
@pytest.mark.parametrize("unsaid", NOT_SCHEDULED.values(), ids=NOT_SCHEDULED.keys())
def test_until_the_scheduler_has_spoken_no_cluster_is_told_of(unsaid: Json) -> None:
    old = condition("ClusterResourcePlacementApplied", generation=2)
    before = {"conditions": [old], "placementStatuses": [{"clusterName": "a"}]}
    told = tell(facts(placement=placement(status=before), policy=unsaid))
    assert short(told["conditions"]) == {
        "Applied": "True ClusterResourcePlacementApplied",
        "Scheduled": "Unknown SchedulePending",
    }
    assert message(told, "Scheduled") == "Scheduling has not completed"
    assert "placementStatuses" not in told
    assert (told["observedResourceIndex"], told["selectedResources"]) == ("1", IDENTITIES)


@pytest.mark.rule("ST-1")
def test_what_the_scheduler_says_is_copied() -> None:
    unfulfilled = condition("Scheduled", "False", "SchedulingPolicyUnfulfilled")
    told = tell(facts(policy=policy(conditions=[unfulfilled])))
    assert short(told["conditions"]) == {"Scheduled": "False SchedulingPolicyUnfulfilled"}
    assert message(told, "Scheduled") == "SchedulingPolicyUnfulfilled it is"


@pytest.mark.rule("ST-2")
def test_without_a_cluster_nothing_but_the_scheduling_is_told() -> None:
    old = [condition(f"ClusterResourcePlacement{each}") for each in STEPS]
    told = tell(facts(placement=placement(status={"conditions": old})))
    assert list(short(told["conditions"])) == ["Scheduled"]


AGGREGATES = {
    "all is done": (
        [done(), done()],
        [
            "RolloutStarted",
            "NoOverrideSpecified",
            "WorkSynchronized",
            "ApplySucceeded",
            "ResourceAvailable",
        ],
        "True",
        "The selected resources in 2 cluster(s) are available now",
    ),
    "one has not begun": (
        [done(), []],
        ["RolloutStartedUnknown"],
        "Unknown",
        "There are still 1 cluster(s) in the process of deciding whether to roll out the latest "
        "resources or not",
    ),
    "unknown outranks false": (
        [[condition("RolloutStarted", "False", "RolloutNotStartedYet")], [], done()],
        ["RolloutStartedUnknown"],
        "Unknown",
        "There are still 1 cluster(s) in the process of deciding whether to roll out the latest "
        "resources or not",
    ),
    "one is ahead of the others": (
        [[*done("WorkSynchronized"), condition("Applied", "False", "Bad")], done("RolloutStarted")],
        ["RolloutStarted", "OverriddenPending"],
        "Unknown",
        "There are still 1 cluster(s) in the process of overriding the selected resources if "
        "there is any override defined",
    ),
    "overrides fail": (
        [[*done("RolloutStarted"), condition("Overridden", "False", "OverriddenFailed")], done()],
        ["RolloutStarted", "OverriddenFailed"],
        "False",
        "Failed to override resources in 1 cluster(s)",
    ),
    "works are not written yet": (
        [done("Overridden"), done("Overridden")],
        ["RolloutStarted", "NoOverrideSpecified", "WorkSynchronizedUnknown"],
        "Unknown",
        "There are still 2 cluster(s) in the process of creating or updating the work object(s) "
        "in the hub cluster",
    ),
    "works cannot be written": (
        [[*done("Overridden"), condition("WorkSynchronized", "False", "SyncWorkFailed")]],
        ["RolloutStarted", "NoOverrideSpecified", "WorkNotSynchronizedYet"],
        "False",
        "There are 1 cluster(s) which have not finished creating or updating work(s) yet",
    ),
    "nothing is known of the apply": (
        [done("WorkSynchronized")],
        ["RolloutStarted", "NoOverrideSpecified", "WorkSynchronized", "ApplyPending"],
        "Unknown",
        "There are still 1 cluster(s) in the process of applying the resources on the member "
        "cluster",
    ),
    "the apply fails": (
        [[*done("WorkSynchronized"), condition("Applied", "False", "NotAllWorkHaveBeenApplied")]],
        ["RolloutStarted", "NoOverrideSpecified", "WorkSynchronized", "ApplyFailed"],
        "False",
        "Failed to apply resources to 1 cluster(s), please check the `failedPlacements` status",
    ),
    "nothing is known of availability": (
        [done("Applied")],
        [
            "RolloutStarted",
            "NoOverrideSpecified",
            "WorkSynchronized",
            "ApplySucceeded",
            "ResourceAvailableUnknown",
        ],
        "Unknown",
        "There are still 1 cluster(s) in the process of checking the availability of the "
        "selected resources",
    ),
    "not available": (
        [[*done("Applied"), condition("Available", "False", "NotAllWorkAreAvailable")]],
        [
            "RolloutStarted",
            "NoOverrideSpecified",
            "WorkSynchronized",
            "ApplySucceeded",
            "ResourceNotAvailableYet",
        ],
        "False",
        "The selected resources in 1 cluster(s) are still not available yet",
    ),
    "the roll-out is blocked": (
        [[condition("RolloutStarted", "False", "RolloutNotStartedYet")], done()],
        ["RolloutNotStartedYet"],
        "False",
        "The rollout is being blocked by the rollout strategy in 1 cluster(s)",
    ),
}


@pytest.mark.rule("ST-3")
@pytest.mark.parametrize(
    ("clusters", "reasons", "last", "text"), AGGREGATES.values(), ids=AGGREGATES.keys()
)
def test_each_step_is_told_over_all_clusters_up_to_the_first_that_is_not_done(
    clusters: list[list[Json]], reasons: list[str], last: str, text: str
) -> None:
    bindings = [binding(f"c{number}", *each) for number, each in enumerate(clusters)]
    told = tell(facts(*bindings))["conditions"][1:]
    assert [each["reason"] for each in told] == reasons
    assert [each["status"] for each in told] == ["True"] * (len(reasons) - 1) + [last]
    assert told[-1]["message"] == text
    assert [each["type"] for each in told] == [
        f"ClusterResourcePlacement{step}" for step in STEPS[: len(reasons)]
    ]


@pytest.mark.rule("ST-3")
def test_true_messages_count_the_clusters() -> None:
    told = tell(facts(binding("a", *done()), binding("b", *done())))
    assert [each["message"] for each in told["conditions"][1:]] == [
        "All 2 cluster(s) start rolling out the latest resource",
        "No override rules are configured for the selected resources",
        "Work(s) are successfully created or updated in 2 target cluster(s)' namespaces",
        "The selected resources are successfully applied to 2 cluster(s)",
        "The selected resources in 2 cluster(s) are available now",
    ]


@pytest.mark.rule("ST-6")
def test_overrides_of_one_cluster_count_for_all() -> None:
    overridden = done()
    overridden[1] = condition("Overridden", reason="OverriddenSucceeded")
    told = tell(facts(binding("a", *done()), binding("b", *overridden)))
    assert short(told["conditions"])["Overridden"] == "True OverriddenSucceeded"
    text = "The selected resources are successfully overridden in 2 cluster(s)"
    assert message(told, "Overridden") == text


@pytest.mark.rule("ST-4")
def test_times_move_with_the_status_and_generations_with_the_placement() -> None:
    first = tell(facts(binding("a", *done("Applied"))))
    later = datetime(2026, 1, 1, 13, tzinfo=UTC)
    grown = placement(status=first)
    second = tell(facts(binding("a", *done()), placement=grown, now=later))
    times = {
        each["type"].removeprefix("ClusterResourcePlacement"): each["lastTransitionTime"]
        for each in second["conditions"]
    }
    assert times["Applied"] == "2026-01-01T12:00:00Z"
    assert times["Available"] == "2026-01-01T13:00:00Z"
    entry = second["placementStatuses"][0]["conditions"]
    assert {each["type"]: each["lastTransitionTime"] for each in entry}["Applied"] == times[
        "Applied"
    ]
    assert {each["observedGeneration"] for each in (*second["conditions"], *entry)} == {GENERATION}


@pytest.mark.rule("ST-5")
def test_what_is_listed_is_what_the_latest_snapshot_holds() -> None:
    told = tell(facts(binding("a", *done())))
    assert (told["observedResourceIndex"], told["selectedResources"]) == ("1", IDENTITIES)


@pytest.mark.rule("ST-10")
def test_picked_clusters_come_first_with_the_word_of_the_scheduler() -> None:
    told = tell(facts(binding("b", *done()), binding("a", *done())))
    entries = told["placementStatuses"]
    assert [each["clusterName"] for each in entries] == ["b", "a"]
    scheduled = entries[0]["conditions"][0]
    assert (scheduled["type"], scheduled["status"], scheduled["reason"], scheduled["message"]) == (
        "Scheduled",
        "True",
        "Scheduled",
        "b it is",
    )


MISSING: dict[str, tuple[Json, int, list[str]]] = {
    "two of four": ({"placementType": "PickN", "numberOfClusters": 4}, 1, ["not x", "not y"]),
    "one of two": ({"placementType": "PickN", "numberOfClusters": 2}, 1, ["not x"]),
    "more than were looked at": (
        {"placementType": "PickN", "numberOfClusters": 9},
        1,
        ["not x", "not y"],
    ),
    "names": ({"placementType": "PickFixed", "clusterNames": ["a", "x"]}, 1, ["not x"]),
    "all that there are": ({"placementType": "PickAll"}, 1, []),
}


@pytest.mark.rule("ST-10")
@pytest.mark.parametrize(("wanted", "picked", "reasons"), MISSING.values(), ids=MISSING.keys())
def test_places_that_nobody_fills_are_told_without_a_name(
    wanted: Json, picked: int, reasons: list[str]
) -> None:
    told = tell(
        facts(
            binding("a", *done()),
            placement=placement(spec={"policy": wanted}),
            policy=policy("a", others=("x", "y")),
        )
    )
    nameless = told["placementStatuses"][picked:]
    assert [each["conditions"][0]["message"] for each in nameless] == reasons
    assert all(set(each) == {"conditions"} for each in nameless)
    assert {each["conditions"][0]["reason"] for each in nameless} <= {"ScheduleFailed"}
    again = placement(spec={"policy": wanted}, status=told)
    later = datetime(2026, 1, 2, tzinfo=UTC)
    same = facts(
        binding("a", *done()), placement=again, policy=policy("a", others=("x", "y")), now=later
    )
    assert tell(same) == told, "nothing is rewritten while nothing changes"


UNCOUNTED = {
    "there is none": [],
    "it rests on another policy": [
        binding("a", *done(), spec={"schedulingPolicySnapshotName": "p-7"})
    ],
    "its word is about another generation": [
        binding("a", condition("RolloutStarted", generation=9))
    ],
}


@pytest.mark.rule("ST-11")
@pytest.mark.parametrize("found", UNCOUNTED.values(), ids=UNCOUNTED.keys())
def test_a_binding_that_does_not_count_leaves_the_cluster_unknown(found: list[Json]) -> None:
    entry = tell(facts(*found, policy=policy("a")))["placementStatuses"][0]
    assert short(entry["conditions"]) == {
        "Scheduled": "True Scheduled",
        "RolloutStarted": "Unknown RolloutStartedUnknown",
    }


@pytest.mark.rule("ST-11")
def test_a_binding_that_goes_counts_less_than_one_that_stays() -> None:
    going = binding("a", metadata={"deletionTimestamp": EARLIER})
    told = tell(facts(going, binding("a", *done()), policy=policy("a")))
    assert short(told["conditions"])["Available"] == "True ResourceAvailable"


OLD = {
    "blocked": (
        condition("RolloutStarted", "False", "RolloutNotStartedYet"),
        "False RolloutNotStartedYet",
        "The rollout is being blocked by the rollout strategy",
    ),
    "not looked at yet": (
        condition("RolloutStarted"),
        "Unknown RolloutStartedUnknown",
        "In the process of deciding whether to roll out some version of the resources or not",
    ),
}


@pytest.mark.rule("ST-12")
@pytest.mark.parametrize(("said", "short_form", "text"), OLD.values(), ids=OLD.keys())
def test_a_cluster_with_an_old_snapshot_waits(said: Json, short_form: str, text: str) -> None:
    entry = tell(facts(binding("a", said, snapshot=0)))["placementStatuses"][0]
    assert short(entry["conditions"])["RolloutStarted"] == short_form
    assert entry["conditions"][1]["message"] == text


@pytest.mark.rule("ST-12")
def test_a_cluster_with_the_latest_snapshot_says_what_its_binding_says() -> None:
    bad = condition("Applied", "False", "NotAllWorkHaveBeenApplied")
    entry = tell(facts(binding("a", *done("WorkSynchronized"), bad)))["placementStatuses"][0]
    assert [(each["type"], each["reason"], each["message"]) for each in entry["conditions"]] == [
        ("Scheduled", "Scheduled", "a it is"),
        ("RolloutStarted", "RolloutStarted", "RolloutStarted it is"),
        ("Overridden", "NoOverrideSpecified", "NoOverrideSpecified it is"),
        ("WorkSynchronized", "AllWorkSynced", "AllWorkSynced it is"),
        ("Applied", "NotAllWorkHaveBeenApplied", "NotAllWorkHaveBeenApplied it is"),
    ]


@pytest.mark.rule("ST-15")
def test_what_is_not_known_yet_is_told_step_by_step() -> None:
    diff = placement(spec={"strategy": {"applyStrategy": {"type": "ReportDiff"}}})
    found = [
        *(tell(facts(binding("a", *done(step)))) for step in STEPS[:-1]),
        tell(facts(binding("a", *done("WorkSynchronized")), placement=diff)),
    ]
    last = [each["placementStatuses"][0]["conditions"][-1] for each in found]
    assert [(each["reason"], each["message"]) for each in last] == [
        (
            "OverriddenPending",
            "In the process of overriding the selected resources if there is any override defined",
        ),
        (
            "WorkSynchronizedUnknown",
            "In the process of creating or updating the work object(s) in the hub cluster",
        ),
        ("ApplyPending", "In the process of applying the resources on the member cluster"),
        ("ResourceAvailableUnknown", "The availability of the selected resources is unknown yet "),
        (
            "DiffReportingPending",
            "Diff reporting has just started; its status is not yet to be known",
        ),
    ]


BEGUN = {
    "begun": condition("Applied", "False", "ApplyInProgress"),
    "not finished": {
        **condition("Applied", "False", "NotAllWorkHaveBeenApplied"),
        "message": "Work object p-work has not yet completed the apply op",
    },
}


@pytest.mark.rule("ST-3")
@pytest.mark.parametrize("begun", BEGUN.values(), ids=BEGUN.keys())
def test_an_apply_that_is_under_way_is_no_failure(begun: Json) -> None:
    found = binding("a", *done("WorkSynchronized"), begun)
    assert short(tell(facts(found))["conditions"])["Applied"] == "Unknown ApplyPending"
    compatible = tell(facts(found, is_job_aware=False))
    assert short(compatible["conditions"])["Applied"] == "False ApplyFailed"


LISTS = {
    "failedPlacements": [{"name": "f"}],
    "driftedPlacements": [{"name": "dr"}],
    "diffedPlacements": [{"name": "di"}],
}
FAILED = condition("Applied", "False", "NotAllWorkHaveBeenApplied")
ABSENT = condition("Available", "False", "NotAllWorkAreAvailable")
SHOWN: dict[str, tuple[list[Json], str, str]] = {
    "no apply yet": (done("WorkSynchronized"), "", ""),
    "not applied": ([*done("WorkSynchronized"), FAILED], "", "diffed drifted failed"),
    "applied": (done("Applied"), "", "drifted"),
    "not available": ([*done("Applied"), ABSENT], "", "diffed drifted failed"),
    "available": (done(), "", "drifted"),
    "diffs reported": (
        [*done("WorkSynchronized"), condition("DiffReported")],
        "ReportDiff",
        "diffed",
    ),
    "diffs not reported": (
        [
            *done("WorkSynchronized"),
            condition("DiffReported", "False", "NotAllWorkHaveDiffReported"),
        ],
        "ReportDiff",
        "",
    ),
}


@pytest.mark.rule("ST-14", "ST-16")
@pytest.mark.parametrize(("said", "strategy", "shown"), SHOWN.values(), ids=SHOWN.keys())
def test_objects_in_trouble_are_shown_when_they_matter(
    said: list[Json], strategy: str, shown: str
) -> None:
    spec = {"strategy": {"applyStrategy": {"type": strategy}}}
    told = tell(facts(binding("a", *said, **LISTS), placement=placement(spec=spec)))
    entry = told["placementStatuses"][0]
    found = sorted(each.removesuffix("Placements") for each in entry if each in LISTS)
    assert found == shown.split()
    assert all(entry[each] == LISTS[each] for each in LISTS if each in entry)


@pytest.mark.rule("ST-14")
def test_overrides_are_listed_once_the_roll_out_has_begun() -> None:
    spec = {
        "resourceOverrideSnapshots": [{"name": "ro-0", "namespace": "web"}],
        "clusterResourceOverrideSnapshots": ["cro-0"],
    }
    entry = tell(facts(binding("a", *done(), spec=spec)))["placementStatuses"][0]
    assert entry["applicableResourceOverrides"] == [{"name": "ro-0", "namespace": "web"}]
    assert entry["applicableClusterResourceOverrides"] == ["cro-0"]
    waiting = tell(facts(binding("a", spec=spec)))["placementStatuses"][0]
    assert not {each for each in waiting if each.startswith("applicable")}


@pytest.mark.rule("ST-13")
def test_the_index_of_a_cluster_is_the_latest_or_what_an_update_run_gave_it() -> None:
    found = (binding("a", *done(), snapshot=0), binding("b", *done()), binding("c", snapshot=None))
    latest = tell(facts(*found))["placementStatuses"]
    assert [each["observedResourceIndex"] for each in latest] == ["1", "1", "1"]
    own = tell(facts(*found, is_external=True))["placementStatuses"]
    assert [each.get("observedResourceIndex") for each in own] == ["0", "1", None]


TEXT = "Rollout is controlled by an external controller and "
EXTERNAL = {
    "different indexes": pytest.param(
        [binding("a", *done(), snapshot=0), binding("b", *done())],
        f"{TEXT}different resource snapshot versions are observed across clusters",
        None,
        marks=pytest.mark.rule("ST-20"),
    ),
    "one has none yet": pytest.param(
        [binding("a", *done(), snapshot=0), binding("b", snapshot=None)],
        f"{TEXT}different resource snapshot versions are observed across clusters",
        None,
        marks=pytest.mark.rule("ST-20"),
    ),
    "none has any": pytest.param(
        [binding("a", snapshot=None), binding("b", snapshot=None)],
        f"{TEXT}no resource snapshot name is observed across clusters. To determine rollout "
        "status, check the ClusterStagedUpdateRun resources with spec.placementName matching "
        "this placement",
        None,
        marks=pytest.mark.rule("ST-21"),
    ),
    "one has not begun": pytest.param(
        [binding("a", *done()), binding("b")],
        f"{TEXT}cluster b is in RolloutStarted Unknown state",
        "1",
        marks=pytest.mark.rule("ST-22"),
    ),
}


@pytest.mark.parametrize(("found", "text", "index"), EXTERNAL.values(), ids=EXTERNAL.keys())
def test_a_roll_out_by_update_runs_is_told_when_all_clusters_agree(
    found: list[Json], text: str, index: str | None
) -> None:
    told = tell(facts(*found, is_external=True, master="", index=""))
    assert list(short(told["conditions"])) == ["Scheduled", "RolloutStarted"]
    reason = "Unknown RolloutControlledByExternalController"
    assert short(told["conditions"])["RolloutStarted"] == reason
    assert message(told, "RolloutStarted") == text
    assert told.get("observedResourceIndex") == index
    assert bool(told.get("selectedResources")) is (index is not None)


@pytest.mark.rule("ST-23", "ST-24")
def test_clusters_that_agree_are_told_of_as_ever() -> None:
    found = facts(binding("a", *done(), snapshot=4), is_external=True, master="", index="")
    told = tell(found)
    assert short(told["conditions"])["Available"] == "True ResourceAvailable"
    assert told["observedResourceIndex"] == "4"
    assert told["selectedResources"] == [{"kind": "Held", "name": "4"}]


@pytest.mark.rule("ST-21")
def test_a_namespaced_placement_names_its_own_kind_of_run() -> None:
    found = facts(
        binding("a", snapshot=None), placement=placement("ResourcePlacement"), is_external=True
    )
    assert "check the StagedUpdateRun resources" in message(tell(found), "RolloutStarted")
    assert tell(found)["conditions"][1]["type"] == "ResourcePlacementRolloutStarted"


@pytest.mark.rule("SEL-5")
def test_selectors_that_are_wrong_change_nothing_but_the_word_on_scheduling() -> None:
    before = tell(facts(binding("a", *done())))
    grown = placement(status=before)
    grown["metadata"]["generation"] = 4
    told = status.invalid(grown, status.refusal("found duplicate resource"), NOW)
    assert told["conditions"][1:] == before["conditions"][1:]
    assert told["placementStatuses"] == before["placementStatuses"]
    scheduled = told["conditions"][0]
    assert (scheduled["status"], scheduled["reason"], scheduled["observedGeneration"]) == (
        "False",
        "InvalidResourceSelectors",
        4,
    )
    assert scheduled["message"] == (
        "The resource selectors are invalid: failed to process the request due to a client error:"
        " found duplicate resource"
    )


def reasons(before: Facts, now: Facts) -> list[str]:
    first = tell(before)
    later = Facts(
        placement=placement(spec=now.placement["spec"], status=first),
        policy=now.policy,
        bindings=now.bindings,
        now=NOW,
        master=now.master,
        index=now.index,
    )
    return [reason for reason, _ in status.events(later, tell(later))]


ALL = [
    "PlacementRolloutStarted",
    "PlacementOverriddenSucceeded",
    "PlacementWorkSynchronized",
    "PlacementApplied",
    "PlacementAvailable",
    "PlacementRolloutCompleted",
]


def test_events_tell_what_became_true_in_the_order_of_the_steps() -> None:
    start, end = facts(binding("a")), facts(binding("a", *done()))
    assert reasons(start, end) == ALL
    assert reasons(end, end) == []
    assert reasons(facts(binding("a", *done("Overridden"))), end) == ALL[2:]


def test_a_placement_that_is_not_fulfilled_is_never_complete() -> None:
    short_of = policy("a", conditions=[condition("Scheduled", "False", "Unfulfilled")])
    end = facts(binding("a", *done()), policy=short_of)
    assert reasons(facts(binding("a"), policy=short_of), end) == ALL[:-1]


def test_diffs_that_are_reported_complete_a_placement_without_an_event_of_their_own() -> None:
    diff = placement(spec={"strategy": {"applyStrategy": {"type": "ReportDiff"}}})
    end = facts(binding("a", *done("WorkSynchronized"), condition("DiffReported")), placement=diff)
    assert reasons(facts(binding("a"), placement=diff), end) == [*ALL[:3], ALL[-1]]


MEASURED: dict[str, tuple[list[Json], tuple[str, str, str]]] = {
    "done": (done(), ("Completed", "True", "Completed")),
    "under way": (
        done("WorkSynchronized"),
        ("ClusterResourcePlacementApplied", "Unknown", "ApplyPending"),
    ),
    "failed": (
        [*done("WorkSynchronized"), FAILED],
        ("ClusterResourcePlacementApplied", "False", "ApplyFailed"),
    ),
}


@pytest.mark.parametrize(("said", "place"), MEASURED.values(), ids=MEASURED.keys())
def test_the_metric_names_the_first_condition_that_is_not_true(
    said: list[Json], place: tuple[str, str, str]
) -> None:
    found = facts(binding("a", *said))
    assert status.measured(found, tell(found)) == place


@pytest.mark.rule("ST-31")
def test_the_copy_of_a_status_is_told_of_but_not_in_the_copy() -> None:
    told = tell(facts(binding("a", *done())))
    good = status.synced(told, GENERATION, NOW, "web")
    assert short(good["conditions"])["StatusSynced"] == "True StatusSyncSucceeded"
    assert message(good, "StatusSynced") == (
        "Successfully created or updated ClusterResourcePlacementStatus in namespace 'web'"
    )
    bad = status.synced(good, GENERATION, NOW, "web", "no such namespace")
    assert short(bad["conditions"])["StatusSynced"] == "False StatusSyncFailed"
    assert message(bad, "StatusSynced") == (
        "Failed to create or update ClusterResourcePlacementStatus: no such namespace"
    )
    assert status.copied(good) == told
    kept = tell(facts(binding("a", *done()), placement=placement(status=good)))
    assert "StatusSynced" in short(kept["conditions"])
