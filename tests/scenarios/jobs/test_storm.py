"""Jobs on a server that loses connections, refuses and repeats; and controllers that restart."""

import pytest
from tests.support import queued
from tests.support.queued import JOB, QUEUE, Queued, conditions

from fleetqueue.jobs import controller, registry
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.frame import controller_of
from fleetqueue.runtime.controllers import job as job_controller
from fleetqueue.testing import CALM, STORM, Fleet, job


@pytest.mark.rule("jobs A.4")
@pytest.mark.parametrize("seed", range(4))
async def test_a_job_gets_through_a_storm(seed: int) -> None:
    async with Fleet(seed) as fleet:
        settings = JobSettings(frameworks=frozenset())
        here = await queued.start(fleet, settings, operators=[job_controller.job_operator()])
        kinds = registry.enabled_kinds(JobSettings())
        [operator] = controller.operators(kinds, JobSettings())
        restart = fleet.run(controller_of(operator), on=here.cluster)
        await fleet.settle()
        here.cluster.set_weather(STORM)
        await here.create(job("sample", parallelism=2, labels=QUEUE, spec={"suspend": True}))
        await restart()
        await here.admit(await only(here))
        await here.move("Running")
        await here.evict("Preempted", "make room")
        await restart()
        await fleet.settle()
        await here.end_deleted()
        workload = await only(here)
        assert "admission" not in workload["status"]
        found = await here.read(JOB, "sample")
        assert found["spec"]["suspend"] is True
        labels = found["spec"]["template"]["metadata"]["labels"]
        assert not [key for key in labels if key.startswith("kueue")]

        await here.admit(workload)
        here.cluster.set_weather(CALM)
        await fleet.settle()
        await here.move("Running")
        workload = await only(here)
        assert conditions(workload)["PodsReady"] == ("True", "Started")
        assert len(await here.pods()) == 2


async def only(here: Queued) -> dict[str, object]:
    await here.fleet.settle()
    [found] = await here.workloads()
    return found
