"""A Job that finishes on its member, and whose time to live is over: KubeFleet makes it again, we
do not.
"""

from unittest.mock import ANY

import pytest
from tests.support import golden_jobs, golden_placement
from tests.support import golden_placed as placed
from tests.support import golden_steps as steps
from tests.support.golden import Maybe
from tests.support.golden_jobs import UIDS, in_trouble, work_in_trouble
from tests.support.golden_placed import GOING, GONE, Placed
from tests.support.golden_placement import JOBS, ONE, TWO, Life, Recording, Replay

from fleetqueue.fleet.kinds import NAMESPACED
from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("APPLY-3", "APPLY-15", "REQ-1", "BIND-3", "ST-40", "KJ-5")

JOB = golden_jobs.job(
    "ttl",
    "c4n",
    notes={"fake-kubelet/run-for": "1s"},
    args=["entrypoint-tester"],
    ttlSecondsAfterFinished=2,
)
MANIFEST = golden_jobs.stripped(JOB)
POLICY_HASH = "f7fd8e8c06d825103e21abca98c23309e15672c66d469935381c35c9af9df6d7"
DRIFTED = in_trouble(MANIFEST, 1, *UIDS)
BACKGROUND = {"finalizers": ["foregroundDeletion"]}


def on_hub(told: Placed) -> dict[str, Life]:
    return {
        "Job c4n/ttl": golden_jobs.hub_job(JOB),
        **told.placement(
            golden_jobs.asked(MANIFEST, TWO),
            [
                Maybe(told.top(steps.SCHEDULING)),
                *told.top_round(),
                told.top(steps.SOME_FAILED),
            ],
            {
                TWO: [
                    *told.cluster_round(TWO, steps.UNTRACKABLE),
                    told.on(TWO, steps.FAILED, **DRIFTED),
                ]
            },
            {"generation": 2, **GOING},
            {"finalizers": [f"{placed.FLEET}/scheduler-cleanup"]},
            GONE,
        ),
        **told.policy(POLICY_HASH, None, GONE, placementType="PickFixed", clusterNames=[TWO]),
        **told.snapshot(ANY, GONE),
        **told.binding(
            TWO,
            [*told.binding_round(steps.UNTRACKABLE), told.binds(steps.FAILED, **DRIFTED)],
            *told.bound(),
            {"finalizers": [placed.WORKING]},
            {"generation": 4, **GOING},
            GONE,
        ),
        **told.in_work(
            TWO,
            [
                placed.prepared(MANIFEST),
                golden_jobs.work_applied(MANIFEST),
                work_in_trouble(MANIFEST, 1, *UIDS),
            ],
            {"generation": 2, **GOING},
            GONE,
        ),
    }


def on_member(told: Placed) -> dict[str, object]:
    """It ran and is deleted; then it is there again, suspended as at first."""
    arrived = golden_jobs.arrived(told, MANIFEST)
    first = Life(
        [arrived, golden_jobs.RUN_BY_HAND, {"generation": 3, **GOING, **BACKGROUND}, GONE],
        [*golden_jobs.RUNNING, *golden_jobs.COMPLETED],
    )
    return {
        **told.applied_work(TWO, {"generation": 2, **GOING, **BACKGROUND}, GONE),
        "Job c4n/ttl": [first, Life([arrived, GONE], [golden_jobs.SUSPENDED])],
    }


def told_of(*, is_compatible: bool) -> Placed:
    return Placed(
        "ttl-rp",
        [MANIFEST],
        space="c4n",
        clusters=[TWO],
        scores=None,
        apply={"whenToApply": "IfNotDrifted"},
        is_compatible=is_compatible,
    )


def recorded(*, is_compatible: bool) -> Recording:
    told = told_of(is_compatible=is_compatible)
    return Recording(
        {"hub": on_hub(told), ONE: {}, TWO: on_member(told)}, told.events(*placed.EVENTS)
    )


async def replay_it(fleet: Fleet, *, is_compatible: bool) -> Replay:
    replay = await golden_placement.start(fleet, is_compatible=is_compatible, runs_seconds=1.0)
    await golden_jobs.begin(replay, "c4n")
    async with replay:
        await replay.hub.create(JOB, golden_jobs.job_placement("ttl-rp", JOB, TWO, "IfNotDrifted"))
        await replay.passes(1.5)
        await replay.by_hand(TWO, JOBS, "ttl", {"spec": {"suspend": False}}, "c4n")
        await replay.passes(18)
        await replay.hub.client.delete(NAMESPACED.placement, "ttl-rp", "c4n")
        await replay.passes(3)
    return replay


async def test_a_finished_job_is_made_again_as_recorded(fleet: Fleet) -> None:
    replay = await replay_it(fleet, is_compatible=True)
    recorded(is_compatible=True).compare(replay.seen)


async def test_a_finished_job_is_not_made_again_by_default(fleet: Fleet) -> None:
    replay = await replay_it(fleet, is_compatible=False)
    told = told_of(is_compatible=False)
    [job] = replay.seen[TWO].of("Job c4n/ttl")
    assert list(job.says)[-2:] == golden_jobs.COMPLETED
    [binding] = replay.seen["hub"].of(told.title("ResourceBinding", f"-{TWO}-*"))
    assert binding.says[-1] == told.binds(steps.AVAILABLE)
    [found] = replay.seen["hub"].of(told.title("ResourcePlacement"))
    assert found.says[-1] == told.top(steps.ALL_AVAILABLE)
    assert found.clusters[TWO][-1] == told.on(TWO, steps.AVAILABLE)
