"""Kinds of jobs whose definition comes, goes and comes again while the controllers run."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from fleetqueue import attached, kueue
from fleetqueue.api.crds import all_crds
from fleetqueue.jobs.resources import WORKLOAD
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.frame import Caches
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import CRDS, Object, Resource
from fleetqueue.kube.webhook_rules import Asked
from fleetqueue.metrics.registry import Metrics
from fleetqueue.provisioning.kinds import ADMISSION_CHECK, REQUEST
from fleetqueue.testing import Fleet, FleetCluster
from support import provisioned
from support.kueue import cluster_queue, conditions_of, flavor, local_queue

pytestmark = pytest.mark.rule("kueue 10.1")
JOB_SET = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations:
  frameworks: [batch/job, jobset.x-k8s.io/jobset, pod, trainer.kubeflow.org/trainjob]
  externalFrameworks: [Thing.v1.example.com]
"""


def definition(name: str) -> Object:
    [found] = [crd for crd in all_crds() if crd["metadata"]["name"] == name]
    return found


def job_set(name: str) -> Object:
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    job = {"name": "a", "template": {"spec": {"template": pods}}}
    labels = {"kueue.x-k8s.io/queue-name": "main"}
    return {
        "apiVersion": JOB_SET.api_version,
        "kind": JOB_SET.kind,
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"suspend": True, "replicatedJobs": [job]},
    }


@asynccontextmanager
async def running(fleet: Fleet) -> AsyncIterator[tuple[FleetCluster, Cluster]]:
    """The controllers of a foreign cluster, on one that has Kueue's kinds alone."""
    server = await fleet.add_cluster("one")
    for crd in all_crds("kueue.x-k8s.io"):
        await server.client.create(crd)
    await fleet.settle()
    source = random.Random(1)
    cluster = Cluster(server.connect("controller"), clock=fleet.clock, random=source)
    manager = Manager(cluster, random=source, stop_seconds_max=0.0)
    options = kueue.read_options(CONFIGURATION)
    await attached.install_controllers(manager, options, Metrics(), source)
    task = asyncio.create_task(manager.run())
    await manager.wait_ready()
    try:
        yield server, cluster
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def owners(server: FleetCluster) -> list[str]:
    found = (await server.client.list(WORKLOAD, "default")).items
    return [each["metadata"]["ownerReferences"][0]["name"] for each in found]


async def test_a_kind_that_comes_late_is_queued_and_one_that_goes_is_let_go(fleet: Fleet) -> None:
    async with running(fleet) as (server, cluster):
        for obj in (flavor(), cluster_queue(), local_queue()):
            await server.client.create(obj)
        assert cluster.is_held(JOB_SET)
        assert cluster.problems() == []
        for turn in ("first", "second"):
            await server.client.create(definition("jobsets.jobset.x-k8s.io"))
            await fleet.passes(seconds=5)
            assert not cluster.is_held(JOB_SET)

            await server.client.create(job_set(turn))
            await fleet.passes(seconds=5)
            assert turn in await owners(server)
            started = await server.client.get(JOB_SET, turn, "default")
            assert started["spec"]["suspend"] is False

            await server.client.delete(CRDS, "jobsets.jobset.x-k8s.io")
            await fleet.passes(seconds=60)
            assert cluster.is_held(JOB_SET)
            assert cluster.cached_all(JOB_SET) == []
            assert cluster.problems() == []


@pytest.mark.rule("kueue 12.1")
async def test_the_check_of_an_autoscaler_that_comes_late_works(fleet: Fleet) -> None:
    async with running(fleet) as (server, cluster):
        await server.client.create(provisioned.check())
        await fleet.passes(seconds=5)
        assert cluster.is_held(REQUEST)
        assert "status" not in await server.client.get(ADMISSION_CHECK, provisioned.CHECK)

        await server.client.create(provisioned.DEFINITION)
        await server.client.create(provisioned.config())
        await fleet.passes(seconds=5)
        told = conditions_of(dict(await server.client.get(ADMISSION_CHECK, provisioned.CHECK)))
        assert told["Active"] == ("True", "Active", "The admission check is active")


@pytest.mark.parametrize(
    "owner",
    [
        ("jobset.x-k8s.io/v1alpha2", "JobSet"),
        ("example.com/v1", "Thing"),
        ("apps/v1", "ReplicaSet"),
        ("nobody.example.com/v1", "Unheard"),
    ],
)
async def test_pods_of_owners_whose_kind_is_not_there_are_taken(
    fleet: Fleet, owner: tuple[str, str]
) -> None:
    async with running(fleet) as (_, cluster):
        options = kueue.read_options(CONFIGURATION)
        [pods] = [each for each in kueue.webhooks(options) if each.kind.kind == "Pod"]
        reference = {"apiVersion": owner[0], "kind": owner[1], "name": "x", "uid": "1"}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "p",
                "namespace": "default",
                "labels": {"kueue.x-k8s.io/queue-name": "main"},
                "ownerReferences": [{**reference, "controller": True}],
            },
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        asked = Asked(pod, None, fleet.clock.now(), Caches(cluster))
        assert pods.default is not None
        assert pods.validate is not None
        pods.default(asked)
        assert pods.validate(asked) == []
        assert {"name": "kueue.x-k8s.io/admission"} in pod["spec"]["schedulingGates"]
