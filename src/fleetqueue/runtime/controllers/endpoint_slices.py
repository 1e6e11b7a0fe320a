"""EndpointSlices of Services: the addresses and ports behind each, a hundred to a slice."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fleetqueue.api.meta import Key
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import Create, Delete, Look, Patch, Plan, Step, child
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kube.sources import Source
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.controllers import service_pods
from fleetqueue.runtime.kinds import ENDPOINT_SLICE, NODE, POD, SERVICE
from fleetqueue.runtime.references import reference
from fleetqueue.runtime.templates import name_prefix

SLICE_MAX = 100
MANAGER = "endpointslice-controller.k8s.io"
SERVICE_LABEL = "kubernetes.io/service-name"
MANAGED_LABEL = "endpointslice.kubernetes.io/managed-by"
ZONE_LABEL = "topology.kubernetes.io/zone"
_OURS = (SERVICE_LABEL, MANAGED_LABEL, service_pods.HEADLESS_LABEL)
Ports: TypeAlias = tuple[tuple[Any, ...], ...]


@dataclass(slots=True)
class Changes:
    """Slices as they should be, by what becomes of them."""

    created: list[Object] = field(default_factory=list)
    changed: dict[str, tuple[Object, Object]] = field(default_factory=dict)
    """By name: as it is, and as it should be."""
    deleted: list[Object] = field(default_factory=list)


def decide(look: Look) -> Plan:
    service = look.parent
    if not service_pods.is_served(service):
        return Plan()
    ours = {SERVICE_LABEL: look.name, MANAGED_LABEL: MANAGER}
    existing = look.selected(ENDPOINT_SLICE, {"matchLabels": ours})
    families = service["spec"].get("ipFamilies") or ["IPv4"]
    plan = Plan()
    for family in families:
        there = [each for each in existing if each["addressType"] == family]
        plan.add(*_steps(look, _changes(look, family, there)))
    strange = [each for each in existing if each["addressType"] not in families]
    plan.add(*(Delete(each) for each in strange))
    return plan


def endpoint(look: Look, pod: Object, address: str) -> Object:
    """What a slice says of one pod."""
    is_serving, is_ending = pod_facts.is_ready(pod), is_deleting(pod)
    publishes = bool(look.parent["spec"].get("publishNotReadyAddresses"))
    made: Object = {
        "addresses": [address],
        "conditions": {
            "ready": publishes or (is_serving and not is_ending),
            "serving": is_serving,
            "terminating": is_ending,
        },
        "targetRef": reference(POD, pod),
    }
    node = pod_facts.node_name(pod)
    if node:
        made["nodeName"] = node
        found = look.find(NODE, node)
        zone = "" if found is None else _zone(found)
        if zone:
            made["zone"] = zone
    host = service_pods.host_name(pod, look.parent)
    if host:
        made["hostname"] = host
    return _hinted(made, look.parent["spec"].get("trafficDistribution"))


def pack(existing: Sequence[Object], wanted: dict[str, Object], new: Object) -> Changes:
    """Endpoints of one set of ports into slices, with as few slices touched as can be."""
    changes, left, kept = Changes(), dict(wanted), []
    for each in existing:
        stays = [left.pop(uid) for uid in map(_pod_uid, each["endpoints"] or ()) if uid in left]
        slice = {**each, "endpoints": stays, "metadata": _relabelled(each, new)}
        is_same = stays == (each["endpoints"] or []) and _labels(each) == _labels(slice)
        kept.append((is_same, each, slice))
    # Those that are written anyway take in the rest first; then the one it fits into best.
    for is_same, _, slice in sorted(kept, key=lambda one: -len(one[2]["endpoints"])):
        if not is_same and slice["endpoints"]:
            _fill(slice, left)
    _fill_best([slice for is_same, _, slice in kept if is_same], left)
    for _, each, slice in kept:
        if not slice["endpoints"]:
            changes.deleted.append(each)
        elif slice != each:
            changes.changed[each["metadata"]["name"]] = (each, slice)
    while left:
        slice = {**new, "endpoints": []}
        _fill(slice, left)
        changes.created.append(slice)
    return changes


def _changes(look: Look, family: str, existing: list[Object]) -> Changes:
    groups = _groups(look, family)
    all_changes = Changes()
    mine = [each for each in existing if _is_owned(each, look.uid)]
    all_changes.deleted += [each for each in existing if each not in mine]
    for ports, wanted in groups.items():
        there = [each for each in mine if _port_key(each.get("ports") or ()) == ports]
        one = pack(there, wanted, _new_slice(look.parent, family, ports))
        all_changes.created += one.created
        all_changes.changed |= one.changed
        all_changes.deleted += one.deleted
    all_changes.deleted += [
        each for each in mine if _port_key(each.get("ports") or ()) not in groups
    ]
    if len(existing) == len(all_changes.deleted) and not all_changes.created:
        _hold_the_place(look, family, all_changes)
    _reuse(all_changes, look.uid)
    return all_changes


def _groups(look: Look, family: str) -> dict[Ports, dict[str, Object]]:
    """Endpoints by pod, of each set of ports: named ports may have other numbers in some pods."""
    groups: dict[Ports, dict[str, Object]] = {}
    publishes = look.parent["spec"].get("publishNotReadyAddresses")
    for pod in service_pods.selected(look):
        group = groups.setdefault(_port_key(_ports(look.parent, pod)), {})
        node = pod_facts.node_name(pod)
        address = service_pods.address(pod, family)
        is_known = look.find(NODE, node) is not None
        if address and (is_known or publishes):
            group[pod["metadata"]["uid"]] = endpoint(look, pod, address)
    return groups


def _hold_the_place(look: Look, family: str, changes: Changes) -> None:
    """A Service without endpoints still has a slice, so that clients see that it was looked at."""
    empty = {**_new_slice(look.parent, family, ()), "endpoints": []}
    if len(changes.deleted) == 1 and _is_placeholder(changes.deleted[0], empty):
        changes.deleted.clear()
    else:
        changes.created.append(empty)


def _is_placeholder(slice: Object, empty: Object) -> bool:
    is_empty = not slice.get("endpoints") and not slice.get("ports")
    return is_empty and _labels(slice) == _labels(empty)


def _reuse(changes: Changes, uid: str) -> None:
    """A slice that would go becomes one that would come."""
    for each in list(changes.deleted):
        if changes.created and _is_owned(each, uid):
            made = changes.created.pop()
            metadata = _relabelled(each, made)
            changes.changed[each["metadata"]["name"]] = (
                each,
                {**each, **made, "metadata": metadata},
            )
            changes.deleted.remove(each)


def _steps(look: Look, changes: Changes) -> list[Step]:
    made = [] if is_deleting(look.parent) else changes.created
    steps: list[Step] = [Create(each) for each in made]
    for before, after in changes.changed.values():
        patch: Object = {"endpoints": after["endpoints"], "ports": after.get("ports") or []}
        gone = {key: None for key in _labels(before) if key not in _labels(after)}
        patch["metadata"] = {"labels": {**_labels(after), **gone}}
        steps.append(Patch(before, patch))
    return [*steps, *(Delete(each) for each in changes.deleted)]


def _new_slice(service: Object, family: str, ports: Ports) -> Object:
    given = service["metadata"].get("labels") or {}
    labels = {key: value for key, value in given.items() if key not in _OURS}
    if service_pods.is_headless(service):
        labels[service_pods.HEADLESS_LABEL] = ""
    labels |= {SERVICE_LABEL: service["metadata"]["name"], MANAGED_LABEL: MANAGER}
    metadata = {"generateName": name_prefix(service), "labels": labels}
    told = [{key: value for key, value in each if value is not None} for each in ports]
    return child(ENDPOINT_SLICE, service, metadata, addressType=family, ports=told, endpoints=[])


def _ports(service: Object, pod: Object) -> list[Object]:
    made = []
    for port in service["spec"].get("ports") or ():
        number = service_pods.target_port(pod, port)
        if number is not None:
            made.append(
                {
                    "name": port.get("name") or "",
                    "port": number,
                    "protocol": port.get("protocol", "TCP"),
                    "appProtocol": port.get("appProtocol"),
                }
            )
    return made


def _port_key(ports: Iterable[Object]) -> Ports:
    names = ("name", "port", "protocol", "appProtocol")
    return tuple(tuple((name, each.get(name)) for name in names) for each in ports)


def _fill(slice: Object, left: dict[str, Object]) -> None:
    endpoints = slice["endpoints"]
    while left and len(endpoints) < SLICE_MAX:
        endpoints.append(left.pop(next(iter(left))))


def _fill_best(slices: list[Object], left: dict[str, Object]) -> None:
    """All of the rest into the fullest slice that has room for it."""
    if not left or len(left) >= SLICE_MAX:
        return
    roomy = [each for each in slices if len(each["endpoints"]) + len(left) <= SLICE_MAX]
    if roomy:
        _fill(max(roomy, key=lambda each: len(each["endpoints"])), left)


def _hinted(made: Object, distribution: str | None) -> Object:
    """Traffic that should stay near is told where near is."""
    if distribution not in ("PreferClose", "PreferSameZone", "PreferSameNode"):
        return made
    hints: Object = {}
    if made["conditions"]["ready"] and made.get("zone"):
        hints["forZones"] = [{"name": made["zone"]}]
    is_for_node = distribution == "PreferSameNode" and made["conditions"]["ready"]
    if is_for_node and made.get("nodeName"):
        hints["forNodes"] = [{"name": made["nodeName"]}]
    return {**made, "hints": hints} if hints else made


def _relabelled(slice: Object, new: Object) -> Object:
    return {**slice["metadata"], "labels": new["metadata"]["labels"]}


def _labels(slice: Object) -> dict[str, str]:
    return slice["metadata"].get("labels") or {}


def _pod_uid(made: Object) -> str:
    return str((made.get("targetRef") or {}).get("uid") or "")


def _is_owned(slice: Object, uid: str) -> bool:
    references = slice["metadata"].get("ownerReferences") or ()
    return any(each.get("uid") == uid for each in references)


def _all_services(source: Source, node: Object) -> Iterable[Key]:
    """Pods on a node that is not known are left out until it is."""
    return [key_of(each) for each in source.all(SERVICE, "") if service_pods.is_served(each)]


def _is_new_or_moved(old: Object | None, new: Object | None) -> bool:
    if old is None or new is None:
        return new is not None
    return bool(_zone(old) != _zone(new))


def _zone(node: Object) -> str:
    return str((node["metadata"].get("labels") or {}).get(ZONE_LABEL) or "")


OPERATOR = Operator(
    "endpoint-slice-controller",
    SERVICE,
    decide,
    owns=(ENDPOINT_SLICE,),
    follows=(
        Follow(POD, service_pods.services_of, service_pods.matters),
        Follow(NODE, _all_services, _is_new_or_moved),
    ),
    manager="kube-controller-manager",
    rest=service_pods.rest,
)
