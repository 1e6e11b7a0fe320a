"""A placement that is rolled out by an update run: a canary, a pause and an approval, then an
approval and production; and a run whose strategy does not exist.
"""

from typing import Any

import pytest
from tests.support import golden_placed as placed
from tests.support import golden_placement
from tests.support import golden_steps as steps
from tests.support.golden import Maybe
from tests.support.golden_placed import FLEET, Placed, facts
from tests.support.golden_placement import MEMBERS, ONE, TWO, Life, Recording
from tests.support.golden_steps import Step
from tests.support.placed import placement
from tests.support.recorder import Facts

from fleetqueue.fleet import kinds
from fleetqueue.fleet.kinds import CLUSTER_SCOPE
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet, named

pytestmark = pytest.mark.rule(
    "RUN-1", "RUN-8", "RUN-10", "RUN-12", "RUN-13", "RUN-15", "RUN-17", "RUN-19", "RUN-30",
    "SNAP-9", "ST-20", "ST-21", "ST-23",
)  # fmt: skip

API = "placement.kubernetes-fleet.io/v1beta1"
NAMESPACE = placed.namespace("c13")
CONF = placed.config_map("conf", "c13", a="1")
HASH = "d7d35ef383dee3c3d4b6d4db1da0b8e4a9f83a4df7e13be35243987e8dd01ee6"
SELECTOR = {"group": "", "version": "v1", "kind": "Namespace", "name": "c13"}
BY_RUN = steps.STARTED._replace(
    message=f"{steps.DETECTED}, resourceSnapshotIndex: , updateRun: run1"
)
ELSEWHERE = steps.UNDECIDED._replace(reason="RolloutControlledByExternalController")
NOWHERE_YET = ELSEWHERE._replace(
    message="Rollout is controlled by an external controller and no resource snapshot name is "
    "observed across clusters. To determine rollout status, check the ClusterStagedUpdateRun "
    "resources with spec.placementName matching this placement"
)
HERE_AND_THERE = ELSEWHERE._replace(
    message="Rollout is controlled by an external controller and different resource snapshot "
    "versions are observed across clusters"
)
HARDLY_EVERYWHERE = ELSEWHERE._replace(
    message=f"Rollout is controlled by an external controller and cluster {TWO} is in "
    "RolloutStarted Unknown state"
)


def stage(name: str, **tasks: Any) -> Object:
    return {"name": name, "labelSelector": {"matchLabels": {"stage": name}}, **tasks}


CANARY = stage(
    "canary", afterStageTasks=[{"type": "TimedWait", "waitTime": "3s"}, {"type": "Approval"}]
)
PROD = stage("prod", beforeStageTasks=[{"type": "Approval"}])
STAGES = [{**each, "maxConcurrency": 1} for each in (CANARY, PROD)]


# The placement


def on_hub(told: Placed) -> dict[str, Life]:
    lives = {
        **told.placement(
            {
                "resourceSelectors": [{**SELECTOR, **placed.WITH_RESOURCES}],
                "strategy": {"type": "External", "applyStrategy": placed.APPLY},
            },
            [
                told.top(steps.SCHEDULING, index=""),
                told.top(NOWHERE_YET, index="", selected=()),
                told.top(HERE_AND_THERE, index="", selected=()),
                Maybe(told.top(HARDLY_EVERYWHERE)),
                *last_cluster(told),
            ],
            {name: [told.on(name, steps.UNDECIDED, ""), *one_cluster(told, name)]
             for name in MEMBERS},
        ),
        **told.policy(),
        **told.snapshot(HASH),
    }  # fmt: skip
    for name in MEMBERS:
        lives |= told.binding(
            name,
            told.binding_round(at=2),
            {
                "generation": 2,
                "spec.resourceSnapshotName": "staged-0-snapshot",
                "spec.state": "Bound",
                **facts(spec={"applyStrategy": placed.APPLY}),
            },
            {"finalizers": [f"{FLEET}/scheduler-crb-cleanup", placed.WORKING]},
        )
        manifests = NAMESPACE, CONF
        lives |= told.in_work(name, [placed.prepared(*manifests), placed.applied(*manifests)])
    return lives


def last_cluster(told: Placed) -> list[Any]:
    """Of the whole, once the second one has begun."""
    under_way = steps.SOME_FAILED if told.is_compatible else steps.SOME_APPLYING
    return [
        Maybe(told.top(steps.SOME_OVERRIDING, 1)),
        told.top(under_way, 1),
        told.top(steps.ALL_AVAILABLE),
    ]


def one_cluster(told: Placed, name: str) -> list[Any]:
    first, *others = told.cluster_round(name)
    return [Maybe(first), *others]


def on_member(told: Placed, name: str) -> dict[str, Life]:
    return {
        **told.applied_work(name),
        "Namespace c13": told.namespace(),
        "ConfigMap c13/conf": Life([told.arrived(CONF, placed.ONLY_A["1"])]),
    }


# The runs

