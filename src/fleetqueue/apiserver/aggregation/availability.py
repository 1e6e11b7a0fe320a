"""Whether an API server beside this one can be asked, as its APIService says it; pure."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from fleetqueue.apiserver.aggregation.services import AVAILABLE, RemoteService

Object = dict[str, Any]


class Verdict(NamedTuple):
    """What the condition says."""

    is_available: bool
    reason: str
    message: str


PASSED = Verdict(True, "Passed", "all checks passed")
LOCAL = Verdict(True, "Local", "Local APIServices are always available")


def look(asked: RemoteService, service: Object | None, slices: Sequence[Object]) -> Verdict | None:
    """What speaks against it before anybody is called; None: nothing does."""
    where = f'service/{asked.service} in "{asked.namespace}"'
    if service is None:
        return Verdict(False, "ServiceNotFound", f"{where} is not present")
    spec = service.get("spec") or {}
    if spec.get("type", "ClusterIP") != "ClusterIP":
        return None
    port = next((p for p in spec.get("ports") or () if p["port"] == asked.port), None)
    if port is None:
        why = f"{where} is not listening on port {asked.port}"
        return Verdict(False, "ServicePortError", why)
    if not slices:
        return Verdict(False, "EndpointsNotFound", f"cannot find endpointslices for {where}")
    name = port.get("name") or ""
    if not any(_is_ready(each, name) for each in slices):
        why = f'endpointslices for {where} have no addresses with port name "{name}"'
        return Verdict(False, "MissingEndpoints", why)
    return None


def failed_call(url: str, why: str) -> Verdict:
    text = f'failing or missing response from {url}: Get "{url}": {why}'
    return Verdict(False, "FailedDiscoveryCheck", text)


def bad_status(url: str, status: int) -> Verdict:
    text = f"failing or missing response from {url}: bad status from {url}: {status}"
    return Verdict(False, "FailedDiscoveryCheck", text)


def unresolved(why: str) -> Verdict:
    return Verdict(False, "FailedDiscoveryCheck", why)


def set_condition(obj: Object, verdict: Verdict, now: str) -> None:
    conditions = obj.setdefault("status", {}).setdefault("conditions", [])
    known = next((c for c in conditions if c["type"] == AVAILABLE), None)
    if known is None:
        known = {"type": AVAILABLE}
        conditions.append(known)
    status = "True" if verdict.is_available else "False"
    if known.get("status") != status:
        known |= {"status": status, "lastTransitionTime": now}
    known |= {"reason": verdict.reason, "message": verdict.message}


def _is_ready(part: Object, port_name: str) -> bool:
    has_port = any(
        (port.get("name") or "") == port_name and port.get("port") is not None
        for port in part.get("ports") or ()
    )
    return has_port and any(
        (endpoint.get("conditions") or {}).get("ready") is not False
        for endpoint in part.get("endpoints") or ()
    )
