"""What tests of scheduling have in common: a cluster with one flavor, and questions to it."""

from typing import Any

from tests.support.kueue import Kueue, flavor

from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet


async def start(fleet: Fleet, *objects: Object, **more: Any) -> Kueue:
    """With the flavor "default" and whatever else is there from the beginning."""
    kueue = await Kueue.start(fleet, **more)
    await kueue.create(flavor(), *objects)
    return kueue


def with_checks(*names: str, **on_flavors: list[str]) -> Object:
    rules: list[Object] = [{"name": name} for name in names]
    rules += [{"name": name, "onFlavors": wanted} for name, wanted in on_flavors.items()]
    return {"admissionChecksStrategy": {"admissionChecks": rules}}


def elsewhere(obj: Object, space: str) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "namespace": space}}


def two_flavors(one: str, two: str) -> dict[str, Any]:
    return {"one": {"cpu": one}, "two": {"cpu": two}}


async def flavor_of(kueue: Kueue, name: str) -> str:
    found = await kueue.workload(name)
    [assigned] = found["status"]["admission"]["podSetAssignments"]
    return str(assigned["flavors"]["cpu"])


async def reason(kueue: Kueue, name: str) -> str:
    """Why it has no quota."""
    status, found, _ = (await kueue.conditions(name)).get("QuotaReserved", ("False", "", ""))
    assert status == "False"
    return found
