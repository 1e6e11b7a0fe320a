"""A suspended Job is placed on a member, where somebody lets it run; then the hub's Job changes.
Nothing is written over what was changed there unless the manifest is new.
"""

from typing import Any
from unittest.mock import ANY

import pytest
from tests.support import golden_jobs, golden_placement
from tests.support import golden_placed as placed
from tests.support import golden_steps as steps
from tests.support.golden import Maybe
from tests.support.golden_jobs import SUSPEND, UIDS, in_trouble, work_in_trouble
from tests.support.golden_placed import Placed
from tests.support.golden_placement import JOBS, ONE, TWO, Life, Recording, Replay, same

from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule(
    "SEL-20", "APPLY-15", "DRIFT-2", "DRIFT-3", "DRIFT-5", "GEN-7", "ST-14", "ST-16", "KJ-1", "KJ-2"
)

JOB = golden_jobs.job("work", "c3a")
FIRST, SECOND = golden_jobs.stripped(JOB), golden_jobs.stripped(JOB, touched="yes")
POLICY_HASH = "25c726e82617174358f0fc6dec97233528483e386f6f68dd89a311bf7de68561"
RUNNING = in_trouble(FIRST, 2, *UIDS, SUSPEND)
AGAIN = in_trouble(FIRST, 3, *UIDS)
"""Suspended again by the new manifest, and yet in trouble: the uids differ as always."""


def on_hub(told: Placed) -> dict[str, Life]:
    return {
        **told.placement(
            golden_jobs.asked(FIRST, ONE),
            [
                Maybe(told.top(steps.SCHEDULING)),
                *told.top_round(),
                told.top(steps.SOME_FAILED),
                *told.top_round(index="1"),
                told.top(steps.SOME_FAILED, index="1"),
            ],
            {
                ONE: [
                    *told.cluster_round(ONE, steps.UNTRACKABLE),
                    told.on(ONE, steps.FAILED, **RUNNING),
                    *told.cluster_round(ONE, steps.UNTRACKABLE, "1"),
                    told.on(ONE, steps.FAILED, "1", **AGAIN),
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
                told.binds(steps.FAILED, **RUNNING),
                told.binds(steps.FAILED, newer=4, **RUNNING),
                *told.binding_round(steps.UNTRACKABLE, at=4)[1:],
                told.binds(steps.FAILED, at=4, **AGAIN),
            ],
            *told.bound(),
            told.updated(),
        ),
        **told.in_work(
            ONE,
            [
                placed.prepared(FIRST),
                golden_jobs.work_applied(FIRST),
                work_in_trouble(FIRST, 2, *UIDS, SUSPEND),
                golden_jobs.work_applied(SECOND, 3, generation=2),
                work_in_trouble(SECOND, 3, *UIDS, generation=2),
            ],
            told.new_manifests(SECOND),
        ),
    }


def on_member(told: Placed) -> dict[str, Life]:
    again = {"generation": 3, "spec.suspend": True, **golden_jobs.touched(told, SECOND)}
    return {
        **told.applied_work(ONE),
        "Job c3a/work": Life(
            [golden_jobs.arrived(told, FIRST), golden_jobs.RUN_BY_HAND, again],
            [*golden_jobs.RUNNING, *golden_jobs.STOPPED],
        ),
    }


def told_of(*, is_compatible: bool) -> Placed:
    return Placed(
        "job-rp",
        [FIRST],
        space="c3a",
        clusters=[ONE],
        scores=None,
        apply={"whenToApply": "IfNotDrifted"},
        is_compatible=is_compatible,
    )


def recorded(*, is_compatible: bool) -> Recording:
    told = told_of(is_compatible=is_compatible)
    return Recording(
        {"hub": on_hub(told), ONE: on_member(told), TWO: {}}, told.events(*placed.ROLLED_OUT)
    )


async def replay_it(fleet: Fleet, *, is_compatible: bool) -> Replay:
    replay = await golden_placement.start(
        fleet, is_compatible=is_compatible, runs_seconds=golden_placement.FOR_EVER
    )
    await golden_jobs.begin(replay, "c3a")
    await replay.hub.create(JOB)
    await replay.passes(1)
    async with replay:
        await replay.hub.create(golden_jobs.job_placement("job-rp", JOB, ONE, "IfNotDrifted"))
        await replay.passes(2.5)
        await replay.by_hand(ONE, JOBS, "work", {"spec": {"suspend": False}}, "c3a")
        await replay.passes(14.5)
        labels = {"metadata": {"labels": {"touched": "yes"}}}
        await replay.hub.client.patch(JOBS, "work", labels, "c3a")
        await replay.passes(8)
    return replay


async def test_a_job_that_runs_on_the_member_is_reported_as_recorded(fleet: Fleet) -> None:
    replay = await replay_it(fleet, is_compatible=True)
    recorded(is_compatible=True).compare(replay.seen)


async def test_only_what_somebody_changed_is_reported_by_default(fleet: Fleet) -> None:
    """Nobody's queue let it run, so that is a drift; what the member's server fills in is none."""
    replay = await replay_it(fleet, is_compatible=False)
    told = told_of(is_compatible=False)
    drifted: Any = in_trouble(FIRST, 2, SUSPEND)
    [binding] = replay.seen["hub"].of(told.title("ResourceBinding", f"-{ONE}-*"))
    same(
        binding.says,
        [
            *told.binding_round(steps.UNAVAILABLE),
            told.binds(steps.FAILED, **drifted),
            told.binds(steps.FAILED, newer=4, **drifted),
            *told.binding_round(steps.UNAVAILABLE, at=4)[1:],
        ],
        "the binding",
    )
