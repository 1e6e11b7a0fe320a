"""What a Service is, told from its spec; used by its rules, its preparation and its addresses."""

from collections.abc import Mapping
from typing import Any

Object = Mapping[str, Any]

NONE = "None"
EXTERNAL_TYPES = ("LoadBalancer", "NodePort")


def spec_of(service: Object) -> Object:
    return service.get("spec") or {}


def type_of(service: Object) -> str:
    return str(spec_of(service).get("type", ""))


def is_headless(service: Object) -> bool:
    return (spec_of(service).get("clusterIPs") or []) == [NONE]


def needs_address(service: Object) -> bool:
    return type_of(service) != "ExternalName"


def needs_node_port(service: Object) -> bool:
    return type_of(service) in EXTERNAL_TYPES


def needs_health_check(service: Object) -> bool:
    spec = spec_of(service)
    return type_of(service) == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def is_reached_from_outside(service: Object) -> bool:
    is_local = type_of(service) == "ClusterIP" and bool(spec_of(service).get("externalIPs"))
    return type_of(service) in EXTERNAL_TYPES or is_local


def ports_of(service: Object) -> list[dict[str, Any]]:
    return spec_of(service).get("ports") or []
