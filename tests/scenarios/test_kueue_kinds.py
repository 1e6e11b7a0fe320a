"""Kueue's kinds on our server: defaults, rules, both versions, and typed reads."""

from functools import cache

import pytest

from fleetqueue.api.crds import all_crds
from fleetqueue.api.kueue.v1beta2 import ClusterQueue
from fleetqueue.kube.errors import Invalid
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.testing import Fleet, FleetCluster, named

NEW = Resource("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False)
OLD = Resource("kueue.x-k8s.io", "v1beta1", "clusterqueues", "ClusterQueue", namespaced=False)


@cache
def definitions() -> list[Object]:
    wanted = ("ClusterQueue", "LocalQueue")
    found = all_crds("kueue.x-k8s.io")
    return [crd for crd in found if crd["spec"]["names"]["kind"] in wanted]


async def with_kueue(fleet: Fleet) -> FleetCluster:
    cluster = await fleet.add_cluster("manager")
    for crd in definitions():
        await cluster.client.create(crd)
    await fleet.settle()
    return cluster


def quota(**more: object) -> Object:
    cpu = {"name": "cpu", "nominalQuota": "9", **more}
    flavor = {"name": "default", "resources": [cpu]}
    return {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]}


def queue(name: str, version: str = "v1beta2", **spec: object) -> Object:
    return named("ClusterQueue", f"kueue.x-k8s.io/{version}", name, spec=spec)


async def test_a_queue_gets_the_defaults_of_its_schema() -> None:
    async with Fleet() as fleet:
        cluster = await with_kueue(fleet)
        made = await cluster.client.create(queue("a", **quota()))
        assert made["spec"]["queueingStrategy"] == "BestEffortFIFO"
        assert made["spec"]["stopPolicy"] == "None"
        assert made["spec"]["preemption"]["withinClusterQueue"] == "Never"


async def test_a_queue_is_read_as_a_typed_object() -> None:
    async with Fleet() as fleet:
        cluster = await with_kueue(fleet)
        await cluster.client.create(queue("a", cohortName="lab", **quota()))
        found = await cluster.client.get(ClusterQueue, "a")
        assert found.spec.cohort_name == "lab"
        assert found.spec.resource_groups[0].flavors[0].name == "default"


async def test_what_is_written_in_the_old_version_is_read_in_the_new_and_back() -> None:
    async with Fleet() as fleet:
        cluster = await with_kueue(fleet)
        await cluster.client.create(queue("a", "v1beta1", cohort="lab", **quota()))
        new = await cluster.client.get(NEW, "a")
        assert new["spec"]["cohortName"] == "lab"
        assert "cohort" not in new["spec"]
        old = await cluster.client.get(OLD, "a")
        assert old["spec"]["cohort"] == "lab"


async def test_a_patch_in_the_old_version_keeps_the_object_whole() -> None:
    async with Fleet() as fleet:
        cluster = await with_kueue(fleet)
        await cluster.client.create(queue("a", cohortName="lab", **quota()))
        await cluster.client.patch(OLD, "a", {"spec": {"cohort": "other"}})
        new = await cluster.client.get(NEW, "a")
        assert new["spec"]["cohortName"] == "other"
        assert new["spec"]["resourceGroups"][0]["coveredResources"] == ["cpu"]


CASES = {
    "borrowing without a cohort": (
        queue("a", **quota(borrowingLimit="1")),
        "borrowingLimit must be nil when cohort is empty",
    ),
    "an unknown strategy": (
        queue("a", queueingStrategy="Random", **quota()),
        'Unsupported value: "Random": supported values: "StrictFIFO", "BestEffortFIFO"',
    ),
    "a flavor without the covered resource": (
        queue(
            "a",
            resourceGroups=[
                {
                    "coveredResources": ["cpu", "memory"],
                    "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "1"}]}],
                }
            ],
        ),
        "flavors must have the same number of resources as the coveredResources",
    ),
}


@pytest.mark.parametrize(("obj", "message"), CASES.values(), ids=CASES.keys())
async def test_the_schema_refuses(obj: Object, message: str) -> None:
    async with Fleet() as fleet:
        cluster = await with_kueue(fleet)
        with pytest.raises(Invalid) as refusal:
            await cluster.client.create(obj)
        assert message in str(refusal.value)


async def test_the_queue_of_a_local_queue_never_changes() -> None:
    async with Fleet() as fleet:
        cluster = await with_kueue(fleet)
        local = Resource("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue")
        spec = {"clusterQueue": "a"}
        await cluster.client.create(
            named("LocalQueue", local.api_version, "q", "default", spec=spec)
        )
        with pytest.raises(Invalid, match="field is immutable"):
            await cluster.client.patch(
                local, "q", {"spec": {"clusterQueue": "b"}}, namespace="default"
            )
