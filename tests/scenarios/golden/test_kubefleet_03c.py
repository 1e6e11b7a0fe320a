"""A suspended Job that nobody touches on its member: KubeFleet reports it as drifted, we do not."""

from unittest.mock import ANY

import pytest
from tests.support import golden_jobs, golden_placement
from tests.support import golden_placed as placed
from tests.support import golden_steps as steps
from tests.support.golden import Maybe
from tests.support.golden_jobs import UIDS, in_trouble, work_in_trouble
from tests.support.golden_placed import Placed
from tests.support.golden_placement import ONE, TWO, Life, Recording, Replay, same

from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("SEL-20", "APPLY-15", "DRIFT-5", "KJ-1", "KJ-2", "KJ-4")

JOB = golden_jobs.job("work", "c3c")
MANIFEST = golden_jobs.stripped(JOB)
POLICY_HASH = "25c726e82617174358f0fc6dec97233528483e386f6f68dd89a311bf7de68561"
DRIFTED = in_trouble(MANIFEST, 1, *UIDS)


def on_hub(told: Placed) -> dict[str, Life]:
    return {
        **told.placement(
            golden_jobs.asked(MANIFEST, ONE),
            [
                Maybe(told.top(steps.SCHEDULING)),
                *told.top_round(),
                told.top(steps.SOME_FAILED),
            ],
            {
                ONE: [
                    *told.cluster_round(ONE, steps.UNTRACKABLE),
                    told.on(ONE, steps.FAILED, **DRIFTED),
                ]
            },
        ),
        **told.policy(POLICY_HASH, placementType="PickFixed", clusterNames=[ONE]),
        **told.snapshot(ANY),
        **told.binding(
            ONE,
            [*told.binding_round(steps.UNTRACKABLE), told.binds(steps.FAILED, **DRIFTED)],
            *told.bound(),
        ),
        **told.in_work(
            ONE,
            [
                placed.prepared(MANIFEST),
                golden_jobs.work_applied(MANIFEST),
                work_in_trouble(MANIFEST, 1, *UIDS),
            ],
        ),
    }


def on_member(told: Placed) -> dict[str, Life]:
    arrived = golden_jobs.arrived(told, MANIFEST)
    return {
        **told.applied_work(ONE),
        "Job c3c/work": Life([arrived], [golden_jobs.SUSPENDED]),
    }


def told_of(*, is_compatible: bool) -> Placed:
    return Placed(
        "job-rp",
        [MANIFEST],
        space="c3c",
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
    await golden_jobs.begin(replay, "c3c")
    await replay.hub.create(JOB)
    await replay.passes(1)
    async with replay:
        await replay.hub.create(golden_jobs.job_placement("job-rp", JOB, ONE, "IfNotDrifted"))
        await replay.passes(16)
    return replay


async def test_an_untouched_job_is_reported_as_drifted_as_recorded(fleet: Fleet) -> None:
    replay = await replay_it(fleet, is_compatible=True)
    recorded(is_compatible=True).compare(replay.seen)


async def test_an_untouched_job_has_not_drifted_by_default(fleet: Fleet) -> None:
    """It is applied, and waits to run."""
    replay = await replay_it(fleet, is_compatible=False)
    told = told_of(is_compatible=False)
    [binding] = replay.seen["hub"].of(told.title("ResourceBinding", f"-{ONE}-*"))
    same(binding.says, told.binding_round(steps.UNAVAILABLE), "the binding")
    [found] = replay.seen["hub"].of(told.title("ResourcePlacement"))
    wanted = told.cluster_round(ONE, steps.UNAVAILABLE)
    same(found.clusters[ONE], wanted, "the placement")
    end = told.top(steps.SOME_UNAVAILABLE)
    same(found.says, [Maybe(told.top(steps.SCHEDULING)), *told.top_round()[:-1], end], "all of it")
