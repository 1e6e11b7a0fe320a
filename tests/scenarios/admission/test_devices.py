"""Devices that pods claim are counted by quota, or keep a workload out of its queue."""

from typing import Any

import pytest

from fleetqueue.admission import kinds
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet
from support.kueue import Kueue, cluster_queue, flavor, local_queue, pod_set, workload

pytestmark = [pytest.mark.rule("kueue 10.3"), pytest.mark.rule("kueue 6.7")]

MAPPINGS = """
resources:
  deviceClassMappings:
  - {name: example.com/gpus, deviceClassNames: [gpu.example.com, mig.example.com]}
"""
GROUP = "resource.k8s.io/v1"


def template(name: str, device_class: str = "gpu.example.com", count: int = 1) -> Object:
    request = {"name": "r", "exactly": {"deviceClassName": device_class, "count": count}}
    return {
        "apiVersion": GROUP,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }


def device_class(name: str, extended: str) -> Object:
    spec = {"extendedResourceName": extended}
    return {"apiVersion": GROUP, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def claiming(name: str, count: int = 1, **claim: str) -> Object:
    pod = {"resourceClaims": [{"name": "device", **claim}]}
    return workload(name, sets=[pod_set(count=count, pod=pod, cpu="1")])


async def start(
    fleet: Fleet, config: str = MAPPINGS, gates: dict[str, bool] | None = None
) -> Kueue:
    kueue = await Kueue.start(fleet, wanted_gates=gates, config=config)
    quota = {"default": {"cpu": "100", "example.com/gpus": "4"}}
    await kueue.create(flavor(), cluster_queue("queue", quota), local_queue())
    return kueue


async def refusal(kueue: Kueue, name: str) -> tuple[Any, Any]:
    told = await kueue.conditions(name)
    assert told["Admitted"] == ("False", "NoReservation", "The workload has no reservation")
    return told["QuotaReserved"], told["Requeued"]


async def test_claimed_devices_take_quota(fleet: Fleet) -> None:
    kueue = await start(fleet)
    await kueue.create(template("pair", count=2))
    await kueue.create(claiming("first", count=2, resourceClaimTemplateName="pair"))
    await kueue.create(claiming("second", resourceClaimTemplateName="pair"))

    (assigned,) = (await kueue.workload("first"))["status"]["admission"]["podSetAssignments"]
    assert assigned["resourceUsage"] == {"cpu": "2", "example.com/gpus": "4"}
    assert assigned["flavors"] == {"cpu": "default", "example.com/gpus": "default"}
    assert (await kueue.conditions("second"))["QuotaReserved"] == (
        "False",
        "WaitingForQuota",
        "couldn't assign flavors to pod set main: "
        "insufficient unused quota for example.com/gpus in flavor default, 2 more needed",
    )

    await kueue.finish("first")

    assert await kueue.admitted() == ["second"]


async def test_claims_by_name_are_refused(fleet: Fleet) -> None:
    kueue = await start(fleet)

    await kueue.create(claiming("fixed", resourceClaimName="mine"))

    text = "KueueDRAIntegration feature does not support use of resource claims"
    assert await refusal(kueue, "fixed") == (
        ("False", "Misconfigured", text),
        ("False", "Inadmissible", "DRA resource claims not supported"),
    )
    assert (await kueue.queue())["status"]["pendingWorkloads"] == 0


async def test_a_class_that_is_not_mapped_is_refused(fleet: Fleet) -> None:
    kueue = await start(fleet)
    await kueue.create(template("odd", "odd.example.com"))

    await kueue.create(claiming("odd", resourceClaimTemplateName="odd"))

    text = (
        "spec.podSets[0].template.spec.resourceClaims[0].devices.requests[0].exactly."
        'deviceClassName: Invalid value: "odd.example.com": '
        "is not mapped by resources.deviceClassMappings"
    )
    assert await refusal(kueue, "odd") == (
        ("False", "Misconfigured", text),
        ("False", "Inadmissible", text),
    )


@pytest.mark.rule("kueue 3.14")
async def test_a_template_that_comes_later_is_seen(fleet: Fleet) -> None:
    kueue = await start(fleet)
    await kueue.create(claiming("early", resourceClaimTemplateName="one"))
    reserved, _ = await refusal(kueue, "early")
    assert reserved[2].endswith('.resourceClaimTemplateName: Not found: "one"')

    await kueue.create(template("one"))

    assert await kueue.admitted() == ["early"]
    assert "Requeued" not in await kueue.conditions("early")


async def test_other_workloads_are_not_disturbed(fleet: Fleet) -> None:
    kueue = await start(fleet)

    await kueue.create(claiming("bad", resourceClaimName="mine"), workload("good"))

    assert await kueue.admitted() == ["good"]


async def test_a_refused_workload_can_still_be_deactivated(fleet: Fleet) -> None:
    kueue = await start(fleet)
    await kueue.create(claiming("bad", resourceClaimName="mine"))

    await kueue.patch(kinds.WORKLOAD, "bad", {"spec": {"active": False}})

    told = await kueue.conditions("bad")
    assert told["QuotaReserved"][1] == "Deactivated"
    assert told["Evicted"][:2] == ("True", "Deactivated")


async def test_without_mappings_claims_are_refused(fleet: Fleet) -> None:
    kueue = await Kueue.start(fleet)
    await kueue.create(flavor(), cluster_queue(), local_queue())

    await kueue.create(claiming("job", resourceClaimTemplateName="one"))

    reserved, _ = await refusal(kueue, "job")
    assert reserved[2].endswith("no device class is mapped by resources.deviceClassMappings")


@pytest.mark.parametrize(
    "claim", [{"resourceClaimName": "mine"}, {"resourceClaimTemplateName": "one"}]
)
async def test_without_the_integration_they_are_refused(
    fleet: Fleet, claim: dict[str, str]
) -> None:
    kueue = await start(fleet, gates={"KueueDRAIntegration": False})

    await kueue.create(claiming("job", **claim))

    text = "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled"
    assert await refusal(kueue, "job") == (
        ("False", "Misconfigured", text),
        ("False", "Inadmissible", text),
    )


async def test_or_overlooked(fleet: Fleet) -> None:
    gates = {"KueueDRAIntegration": False, "KueueDRARejectWorkloadsWhenDRADisabled": False}
    kueue = await start(fleet, gates=gates)

    await kueue.create(claiming("job", resourceClaimName="mine"))

    assert await kueue.admitted() == ["job"]


async def test_extended_resources_of_a_class_count_as_its_devices(fleet: Fleet) -> None:
    kueue = await start(fleet)
    asking = workload("job", sets=[pod_set(**{"cpu": "1", "example.com/gpu": "3"})])
    await kueue.create(asking)
    assert (await kueue.conditions("job"))["QuotaReserved"][2] == (
        "couldn't assign flavors to pod set main: "
        "resource example.com/gpu unavailable in ClusterQueue"
    )

    await kueue.create(device_class("gpu.example.com", "example.com/gpu"))
    await fleet.passes(seconds=1)

    (assigned,) = (await kueue.workload("job"))["status"]["admission"]["podSetAssignments"]
    assert assigned["resourceUsage"] == {"cpu": "1", "example.com/gpus": "3"}
