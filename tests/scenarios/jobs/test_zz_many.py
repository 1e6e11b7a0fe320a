from fleetqueue.testing import Fleet, job
from tests.support import job_sets, queued
from tests.support.queued import QUEUE
import pytest
@pytest.fixture
async def fleet():
    async with Fleet() as made: yield made
async def test_x(fleet):
    here = await queued.start(fleet, groups=[job_sets.GROUP])
    made = job_sets.job_set(*(job_sets.replicated(f"r{n}") for n in range(19)))
    made = {**made, "metadata": {"name": made["metadata"]["name"], "namespace": "default", "labels": QUEUE}}
    m = await here.create(made)
    print(m["spec"]["suspend"], await here.workloads())
    print(await here.events("JobSet"))
    await here.create(job("fine", labels=QUEUE))
    print([w["metadata"]["name"] for w in await here.workloads()])
    assert 0
