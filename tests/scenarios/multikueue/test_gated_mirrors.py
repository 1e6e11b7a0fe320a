"""Mirrors of pods, and of what is made of pods, between two API servers whose queues really admit;
the test is dispatcher and kubelet.
"""

from typing import Any

import pytest
from tests.support import apps, kueue, leader_workers
from tests.support.queued_pods import FRAMEWORKS, K, QueuedPods, gates_of, member, pod, start

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.patches import create_merge_patch
from fleetqueue.jobs.resources import ADMISSION_CHECK, CLUSTER_QUEUE, DEPLOYMENT, POD
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.frame import Caches
from fleetqueue.kube.resources import Object, version_of
from fleetqueue.multikueue import copies
from fleetqueue.multikueue.adapter import Adapter, Copying
from fleetqueue.multikueue.adapters.registry import adapter_for, adapters
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.runtime.controllers import deployment, replica_set, stateful_set
from fleetqueue.runtime.operators import leader_worker_set
from fleetqueue.testing import Fleet

SETTINGS = DispatchSettings(jobs=JobSettings(frameworks=frozenset(FRAMEWORKS)))
ADAPTERS = adapters(SETTINGS)
LWS = "leaderworkerset.x-k8s.io"
OPERATORS = [
    deployment.OPERATOR,
    replica_set.OPERATOR,
    stateful_set.OPERATOR,
    leader_worker_set.OPERATOR,
]


async def clusters(fleet: Fleet) -> tuple[QueuedPods, QueuedPods]:
    """A manager and a worker."""
    made = [
        await start(
            fleet,
            "8",
            operators=OPERATORS,
            others=leader_worker_set.WEBHOOKS,
            groups=[LWS],
            name=name,
        )
        for name in ("manager", "worker")
    ]
    here, there = made
    await here.create(kueue.admission_check("mk", f"{K}/multikueue"))
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": "mk"}]}}
    await here.client.patch(CLUSTER_QUEUE, "queue", {"spec": strategy})
    at = fleet.clock.now().isoformat().replace("+00:00", "Z")
    active = {"type": "Active", "status": "True", "reason": "Active", "message": "ready"}
    told = {"status": {"conditions": [{**active, "lastTransitionTime": at}]}}
    await here.client.patch(ADMISSION_CHECK, "mk", told, subresource="status")
    await fleet.settle()
    return here, there


async def send(here: QueuedPods, there: QueuedPods) -> list[tuple[Adapter, Object, Object]]:
    """Every workload that holds quota goes to the worker, which admits it, and its mirrors follow:
    the adapter, the workload and the local object of each.
    """
    sent: list[tuple[Adapter, Object, Object]] = []
    for workload in await here.workloads():
        assert status_of.has_quota(workload)
        await there.create(copies.make(workload, SETTINGS))
        found = adapter_for(workload, ADAPTERS)
        assert isinstance(found, Adapter)
        source = Caches(here.manager.cluster)
        sent += [(found, workload, job) for job in found.jobs(workload, source, SETTINGS)]
    made = set()
    for adapter, workload, job in sent:
        if job["metadata"]["uid"] not in made:
            await there.create(adapter.mirror(job, workload, SETTINGS))
            made.add(job["metadata"]["uid"])
    for workload in await here.workloads():
        now = here.fleet.clock.now()
        check = copies.check_state(status_of.checks_of(workload)[0], "Ready", "there", now)
        await here.write(status_of.changed(workload, admissionChecks=[check]))
    await here.fleet.passes(seconds=2)
    await here.fleet.settle()
    return sent


async def gated(here: QueuedPods) -> list[bool]:
    return [bool(gates_of(each)) for each in await here.pods()]


