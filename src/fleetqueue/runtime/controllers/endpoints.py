"""The Endpoints object of a Service, for clients that do not read slices."""

from collections.abc import Iterable

from fleetqueue.api.meta import Key
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Follow, Operator, by_name, nobody
from fleetqueue.kube.plan import Create, Delete, Look, Patch, Plan
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.controllers import service_pods
from fleetqueue.runtime.kinds import ENDPOINTS, POD, SERVICE
from fleetqueue.runtime.references import reference

NAME = "endpoint-controller"
MANAGED_LABEL = "endpoints.kubernetes.io/managed-by"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
ADDRESSES_MAX = 1000


def decide(look: Look) -> Plan:
    service = look.parent
    if not service_pods.is_served(service) or is_deleting(service):
        return Plan()
    packed, is_cut = _cut(subsets(look))
    labels = {**(service["metadata"].get("labels") or {}), MANAGED_LABEL: NAME}
    labels.pop(service_pods.HEADLESS_LABEL, None)
    if service_pods.is_headless(service):
        labels[service_pods.HEADLESS_LABEL] = ""
    annotations = {OVER_CAPACITY: "truncated" if is_cut else None}
    there = look.find(ENDPOINTS, look.name)
    if there is None:
        metadata: Object = {"name": look.name, "labels": labels}
        if is_cut:
            metadata["annotations"] = annotations
        return Plan([Create({**_KIND, "metadata": metadata, "subsets": packed})])
    present = there["metadata"].get("labels") or {}
    gone = {key: None for key in present if key not in labels}
    is_told = (there["metadata"].get("annotations") or {}).get(OVER_CAPACITY) == "truncated"
    if (there.get("subsets") or []) == packed and present == labels and is_told == is_cut:
        return Plan()
    metadata = {"labels": {**labels, **gone}, "annotations": annotations}
    return Plan([Patch(there, {"metadata": metadata, "subsets": packed})])


def decide_leftover(look: Look) -> Plan:
    """Ours go with their Service."""
    is_ours = (look.parent["metadata"].get("labels") or {}).get(MANAGED_LABEL) == NAME
    if is_ours and look.find(SERVICE, look.name) is None:
        return Plan([Delete(look.parent)])
    return Plan()


def subsets(look: Look) -> list[Object]:
    """Addresses that share all their ports share a subset."""
    service = look.parent
    publishes = bool(service["spec"].get("publishNotReadyAddresses"))
    family = (service["spec"].get("ipFamilies") or ["IPv4"])[0]
    by_port: dict[str, tuple[Object | None, list[tuple[bool, Object]]]] = {}
    for pod in service_pods.selected(look):
        address = service_pods.address(pod, family)
        if not address or (is_deleting(pod) and not publishes):
            continue
        one = publishes or pod_facts.is_ready(pod), _address(service, pod, address)
        for port in _ports(service, pod):
            by_port.setdefault(repr(port), (port, []))[1].append(one)
    return _packed(by_port.values())


def _packed(
    groups: Iterable[tuple[Object | None, list[tuple[bool, Object]]]],
) -> list[Object]:
    merged: dict[str, tuple[list[Object], list[tuple[bool, Object]]]] = {}
    for port, ones in groups:
        ones = sorted(ones, key=lambda one: (one[1]["ip"], one[1]["targetRef"]["uid"]))
        ports = merged.setdefault(repr(ones), ([], ones))[0]
        if port is not None:
            ports.append(port)
    made = []
    for ports, ones in merged.values():
        told = {
            "addresses": [address for is_ready, address in ones if is_ready],
            "notReadyAddresses": [address for is_ready, address in ones if not is_ready],
            "ports": ports,
        }
        made.append({key: value for key, value in told.items() if value})
    return made


def _ports(service: Object, pod: Object) -> list[Object | None]:
    """None stands for a headless Service that names no port at all."""
    given = service["spec"].get("ports") or ()
    if not given:
        return [None] if service["spec"].get("clusterIP") == "None" else []
    made: list[Object | None] = []
    for port in given:
        number = service_pods.target_port(pod, port)
        if number is None:
            continue
        told = {
            "name": port.get("name"),
            "port": number,
            "protocol": port.get("protocol", "TCP"),
            "appProtocol": port.get("appProtocol"),
        }
        made.append({key: value for key, value in told.items() if value})
    return made


def _address(service: Object, pod: Object, address: str) -> Object:
    made: Object = {"ip": address, "targetRef": reference(POD, pod)}
    if pod_facts.node_name(pod):
        made["nodeName"] = pod_facts.node_name(pod)
    host = service_pods.host_name(pod, service)
    return {**made, "hostname": host} if host else made


def _cut(packed: list[Object]) -> tuple[list[Object], bool]:
    """No more than a thousand addresses, the ready ones first."""
    room, is_cut = ADDRESSES_MAX, False
    made = [dict(each) for each in packed]
    for name in ("addresses", "notReadyAddresses"):
        for each in made:
            found = each.get(name) or []
            if len(found) > room:
                is_cut = True
                each[name] = found[:room]
                if not room:
                    del each[name]
            room -= min(len(found), room)
    return [each for each in made if "addresses" in each or "notReadyAddresses" in each], is_cut


def _namesake(obj: Object) -> Iterable[Key]:
    metadata = obj["metadata"]
    return [Key(metadata["namespace"], metadata["name"])]


_KIND = {"apiVersion": ENDPOINTS.api_version, "kind": ENDPOINTS.kind}
OPERATOR = Operator(
    NAME,
    SERVICE,
    decide,
    reads=(by_name(ENDPOINTS, _namesake),),
    follows=(Follow(POD, service_pods.services_of, service_pods.matters),),
    manager="kube-controller-manager",
    rest=service_pods.rest,
)
LEFTOVERS = Operator(
    NAME,
    ENDPOINTS,
    decide_leftover,
    reads=(by_name(SERVICE, _namesake), nobody(POD)),
    manager="kube-controller-manager",
)
OPERATORS = (OPERATOR, LEFTOVERS)
