"""A cluster whose queue asks an autoscaler for capacity; the test answers in its place."""

from collections.abc import Mapping
from typing import Any

from tests.support.kueue import API, NAMESPACE, Kueue

from fleetqueue import testing
from fleetqueue.api.kueue import gates
from fleetqueue.api.times import format_time
from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.resources import Object
from fleetqueue.provisioning import controller, settings
from fleetqueue.provisioning.kinds import CONTROLLER, POD_TEMPLATE, REQUEST
from fleetqueue.testing import Fleet, named

DEFINITION = testing.crd("autoscaling.x-k8s.io", "ProvisioningRequest")
CHECK = "prov"


class Provisioned(Kueue):
    """What is asked, and what comes of it."""

    @classmethod
    async def open(
        cls, fleet: Fleet, *objects: Object, wanted_gates: Mapping[str, bool] | None = None
    ) -> "Provisioned":
        made = await cls.start(fleet, wanted_gates=wanted_gates)
        assert isinstance(made, cls)
        await made.create(DEFINITION)
        known = settings.read_settings(gates.resolve(wanted_gates or {}))
        for operator in controller.operators(known):
            fleet.run(controller_of(operator), on=made.cluster)
        await made.create(*objects)
        return made

    async def requests(self) -> list[str]:
        found = (await self.client.list(REQUEST, NAMESPACE)).items
        return sorted(str(each["metadata"]["name"]) for each in found)

    async def templates(self) -> dict[str, Object]:
        found = (await self.client.list(POD_TEMPLATE, NAMESPACE)).items
        return {str(each["metadata"]["name"]): dict(each) for each in found}

    async def answer(
        self, request: str, type: str, message: str = "", *, holds: bool = True, **status: Any
    ) -> None:
        """The autoscaler says something of a request, beside what it said before."""
        at = format_time(self.fleet.clock.now())
        said = {"type": type, "status": str(holds), "reason": type, "message": message}
        before = (await self.get(REQUEST, request)).get("status") or {}
        kept = [each for each in before.get("conditions") or () if each["type"] != type]
        conditions = [*kept, {**said, "lastTransitionTime": at}]
        patch = {"status": {"conditions": conditions, **status}}
        await self.patch(REQUEST, request, patch, "status")

    async def state(self, name: str, check: str = CHECK) -> tuple[str, str]:
        """Of a check of a workload, with its message."""
        found = (await self.said(name))[check]
        return found["state"], found["message"]

    async def said(self, name: str) -> dict[str, Object]:
        status = (await self.workload(name))["status"]
        return {each["name"]: each for each in status.get("admissionChecks") or ()}

    async def passes(self, **span: float) -> None:
        await self.fleet.passes(**span)
        await self.fleet.settle()


def config(name: str = "config", **spec: Any) -> Object:
    body = {"provisioningClassName": "queued.example.com", **spec}
    return named("ProvisioningRequestConfig", API, name, spec=body)


def check(name: str = CHECK, config: str = "config") -> Object:
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": config}
    spec = {"controllerName": CONTROLLER, "parameters": parameters}
    return named("AdmissionCheck", API, name, spec=spec)


def checked(*names: str, on_flavors: list[str] | None = None) -> Object:
    """For the ClusterQueue."""
    more = {} if on_flavors is None else {"onFlavors": on_flavors}
    return {
        "admissionChecksStrategy": {
            "admissionChecks": [{"name": each, **more} for each in names or (CHECK,)]
        }
    }
