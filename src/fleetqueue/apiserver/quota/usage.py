"""Decides what one object counts for: what it uses, and in which scopes it is."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import quantity
from fleetqueue.api.quantity import Quantity
from fleetqueue.apiserver.builtin.pod_affinity import PREFERRED, REQUIRED
from fleetqueue.apiserver.builtin.pod_resources import (
    Amounts,
    quality_of_service,
    read,
    total,
)
from fleetqueue.apiserver.builtin.resource_names import is_extended, is_huge_pages

Object = Mapping[str, Any]

CLASS_SUFFIX = ".storageclass.storage.k8s.io/"
DEVICE_SUFFIX = ".deviceclass.resource.k8s.io/devices"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
POD_COMPUTE = frozenset(
    f"{kind}{name}"
    for kind in ("", "requests.", "limits.")
    for name in ("cpu", "memory", "ephemeral-storage")
)
MUST_BE_SAID = frozenset(
    f"{kind}{name}" for kind in ("", "requests.", "limits.") for name in ("cpu", "memory")
)
"""A pod under a quota for these has to say what it needs of them."""
LEGACY_COUNTS = frozenset(
    {
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
    }
)
IGNORED = frozenset({"events"})
"""Nobody's quota counts these."""
_ONE = Quantity(1)
_POD_SCOPES = frozenset(
    {
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "PriorityClass",
        "CrossNamespacePodAffinity",
    }
)


def count_name(table: str) -> str:
    """Tables are named as object counts are: `jobs.batch`, `pods`."""
    return f"count/{table}"


def usage_of(table: str, obj: Object) -> Amounts:
    """What the object uses, whatever quotas there are."""
    used: Amounts = {count_name(table): _ONE}
    if table == "pods":
        if _counts(obj):
            used |= pod_usage(obj["spec"])
        return used
    if table in LEGACY_COUNTS:
        used[table] = _ONE
    if table == "services":
        used |= _service_usage(obj)
    elif table == "persistentvolumeclaims":
        used |= _claim_usage(obj)
    elif table == "resourceclaims.resource.k8s.io":
        used |= _device_usage(obj)
    return used


def concerns(table: str, resource: str) -> bool:
    """Whether objects of the table can use the resource at all."""
    if table in IGNORED:
        return False
    if resource == count_name(table):
        return True
    if table == "pods":
        is_asked = resource.startswith("requests.") and "/" in resource
        is_paged = is_huge_pages(resource.removeprefix("requests."))
        return resource == "pods" or resource in POD_COMPUTE or is_asked or is_paged
    if table == "services":
        return resource in ("services", "services.nodeports", "services.loadbalancers")
    if table == "persistentvolumeclaims":
        return resource in (table, "requests.storage") or CLASS_SUFFIX in resource
    if table == "resourceclaims.resource.k8s.io":
        return resource.endswith(DEVICE_SUFFIX)
    return table in LEGACY_COUNTS and resource == table


def pod_usage(spec: Object) -> Amounts:
    requests, limits = (_pod_total(spec, kind) for kind in ("requests", "limits"))
    return {"pods": _ONE, **compute_usage(requests, limits)}


def compute_usage(requests: Amounts, limits: Amounts) -> Amounts:
    used: Amounts = {}
    for name, amount in requests.items():
        if name in POD_COMPUTE or is_huge_pages(name):
            used[name] = used[f"requests.{name}"] = amount
        elif is_extended(name):
            used[f"requests.{name}"] = amount
    for name, amount in limits.items():
        if name in POD_COMPUTE:
            used[f"limits.{name}"] = amount
    return used


def unsaid(spec: Object, required: set[str]) -> str:
    """What the containers of a pod leave out that a quota requires; empty: nothing."""
    if (spec.get("resources") or {}).get("requests") or (spec.get("resources") or {}).get("limits"):
        return ""
    missing: dict[str, set[str]] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        said = compute_usage(read(resources.get("requests")), read(resources.get("limits")))
        for name in required - said.keys():
            missing.setdefault(name, set()).add(container.get("name", ""))
    parts = [f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing)]
    return f"must specify {'; '.join(parts)}" if parts else ""