async def copy_back(here: QueuedPods, there: QueuedPods, sent: Any) -> None:
    for adapter, workload, job in sent:
        name = job["metadata"]["name"]
        local, mirror = await here.read(POD, name), await there.read(POD, name)
        made = adapter.copy(Copying(workload, local, mirror, SETTINGS)).status
        if made is not None:
            change = create_merge_patch(local["status"], made)
            version = {"resourceVersion": version_of(local)}
            await here.patch(POD, name, {"metadata": version, "status": change}, "status")


@pytest.mark.rule("POD-1", "POD-2", "POD-3", "POD-5", "FLOW-45")
@pytest.mark.parametrize("names", [["alone"], ["a", "b"]])
async def test_pods_run_there_and_are_seen_here(fleet: Fleet, names: list[str]) -> None:
    here, there = await clusters(fleet)
    for name in names:
        is_group = len(names) > 1
        await here.create(member(name, len(names)) if is_group else pod(name))
    sent = await send(here, there)
    assert [job["metadata"]["name"] for _, _, job in sent] == names
    assert await gated(here) == [True] * len(names)
    assert await gated(there) == [False] * len(names)
    labels = (await there.pod(names[0]))["metadata"]["labels"]
    assert labels[f"{K}/multikueue-worker-workload-pod"] == "true"

    for phase in ("Running", "Succeeded"):
        await there.run(*names, phase=phase)
        await copy_back(here, there, sent)
        found = [await here.pod(name) for name in names]
        assert [each["status"]["phase"] for each in found] == [phase] * len(names)
        assert all(gates_of(each) for each in found)
    [workload] = await here.workloads()
    assert status_of.is_finished(workload)
    assert [status_of.is_finished(each) for each in await there.workloads()] == [True]


def serving(kind: str, replicas: int) -> Object:
    made = apps.workload(kind, replicas=replicas)
    made["metadata"]["labels"] = {f"{K}/queue-name": "main"}
    requests = {"requests": {"cpu": "1"}}
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = requests
    return made


@pytest.mark.rule("DEP-1", "DEP-2")
async def test_the_pods_of_a_deployment_run_there_one_by_one(fleet: Fleet) -> None:
    here, there = await clusters(fleet)
    await here.create(serving("Deployment", 2))
    sent = await send(here, there)
    assert len(sent) == 2
    assert await gated(here) == [True, True]
    assert await gated(there) == [False, False]
    await there.run(*(each["metadata"]["name"] for each in await there.pods()))
    await copy_back(here, there, sent)
    assert (await here.read(DEPLOYMENT, "web"))["status"]["readyReplicas"] == 2


@pytest.mark.rule("STS-2", "STS-3", "NAME-6")
async def test_a_stateful_set_runs_there_and_waits_here(fleet: Fleet) -> None:
    here, there = await clusters(fleet)
    await here.create(serving("StatefulSet", 2))
    await here.fleet.passes(seconds=2)
    await send(here, there)
    for _ in range(2):
        await there.run(*(each["metadata"]["name"] for each in await there.pods()))
        await there.fleet.passes(seconds=2)
        await there.fleet.settle()
    assert await gated(there) == [False, False]
    assert all(await gated(here))
    [local], [copy] = await here.workloads(), await there.workloads()
    assert local["metadata"]["name"] == copy["metadata"]["name"]


@pytest.mark.rule("LWS-1", "LWS-5", "LWS-6", "NAME-6")
async def test_a_leader_worker_set_runs_there_and_waits_here(fleet: Fleet) -> None:
    here, there = await clusters(fleet)
    whole = leader_workers.lws(replicas=2, size=2)
    whole["metadata"]["labels"] = {f"{K}/queue-name": "main"}
    await here.create(whole)
    await here.fleet.passes(seconds=2)
    assert len(await here.workloads()) == 2
    await send(here, there)
    for _ in range(3):
        free = [each for each in await there.pods() if not gates_of(each)]
        await there.run(*(each["metadata"]["name"] for each in free))
        await there.fleet.passes(seconds=2)
        await there.fleet.settle()
    assert await gated(there) == [False] * 4
    assert all(await gated(here))
    assert len(await there.workloads()) == 2