RUNS = Step("Progressing", "True", "UpdateRunProgressing", "The update run is making progress")
DONE = [
    Step("Progressing", "False", "UpdateRunSucceeded", "All stages are completed"),
    Step("Succeeded", "True", "UpdateRunSucceeded", "All stages are completed successfully"),
]
REQUESTED = Step(
    "ApprovalRequestCreated",
    "True",
    "StageTaskApprovalRequestCreated",
    "ApprovalRequest object is created",
)
APPROVED = Step(
    "ApprovalRequestApproved",
    "True",
    "StageTaskApprovalRequestApproved",
    "ApprovalRequest object is approved",
)
ELAPSED = Step("WaitTimeElapsed", "True", "AfterStageTaskWaitTimeElapsed", "Wait time elapsed")
CLUSTER_STARTED = Step("Started", "True", "ClusterUpdatingStarted", "Cluster update started")
CLUSTER_DONE = Step(
    "Succeeded", "True", "ClusterUpdatingSucceeded", "Cluster update completed successfully"
)
STAGE_STARTED = Step(
    "Progressing", "True", "StageUpdatingStarted", "Clusters in the stage started updating"
)
STAGE_WAITS = Step(
    "Progressing",
    "False",
    "StageUpdatingWaiting",
    "All clusters in the stage are updated, waiting for after-stage tasks to complete",
)
STAGE_ASKS = STAGE_WAITS._replace(
    message="Not all before-stage tasks are completed, waiting for approval"
)
STAGE_DONE = [
    Step(
        "Progressing",
        "False",
        "StageUpdatingSucceeded",
        "All clusters in the stage are updated and after-stage tasks are completed",
    ),
    Step("Succeeded", "True", "StageUpdatingSucceeded", "Stage update completed successfully"),
]


def waits(when: str, name: str) -> Step:
    text = f"The updateRun is waiting for {when} tasks in stage {name} to complete"
    return Step("Progressing", "False", "UpdateRunWaiting", text)


def said(told: list[Step], at: int = 3) -> Object:
    return {"conditions": [placed.line(each, at) for each in told]} if told else {}


def canary(told: list[Step], cluster: list[Step], wait: list[Step], approval: list[Step]) -> Object:
    return {
        "stageName": "canary",
        "clusters": [{"clusterName": ONE, **said(cluster)}],
        "afterStageTaskStatus": [
            {"type": "TimedWait", **said(wait)},
            {"type": "Approval", "approvalRequestName": "run1-after-canary", **said(approval)},
        ],
        **said(told),
        **times(told, cluster),
    }


def prod(told: list[Step], cluster: list[Step], approval: list[Step]) -> Object:
    return {
        "stageName": "prod",
        "clusters": [{"clusterName": TWO, **said(cluster)}],
        "beforeStageTaskStatus": [
            {"type": "Approval", "approvalRequestName": "run1-before-prod", **said(approval)}
        ],
        **said(told),
        **times(told, cluster),
    }


def times(told: list[Step], cluster: list[Step]) -> Object:
    begun = {"startTime": "<t>"} if cluster else {}
    return {**begun, "endTime": "<t>"} if told == STAGE_DONE else begun


def run_says(
    told: list[Step], first: Object, second: Object, *, at: int = 3, is_over: bool = False
) -> Object:
    begun = Step(
        "Initialized",
        "True",
        "UpdateRunInitializedSuccessfully",
        "The UpdateRun initialized successfully",
    )
    end = {**said(STAGE_DONE), "endTime": "<t>", "startTime": "<t>"} if is_over else {}
    return {
        "appliedStrategy": placed.APPLY,
        **said([begun, *told], at),
        "deletionStageStatus": {"clusters": [], "stageName": f"{FLEET}/deleteStage", **end},
        "policyObservedClusterCount": 2,
        "policySnapshotIndexUsed": "0",
        "resourceSnapshotIndexUsed": "0",
        "stagedUpdateStrategySnapshot": {"stages": STAGES},
        "stagesStatus": [first, second],
    }


def first_run() -> Life:
    """Initialized, then run; the canary is approved before its pause is over."""
    asleep = prod([], [], [])
    both, approved = [CLUSTER_STARTED, CLUSTER_DONE], [REQUESTED, APPROVED]
    over = canary(STAGE_DONE, both, [ELAPSED], approved)
    after, before = waits("after-stage", "canary"), waits("before-stage", "prod")
    says = [
        run_says([], canary([], [], [], []), asleep, at=2),
        run_says([RUNS], canary([STAGE_STARTED], [CLUSTER_STARTED], [], []), asleep),
        run_says([after], canary([STAGE_WAITS], both, [], [REQUESTED]), asleep),
        run_says([after], canary([STAGE_WAITS], both, [], approved), asleep),
        run_says([RUNS], over, asleep),
        run_says([before], over, prod([STAGE_ASKS], [], [REQUESTED])),
        run_says([RUNS], over, prod([STAGE_ASKS], [], approved)),
        run_says([RUNS], over, prod([STAGE_STARTED], [CLUSTER_STARTED], approved)),
        run_says([RUNS], over, prod(STAGE_DONE, both, approved)),
        run_says(DONE, over, prod(STAGE_DONE, both, approved), is_over=True),
    ]
    return Life(
        [*run_told("two-stages", "Initialize"), {"generation": 3, "spec.state": "Run"}], says
    )


