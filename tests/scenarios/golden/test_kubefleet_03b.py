"""The same Job where the manifest always wins: whoever lets it run on the member is overruled."""

from unittest.mock import ANY

import pytest
from tests.support import golden_jobs, golden_placement
from tests.support import golden_placed as placed
from tests.support import golden_steps as steps
from tests.support.golden import Maybe
from tests.support.golden_placed import Placed
from tests.support.golden_placement import JOBS, ONE, TWO, Life, Recording

from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("APPLY-16", "APPLY-20", "APPLY-22", "REQ-1", "GEN-7")

JOB = golden_jobs.job("work", "c3b")
FIRST, SECOND = golden_jobs.stripped(JOB), golden_jobs.stripped(JOB, touched="yes")
POLICY_HASH = "25c726e82617174358f0fc6dec97233528483e386f6f68dd89a311bf7de68561"


def on_hub(told: Placed) -> dict[str, Life]:
    return {
        **told.placement(
            golden_jobs.asked(FIRST, ONE),
            [
                Maybe(told.top(steps.SCHEDULING)),
                *told.top_round(),
                *told.top_round(index="1"),
            ],
            {
                ONE: [
                    *told.cluster_round(ONE, steps.UNTRACKABLE),
                    *told.cluster_round(ONE, steps.UNTRACKABLE, "1"),
                ]
            },
        ),
        **told.policy(POLICY_HASH, placementType="PickFixed", clusterNames=[ONE]),
        **told.snapshot(ANY, placed.SUPERSEDED),
        **told.snapshot(ANY, index=1, manifests=[SECOND]),
        **told.binding(
            ONE,
            [
                *told.binding_round(steps.UNTRACKABLE),
                *told.binding_round(steps.UNTRACKABLE, at=4, after=steps.UNTRACKABLE),
            ],
            *told.bound(),
            told.updated(),
        ),
        **told.in_work(
            ONE,
            [
                placed.prepared(FIRST),
                golden_jobs.work_applied(FIRST),
                golden_jobs.work_applied(FIRST, 3),
                golden_jobs.work_applied(SECOND, 3, generation=2),
            ],
            told.new_manifests(SECOND),
        ),
    }


def on_member(told: Placed) -> dict[str, Life]:
    return {
        **told.applied_work(ONE),
        "Job c3b/work": Life(
            [
                golden_jobs.arrived(told, FIRST),
                golden_jobs.RUN_BY_HAND,
                {"generation": 3, "spec.suspend": True},
                golden_jobs.touched(told, SECOND),
            ],
            [*golden_jobs.RUNNING, *golden_jobs.STOPPED],
        ),
    }


def recorded(*, is_compatible: bool) -> Recording:
    told = Placed(
        "job-rp",
        [FIRST],
        space="c3b",
        clusters=[ONE],
        scores=None,
        is_compatible=is_compatible,
    )
    return Recording(
        {"hub": on_hub(told), ONE: on_member(told), TWO: {}}, told.events(*placed.ROLLED_OUT)
    )


async def test_a_job_that_runs_on_the_member_is_suspended_again(fleet: Fleet) -> None:
    replay = await golden_placement.start(fleet, runs_seconds=golden_placement.FOR_EVER)
    await golden_jobs.begin(replay, "c3b")
    await replay.hub.create(JOB)
    await replay.passes(1)
    async with replay:
        await replay.hub.create(golden_jobs.job_placement("job-rp", JOB, ONE, "Always"))
        await replay.passes(3.5)
        await replay.by_hand(ONE, JOBS, "work", {"spec": {"suspend": False}}, "c3b")
        await replay.passes(13)
        labels = {"metadata": {"labels": {"touched": "yes"}}}
        await replay.hub.client.patch(JOBS, "work", labels, "c3b")
        await replay.passes(3)
    recorded(is_compatible=True).compare(replay.seen)
