"""Services: how they are completed, and what a change of their type takes away."""

from collections.abc import Callable
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver.builtin.making import kind, part, text
from fleetqueue.apiserver.builtin.objectmeta import NameCheck
from fleetqueue.apiserver.builtin.service_facts import (
    is_headless,
    is_reached_from_outside,
    needs_address,
    needs_health_check,
    needs_node_port,
    ports_of,
    type_of,
)
from fleetqueue.apiserver.builtin.service_rules import (
    validate_load_balancer_status,
    validate_service,
)
from fleetqueue.apiserver.strategy import Object, Strategy

AFFINITY_SECONDS = 10800


def default_service(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    _default_affinity(spec)
    if not spec.get("type"):
        spec["type"] = "ClusterIP"
    for port in ports_of(obj):
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if is_reached_from_outside(obj) and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if spec["type"] != "ExternalName" and spec.get("internalTrafficPolicy") is None:
        spec["internalTrafficPolicy"] = "Cluster"
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in part(obj, "status", "loadBalancer").get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def prepare_service(obj: Object) -> None:
    obj["status"] = {"loadBalancer": {}}


def _as_read(obj: Object) -> None:
    if type_of(obj) == "ExternalName":
        obj["spec"].pop("internalTrafficPolicy", None)


def prepare_service_update(obj: Object, old: Object) -> None:
    """Drop what belonged to the old type and was only carried along."""
    spec, before = obj["spec"], old["spec"]
    if needs_address(old) and not needs_address(obj):
        if _same(spec, before, "clusterIP") and _same(spec, before, "clusterIPs"):
            _drop(spec, "clusterIP", "clusterIPs")
        _drop_if_same(spec, before, "ipFamilies", "ipFamilyPolicy")
    if needs_node_port(old) and not needs_node_port(obj) and _node_ports(obj) <= _node_ports(old):
        for port in ports_of(obj):
            port.pop("nodePort", None)
    rules: tuple[tuple[Callable[[Any], bool], str], ...] = (
        (needs_health_check, "healthCheckNodePort"),
        (lambda service: type_of(service) == "LoadBalancer", "allocateLoadBalancerNodePorts"),
        (lambda service: type_of(service) == "LoadBalancer", "loadBalancerClass"),
        (is_reached_from_outside, "externalTrafficPolicy"),
    )
    for holds, name in rules:
        if holds(old) and not holds(obj):
            _drop_if_same(spec, before, name)
    if type_of(obj) != "LoadBalancer":
        obj["status"] = {**part(obj, "status"), "loadBalancer": {}}


def warn_of_service(obj: Object, old: Object | None) -> list[str]:
    spec, found = obj["spec"], []
    if "service.kubernetes.io/topology-aware-hints" in (obj["metadata"].get("annotations") or {}):
        found.append(
            "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
            "service.kubernetes.io/topology-mode instead"
        )
    if is_headless(obj):
        ignored = 'is ignored when spec.clusterIP is "None"'
        if spec.get("loadBalancerIP"):
            found.append(f"spec.loadBalancerIP {ignored}")
        if spec.get("externalIPs"):
            found.append(f"spec.externalIPs {ignored}")
        if spec.get("sessionAffinity") != "None":
            found.append(f"spec.SessionAffinity {ignored}")
    return found


def _default_affinity(spec: Object) -> None:
    affinity = spec.get("sessionAffinity") or "None"
    spec["sessionAffinity"] = affinity
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    seconds = part(spec, "sessionAffinityConfig", "clientIP").get("timeoutSeconds")
    if affinity == "ClientIP" and seconds is None:
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}


def _node_ports(obj: Object) -> set[int]:
    return {port["nodePort"] for port in ports_of(obj) if port.get("nodePort")}


def _same(spec: Object, before: Object, name: str) -> bool:
    return bool(spec.get(name) == before.get(name))


def _drop(spec: Object, *dropped: str) -> None:
    for name in dropped:
        spec.pop(name, None)


def _drop_if_same(spec: Object, before: Object, *dropped: str) -> None:
    _drop(spec, *(name for name in dropped if _same(spec, before, name)))


def _is_service_name(name: str, is_prefix: bool) -> list[str]:
    if is_prefix and len(name) > 1 and name.endswith("-"):
        name = f"{name[:-2]}a"
    return names.dns1035_label(name)


_NAME: NameCheck = _is_service_name

STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "Service"): kind(
        validate_service,
        default=default_service,
        prepare_create=prepare_service,
        as_read=_as_read,
        prepare_update=prepare_service_update,
        validate_status=validate_load_balancer_status,
        validate_name=_NAME,
        warnings=warn_of_service,
        fields={"spec.clusterIP": text("spec", "clusterIP"), "spec.type": text("spec", "type")},
        allow_create_on_update=True,
        returns_deleted=True,
    ),
}