def second_run() -> Life:
    missing = Step(
        "Initialized",
        "False",
        "UpdateRunInitializedFailed",
        "cannot continue the updateRun: failed to validate the updateRun: failed to process the "
        "request due to a client error: referenced updateStrategy not found: `/no-such`",
    )
    says = {
        "appliedStrategy": placed.APPLY,
        **said([missing], 2),
        "policyObservedClusterCount": 2,
        "policySnapshotIndexUsed": "0",
    }
    return Life(run_told("no-such", "Run"), [says])


def run_told(strategy: str, state: str) -> list[Facts]:
    spec = {"placementName": "staged", "stagedRolloutStrategyName": strategy, "state": state}
    kept = {
        "generation": 2,
        "finalizers": [f"{FLEET}/stagedupdaterun-finalizer"],
        "spec.resourceSnapshotIndex": "",
    }
    return [facts(spec=spec, generation=1), kept]


def approval(name: str, when: str) -> Life:
    labels = {
        f"{FLEET}/isLatestUpdateRunApproval": "true",
        f"{FLEET}/targetUpdateRun": "run1",
        f"{FLEET}/targetUpdatingStage": name,
        f"{FLEET}/taskType": when,
    }
    spec = {"parentStageRollout": "run1", "targetStage": name}
    accepted = Step(
        "ApprovalAccepted",
        "True",
        "ApprovalRequestApprovalAccepted",
        "The approval request has been approved and cannot be reverted",
    )
    by_hand = Step("Approved", "True", "byHand", "approved")
    says = [said([by_hand], 1), said([by_hand, accepted], 1)]
    return Life([facts(spec=spec, labels=labels, generation=1)], says)


def recorded(*, is_compatible: bool) -> Recording:
    told = Placed("staged", [NAMESPACE, CONF], started=BY_RUN, is_compatible=is_compatible)
    runs = {
        "ClusterStagedUpdateStrategy two-stages": Life(
            [facts(spec={"stages": STAGES}, generation=1)]
        ),
        "ClusterStagedUpdateRun run1": first_run(),
        "ClusterStagedUpdateRun run2": second_run(),
        "ClusterApprovalRequest run1-after-canary": approval("canary", "afterStage"),
        "ClusterApprovalRequest run1-before-prod": approval("prod", "beforeStage"),
    }
    return Recording(
        {"hub": on_hub(told) | runs, **{name: on_member(told, name) for name in MEMBERS}},
        told.events(*placed.ROLLED_OUT),
    )


def run(name: str, strategy: str, state: str) -> Object:
    spec = {"placementName": "staged", "stagedRolloutStrategyName": strategy, "state": state}
    return named("ClusterStagedUpdateRun", API, name, spec=spec)


@pytest.mark.parametrize("is_compatible", [True, False], ids=["as recorded", "by default"])
async def test_a_run_goes_from_stage_to_stage(fleet: Fleet, *, is_compatible: bool) -> None:
    replay = await golden_placement.start(fleet, is_compatible=is_compatible)
    client = replay.hub.client
    for name, value in zip(MEMBERS, ("canary", "prod"), strict=True):
        labels = {"metadata": {"labels": {"stage": value}}}
        await client.patch(kinds.MEMBER_CLUSTER, name, labels)
    await replay.hub.create(NAMESPACE, CONF)
    await replay.passes(1)
    async with replay:
        kind = CLUSTER_SCOPE.update_strategy.kind
        await replay.hub.create(
            named(kind, API, "two-stages", spec={"stages": [CANARY, PROD]}),
            placement(
                "staged",
                SELECTOR,
                policy={"placementType": "PickAll"},
                strategy={"type": "External"},
            ),
        )
        await replay.passes(1)
        await replay.hub.create(run("run1", "two-stages", "Initialize"))
        await replay.passes(1)
        await client.patch(CLUSTER_SCOPE.update_run, "run1", {"spec": {"state": "Run"}})
        await replay.passes(1)
        await approve(replay, "run1-after-canary")
        await replay.passes(4)
        await approve(replay, "run1-before-prod")
        await replay.passes(16)
        await replay.hub.create(run("run2", "no-such", "Run"))
        await replay.passes(1)
    recorded(is_compatible=is_compatible).compare(replay.seen)


async def approve(replay: golden_placement.Replay, name: str) -> None:
    condition = {
        "type": "Approved",
        "status": "True",
        "reason": "byHand",
        "message": "approved",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 1,
    }
    status = {"status": {"conditions": [condition]}}
    await replay.hub.client.patch(
        CLUSTER_SCOPE.approval_request, name, status, subresource="status"
    )
