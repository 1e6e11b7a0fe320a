"""How a run begins, and why it may not."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support import running
from tests.support.running import APPLY, NOW, binding, placement, policy, run, stage, strategy

from fleetqueue.fleet.decide.overrides import Applicable
from fleetqueue.fleet.decide.update_runs import beginning
from fleetqueue.fleet.decide.update_runs.beginning import Failed
from fleetqueue.fleet.decide.update_runs.marks import Pen
from fleetqueue.fleet.decide.update_runs.scene import Scene
from fleetqueue.fleet.decide.update_runs.stages import Invalid, concurrency

Json = dict[str, Any]
USER = "failed to process the request due to a client error: "
EAST_WEST = [binding("east"), binding("west")]
PICK_TWO = {"placementType": "PickN", "number": 2}
STAGES = strategy(stage("one"), stage("two"))
MEMBERS = {"east": {"stage": "one"}, "west": {"stage": "two"}}


def drafted(
    found: list[Json],
    strategy: Json | None = STAGES,
    *,
    under: Json | None = None,
    of: Json | None = None,
    members: Any = MEMBERS,
) -> Json:
    scene = Scene(run(), of or placement(), under or policy(), found, strategy)
    return beginning.drafted(scene, members)


@pytest.mark.rule("RUN-2")
@pytest.mark.rule("RUN-3")
@pytest.mark.rule("RUN-4")
@pytest.mark.rule("RUN-5")
def test_a_run_writes_down_what_it_will_do() -> None:
    leaving = [binding("z", "Unscheduled"), binding("b", "Unscheduled")]
    assert drafted([*EAST_WEST, *leaving]) == {
        "appliedStrategy": APPLY,
        "policySnapshotIndexUsed": "0",
        "policyObservedClusterCount": 2,
        "stagedUpdateStrategySnapshot": STAGES["spec"],
        "stagesStatus": [
            {"stageName": "one", "clusters": [{"clusterName": "east"}]},
            {"stageName": "two", "clusters": [{"clusterName": "west"}]},
        ],
        "deletionStageStatus": {
            "stageName": "kubernetes-fleet.io/deleteStage",
            "clusters": [{"clusterName": "b"}, {"clusterName": "z"}],
        },
    }


# fmt: off
COUNTS: dict[str, tuple[Json, int]] = {
    "all that fit": (policy(), 2),
    "so many": (policy(**PICK_TWO), 2),
    "those named": (policy(placementType="PickFixed", clusterNames=["east", "west"]), 2),
}
# fmt: on


@pytest.mark.rule("RUN-2")
@pytest.mark.parametrize(("under", "count"), COUNTS.values(), ids=COUNTS)
def test_how_many_clusters_the_policy_asks_for(under: Json, count: int) -> None:
    assert drafted(EAST_WEST, under=under)["policyObservedClusterCount"] == count


def scene(**changes: Any) -> Scene:
    told: Json = {"placement": placement(), "policy": policy(), "bindings": EAST_WEST, **changes}
    return Scene(run(), **told)


OTHER = {"east": {"stage": "one", "order": "x"}, "west": {"stage": "one", "order": "1"}}
NO_SENSE = {
    "name": "one",
    "labelSelector": {"matchExpressions": [{"key": "x", "operator": "In"}]},
}
EVERYWHERE = strategy(stage("one"), {"name": "two", "labelSelector": {}})
TWICE = [{"type": "Approval"}, {"type": "Approval"}]
# fmt: off
CAUSES: dict[str, tuple[Scene, Json | None, Any, str]] = {
    "no placement": (scene(placement=None), STAGES, MEMBERS, f"{USER}parent placement not found"),
    "rolling updates": (scene(placement=placement("RollingUpdate")), STAGES, MEMBERS,
        f"{USER}parent placement does not have an external rollout strategy, current strategy:"
        " RollingUpdate"),
    "no policy": (scene(policy=None), STAGES, MEMBERS,
        f"{USER}no latest policy snapshot found for placement: `/p`"),
    "not scheduled": (scene(policy=policy(status="False")), STAGES, MEMBERS,
        f"{USER}policy snapshot `p-0` not fully scheduled yet"),
    "scheduled before it changed": (scene(policy=policy(seen=0)), STAGES, MEMBERS,
        f"{USER}policy snapshot `p-0` not fully scheduled yet"),
    "no bindings": (scene(bindings=[]), STAGES, MEMBERS,
        "no scheduled or to-be-deleted bindings found for the latest policy snapshot /p-0"),
    "too few bindings": (scene(policy=policy(placementType="PickN", number=3)), STAGES, MEMBERS,
        "the number of selected bindings 2 is not equal to the observed cluster count 3"),
    "no strategy": (scene(), None, MEMBERS, f"{USER}referenced updateStrategy not found: `/s`"),
    "a cluster in two stages": (scene(), EVERYWHERE, MEMBERS,
        f"{USER}cluster `east` appears in more than one stages"),
    "a selector that makes no sense": (scene(), strategy(NO_SENSE), MEMBERS,
        f"{USER}the stage label selector is invalid, updateStrategy: `/s`, stage: one, err: values:"
        " Invalid value: []: for 'in', 'notin' operators, values set can't be empty"),
    "a label that is no number": (scene(), strategy(stage("one", sortingLabelKey="order")), OTHER,
        f"{USER}the sorting label `order:x` on cluster `east` is not valid: strconv.Atoi: parsing"
        ' "x": invalid syntax'),
    "clusters in no stage": (scene(), strategy({"name": "one"}), MEMBERS,
        f"{USER}some clusters are not placed in any stage, total 2, showing up to 10: east, west"),
    "two tasks of a kind": (scene(), strategy(stage("one", after=TWICE)), MEMBERS,
        f"{USER}the after stage tasks are invalid, updateStrategy: `/s`, stage: one, err:"
        " afterStageTasks cannot have two tasks of the same type: Approval"),
    "a wait before a stage": (scene(), strategy(stage("one", before=[running.waiting("1s")])),
        MEMBERS, f"{USER}the before stage tasks are invalid, updateStrategy: `/s`, stage: one, err:"
        " task 0 of type TimedWait is not allowed before a stage"),
}
# fmt: on


@pytest.mark.rule("RUN-1")
@pytest.mark.rule("RUN-2")
@pytest.mark.rule("RUN-3")
@pytest.mark.rule("RUN-4")
@pytest.mark.rule("RUN-8")
@pytest.mark.parametrize(("scene", "told", "members", "cause"), CAUSES.values(), ids=CAUSES)
def test_why_a_run_cannot_begin(scene: Scene, told: Json | None, members: Any, cause: str) -> None:
    with pytest.raises(Failed) as failure:
        beginning.drafted(replace(scene, strategy=told), members)
    status = beginning.failed(failure.value, Pen(2, NOW))
    assert running.said(status) == ["Initialized=False/UpdateRunInitializedFailed"]
    lead = "cannot continue the updateRun: failed to validate the updateRun: "
    assert running.message(status, "Initialized") == f"{lead}{cause}"


@pytest.mark.rule("RUN-8")
def test_a_failed_run_says_how_far_it_came() -> None:
    with pytest.raises(Failed) as failure:
        drafted(EAST_WEST, None)
    assert failure.value.status == {
        "appliedStrategy": APPLY,
        "policySnapshotIndexUsed": "0",
        "policyObservedClusterCount": 2,
    }


@pytest.mark.rule("RUN-3")
def test_bindings_on_their_way_out_are_not_changed() -> None:
    going = binding("north", "Bound")
    going["metadata"]["deletionTimestamp"] = "t"
    found = drafted([*EAST_WEST, going])
    assert found["policyObservedClusterCount"] == 2


@pytest.mark.rule("RUN-4")
def test_clusters_are_sorted_by_their_label_or_by_name() -> None:
    ranks = {"a": "10", "b": "9", "c": "-1", "d": "9"}
    members = {name: {"stage": "one", "order": value} for name, value in ranks.items()}
    found = [binding(name) for name in ("d", "c", "b", "a")]
    by_label = drafted(found, strategy(stage("one", sortingLabelKey="order")), members=members)
    by_name = drafted(found, strategy(stage("one")), members=members)
    for draft, order in ((by_label, "cbda"), (by_name, "abcd")):
        clusters = draft["stagesStatus"][0]["clusters"]
        assert "".join(each["clusterName"] for each in clusters) == order


@pytest.mark.rule("RUN-4")
def test_an_empty_selector_takes_all_and_a_stage_may_be_empty() -> None:
    found = drafted(EAST_WEST, strategy({"name": "none"}, {"name": "all", "labelSelector": {}}))
    assert [len(each["clusters"]) for each in found["stagesStatus"]] == [0, 2]


@pytest.mark.rule("RUN-6")
@pytest.mark.parametrize("text", ["x", "-1", "1.5"])
def test_an_index_is_a_number(text: str) -> None:
    with pytest.raises(Invalid) as invalid:
        beginning.asked_index(run(resourceSnapshotIndex=text))
    assert str(invalid.value) == (
        f"{USER}invalid resource snapshot index `{text}` provided, expected an integer >= 0"
    )


@pytest.mark.rule("RUN-6")
def test_an_index_may_be_given_or_not() -> None:
    assert beginning.asked_index(run(resourceSnapshotIndex="3")) == 3
    assert beginning.asked_index(run(resourceSnapshotIndex="")) is None
    assert str(beginning.no_snapshot(scene(), 3)) == (
        f"{USER}no resourceSnapshots with index `3` found for placement `/p`"
    )


@pytest.mark.rule("RUN-7")
@pytest.mark.rule("RUN-8")
def test_overrides_are_recorded_per_cluster() -> None:
    overrides = {"east": Applicable(("c-0",), (("web", "r-0"),)), "west": Applicable()}
    status = beginning.completed(drafted(EAST_WEST), 4, overrides, Pen(2, NOW))
    assert status["resourceSnapshotIndexUsed"] == "4"
    assert [stage["clusters"] for stage in status["stagesStatus"]] == [
        [
            {
                "clusterName": "east",
                "clusterResourceOverrideSnapshots": ["c-0"],
                "resourceOverrideSnapshots": [{"name": "r-0", "namespace": "web"}],
            }
        ],
        [{"clusterName": "west"}],
    ]
    assert running.said(status) == ["Initialized=True/UpdateRunInitializedSuccessfully"]
    text = "The UpdateRun initialized successfully"
    assert running.message(status, "Initialized") == text


# fmt: off
SHARES = {
    "nothing said": (None, 7, 1), "a number": (3, 7, 3), "a number as text": ("2", 7, 2),
    "a share": ("50%", 7, 3), "a small share": ("1%", 7, 1), "all": ("100%", 7, 7),
}
# fmt: on


@pytest.mark.rule("RUN-11")
@pytest.mark.parametrize(("told", "count", "wanted"), SHARES.values(), ids=SHARES)
def test_how_many_clusters_change_at_a_time(told: Any, count: int, wanted: int) -> None:
    config = {} if told is None else {"maxConcurrency": told}
    assert concurrency(config, count) == wanted
