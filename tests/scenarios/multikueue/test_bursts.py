"""Many jobs at once: of the first each state is shown; of the others fewer writes tell the same."""

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.base.leisure import AT_ONCE
from fleetqueue.multikueue import kinds
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet

JOBS = AT_ONCE + 5
FIRST, LAST = "job-j-0-*", f"job-j-{JOBS - 1}-*"


@pytest.mark.rule("FLOW-4", "FLOW-34", "FLOW-38", "FLOW-52", "DISP-10", "FLOW-65")
async def test_a_burst_is_dispatched_with_fewer_writes(fleet: Fleet) -> None:
    async with await dispatch.start(fleet, "mk1") as world:
        for number in range(JOBS):
            job = golden.job(f"j-{number}", dispatch.QUEUE, "10m", "mk1", runs="3")
            await world.manager.client.create(job)
        await world.passes(seconds=40)

    seen = world.manager.seen
    [first], [last] = (seen.stories("Workload", name) for name in (FIRST, LAST))
    assert len(first) > len(last)
    quota, claimed, over, let_go = last[1:]
    state = "admissionChecks[multikueue].state"
    names = {"nominatedClusterNames", "QuotaReserved", "Admitted", state}
    assert names <= set(quota)
    assert claimed["clusterName"] in dispatch.WORKERS
    assert claimed[state] == "Ready"
    assert claimed["Admitted"].startswith("True")
    assert over["Finished"].startswith("True")
    assert let_go == golden.LET_GO

    for number in range(JOBS):
        job = await world.manager.get(JOB, f"j-{number}")
        assert job["status"]["succeeded"] == 1
        assert job["spec"]["suspend"] is False
    workloads = await world.manager.workloads()
    assert [status.is_finished(each) for each in workloads] == [True] * JOBS
    for worker in world.workers.values():
        for kind in (kinds.WORKLOAD, JOB):
            assert (await worker.client.list(kind, "mk1")).items == []
    for reason in ("QuotaReserved", "MultiKueue", "Admitted"):
        about = {each[0] for each in seen.events() if each[2] == reason}
        assert len(about) == JOBS, reason
