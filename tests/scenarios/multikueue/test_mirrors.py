"""Mirrors of every kind between two API servers; the test is scheduler and dispatcher."""

from dataclasses import replace

import pytest
from tests.support import queued, train_jobs
from tests.support.queued import QUEUE, Queued, conditions
from tests.support.queued_kinds import EXAMPLES, Example

from fleetqueue.api.patches import create_merge_patch
from fleetqueue.base import paths
from fleetqueue.embedded.job_blueprints import BLUEPRINTS
from fleetqueue.jobs.resources import CLUSTER_QUEUE, RESOURCE_FLAVOR
from fleetqueue.kube.resources import Object, version_of
from fleetqueue.multikueue import copies
from fleetqueue.multikueue.adapter import Copying
from fleetqueue.multikueue.adapters.registry import adapters, handed_over
from fleetqueue.multikueue.kinds import CONTROLLER
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.testing import Fleet, named

SETTINGS = DispatchSettings(jobs=replace(queued.EVERYTHING, blueprints=BLUEPRINTS))
ADAPTERS = {each.framework: each for each in adapters(SETTINGS).values()}
STARTED = {"startTime": "2026-01-01T00:00:00Z"}


async def cluster(fleet: Fleet, example: Example, name: str) -> Queued:
    group = example.kind.resource.group
    groups = [] if group == "batch" else [group]
    here = await queued.start(fleet, SETTINGS.jobs, groups=groups, name=name)
    pool = {"pool": f"nodes-of-{name}"}
    await here.client.patch(RESOURCE_FLAVOR, "default", {"spec": {"nodeLabels": pool}})
    if group == train_jobs.GROUP:
        await here.create(train_jobs.runtime())
    return here


async def manager(fleet: Fleet, example: Example) -> Queued:
    here = await cluster(fleet, example, "manager")
    check = {"controllerName": CONTROLLER}
    await here.create(named("AdmissionCheck", queued.KUEUE, "mk", spec=check))
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": "mk"}]}}
    await here.client.patch(CLUSTER_QUEUE, "cq", {"spec": strategy})
    await fleet.settle()
    return here


async def tell(here: Queued, example: Example, job: Object, status: Object) -> Object:
    """As statuses are copied."""
    name, before = str(job["metadata"]["name"]), job.get("status") or {}
    change = create_merge_patch(before, status)
    patch = {"metadata": {"resourceVersion": version_of(job)}, "status": change}
    await here.patch(example.kind.resource, name, patch, "status")
    return await here.read(example.kind.resource, name)


@pytest.mark.rule("FLOW-42", "FLOW-46", "MB-1", "IMP-16", "KIND-5", "S001-4", "S003-17", "IMP-8")
@pytest.mark.parametrize("example", EXAMPLES, ids=[each.framework for each in EXAMPLES])
async def test_a_job_is_sent_and_its_status_comes_back(fleet: Fleet, example: Example) -> None:
    kind, adapter = example.kind, ADAPTERS[example.framework]
    here, there = await manager(fleet, example), await cluster(fleet, example, "worker")
    made = await here.create(example.job(QUEUE))
    name = str(made["metadata"]["name"])
    assert handed_over(adapter, made) is None
    workload = await here.workload()

    copy = await there.create(copies.make(workload, SETTINGS))
    assert copies.compare(workload, copy, SETTINGS) == copies.Same()
    await there.admit(copy)
    await here.admit()
    local = await here.read(kind.resource, name)
    assert paths.get(local, kind.suspend) is False

    await there.create(adapter.mirror(local, workload, SETTINGS))
    mirror = await there.read(kind.resource, name)
    assert paths.get(mirror, kind.suspend) is False
    assert paths.get(mirror, kind.managed_by) in (None, kind.own_name)
    assert "nodes-of-manager" in str(local)
    assert "nodes-of-worker" in str(mirror)
    assert "nodes-of-manager" not in str(mirror)
    copy = await there.workload()
    assert copy["metadata"]["ownerReferences"][0]["uid"] == mirror["metadata"]["uid"]
    assert "Finished" not in conditions(copy)
    assert next(iter(adapter.wakes(mirror, SETTINGS))).name == workload["metadata"]["name"]

    running = {**example.running, **(STARTED if kind.resource.group == "batch" else {})}
    mirror = await tell(there, example, mirror, running)
    copied = adapter.copy(Copying(workload, local, mirror, SETTINGS))
    assert copied.status is not None
    local = await tell(here, example, local, copied.status)
    assert local["status"] == mirror["status"]
    assert adapter.copy(Copying(workload, local, mirror, SETTINGS)) == type(copied)()

    idle = adapter.reset(local)
    assert idle is not None
    local = await tell(here, example, local, idle)
    assert adapter.reset(local) is None