def is_in_scope(table: str, obj: Object, scope: str, operator: str, values: list[str]) -> bool:
    if table == "pods" and scope in _POD_SCOPES:
        return _pod_is_in_scope(obj["spec"], scope, operator, values)
    if table == "persistentvolumeclaims" and scope == "VolumeAttributesClass":
        status = (obj.get("status") or {}).get("currentVolumeAttributesClassName")
        named = {obj["spec"].get("volumeAttributesClassName"), status} - {None, ""}
        return _matches(named, operator, values)
    return False


def _pod_is_in_scope(spec: Object, scope: str, operator: str, values: list[str]) -> bool:
    match scope:
        case "Terminating":
            return is_terminating(spec)
        case "NotTerminating":
            return not is_terminating(spec)
        case "BestEffort":
            return quality_of_service(spec) == "BestEffort"
        case "NotBestEffort":
            return quality_of_service(spec) != "BestEffort"
        case "PriorityClass":
            name = spec.get("priorityClassName")
            return _matches({name} if name else set(), operator, values)
        case _:
            return _crosses_namespaces(spec)


def _crosses_namespaces(spec: Object) -> bool:
    """Its affinity looks at pods of other namespaces."""
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        content = affinity.get(kind) or {}
        terms = [*(content.get(REQUIRED) or ())]
        terms += [w.get("podAffinityTerm") or {} for w in content.get(PREFERRED) or ()]
        if any(t.get("namespaces") or t.get("namespaceSelector") is not None for t in terms):
            return True
    return False


def is_terminating(spec: Object) -> bool:
    """It will end by itself: it has a deadline."""
    deadline = spec.get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def _matches(named: set[Any], operator: str, values: list[str]) -> bool:
    match operator:
        case "In":
            return bool(named & set(values))
        case "NotIn":
            return not named & set(values)
        case "DoesNotExist":
            return not named
        case _:
            return bool(named)


def _counts(pod: Object) -> bool:
    """A pod that is over uses nothing but its place."""
    return (pod.get("status") or {}).get("phase") not in ("Failed", "Succeeded")


def _pod_total(spec: Object, kind: str) -> Amounts:
    amounts = total(spec, kind)
    own = read((spec.get("resources") or {}).get(kind))
    amounts |= own
    for name, extra in read(spec.get("overhead")).items():
        if kind == "requests" or name in amounts:
            amounts[name] = amounts[name] + extra if name in amounts else extra
    return amounts


def _service_usage(obj: Object) -> Amounts:
    spec = obj.get("spec") or {}
    ports, of = spec.get("ports") or [], spec.get("type")
    node_ports = 0
    if of == "NodePort" or (
        of == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False
    ):
        node_ports = len(ports)
    elif of == "LoadBalancer":
        node_ports = sum(1 for port in ports if port.get("nodePort"))
    return {
        "services.nodeports": Quantity(node_ports),
        "services.loadbalancers": Quantity(int(of == "LoadBalancer")),
    }


def _claim_usage(obj: Object) -> Amounts:
    spec, used = obj.get("spec") or {}, Amounts()
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    name = annotations.get(CLASS_ANNOTATION) or spec.get("storageClassName")
    asked = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if asked is not None:
        amount = quantity.parse(asked)
        given = ((obj.get("status") or {}).get("allocatedResources") or {}).get("storage")
        used["requests.storage"] = max(amount, quantity.parse(given)) if given else amount
    if name:
        used[f"{name}{CLASS_SUFFIX}persistentvolumeclaims"] = _ONE
        if asked is not None:
            used[f"{name}{CLASS_SUFFIX}requests.storage"] = used["requests.storage"]
    return used


def _device_usage(obj: Object) -> Amounts:
    used: Amounts = {}
    requests = ((obj.get("spec") or {}).get("devices") or {}).get("requests") or ()
    for request in requests:
        exact = [request["exactly"]] if request.get("exactly") else []
        for one in (*exact, *(request.get("firstAvailable") or ())):
            name = f"{one.get('deviceClassName', '')}{DEVICE_SUFFIX}"
            used[name] = used.get(name, Quantity()) + Quantity(one.get("count") or 1)
    return used
