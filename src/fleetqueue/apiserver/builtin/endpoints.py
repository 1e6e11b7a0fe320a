"""Endpoints and EndpointSlices."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.addresses import (
    PROTOCOLS,
    is_ipv6,
    validate_address,
    validate_endpoint_address,
)
from fleetqueue.apiserver.builtin.checks import Errors, immutable, required_one_of, same, wrongs
from fleetqueue.apiserver.builtin.making import kind
from fleetqueue.apiserver.builtin.selectors import validate_labels
from fleetqueue.apiserver.strategy import Object, Strategy

DISCOVERY = "discovery.k8s.io"
ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
ENDPOINTS_MAX = 1000
ADDRESSES_MAX = 100
PORTS_MAX = 20000
HINTS_MAX = 8
TOPOLOGY_MAX = 16


def default_endpoints(obj: Object) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            if not port.get("protocol"):
                port["protocol"] = "TCP"


def validate_endpoints(obj: Object, old: Object | None) -> Errors:
    errors: Errors = []
    for index, subset in enumerate(obj.get("subsets") or ()):
        errors += _validate_subset(subset, f"subsets[{index}]")
    if errors and old is not None and same(obj.get("subsets"), old.get("subsets")):
        return []
    return errors


def _validate_subset(subset: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        errors.append(fields.required(path, "must specify `addresses` or `notReadyAddresses`"))
    for name in ("addresses", "notReadyAddresses"):
        for index, address in enumerate(subset.get(name) or ()):
            errors += _validate_address(address, f"{path}.{name}[{index}]")
    ports = subset.get("ports") or []
    for index, port in enumerate(ports):
        at, name = f"{path}.ports[{index}]", port.get("name", "")
        if not name and len(ports) > 1:
            errors.append(fields.required(f"{at}.name"))
        elif name:
            errors += wrongs(f"{at}.name", name, names.dns1123_label(name))
        number = port.get("port", 0)
        errors += wrongs(f"{at}.port", number, names.port_number(number))
        errors += required_one_of(port.get("protocol"), PROTOCOLS, f"{at}.protocol")
        errors += _validate_protocol_name(port, at)
    return errors


def _validate_address(address: Mapping[str, Any], path: str) -> Errors:
    text = address.get("ip", "")
    errors = validate_address(text, f"{path}.ip")
    if host := address.get("hostname"):
        errors += wrongs(f"{path}.hostname", host, names.dns1123_label(host))
    if (node := address.get("nodeName")) is not None:
        errors += wrongs(f"{path}.nodeName", node, names.dns1123_subdomain(node))
    return errors + validate_endpoint_address(text, f"{path}.ip")


def _validate_protocol_name(port: Mapping[str, Any], path: str) -> Errors:
    name = port.get("appProtocol")
    return [] if name is None else wrongs(f"{path}.appProtocol", name, names.qualified_name(name))


def default_slice(obj: Object) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def validate_slice(obj: Object, old: Object | None) -> Errors:
    of = obj.get("addressType", "")
    errors = required_one_of(of, ADDRESS_TYPES, "addressType")
    errors += _validate_slice_ports(obj.get("ports") or [])
    found = _validate_slice_endpoints(obj.get("endpoints") or [], of)
    if old is None or not same(obj.get("endpoints"), old.get("endpoints")):
        errors += found
    if old is not None:
        errors += immutable(of, old.get("addressType", ""), "addressType")
    return errors


def _validate_slice_ports(ports: list[Mapping[str, Any]]) -> Errors:
    if len(ports) > PORTS_MAX:
        return [fields.too_many("ports", len(ports), PORTS_MAX)]
    errors: Errors = []
    taken: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"ports[{index}]", port.get("name", "")
        if name:
            errors += wrongs(f"{path}.name", name, names.dns1123_label(name))
        if name in taken:
            errors.append(fields.duplicate(f"{path}.name", name))
        taken.add(name)
        errors += required_one_of(port.get("protocol"), PROTOCOLS, f"{path}.protocol")
        errors += _validate_protocol_name(port, path)
    return errors


def _validate_slice_endpoints(endpoints: list[Mapping[str, Any]], of: str) -> Errors:
    if len(endpoints) > ENDPOINTS_MAX:
        return [fields.too_many("endpoints", len(endpoints), ENDPOINTS_MAX)]
    errors: Errors = []
    for index, endpoint in enumerate(endpoints):
        path = f"endpoints[{index}]"
        errors += _validate_slice_addresses(
            endpoint.get("addresses") or [], of, f"{path}.addresses"
        )
        if (node := endpoint.get("nodeName")) is not None:
            errors += wrongs(f"{path}.nodeName", node, names.dns1123_subdomain(node))
        topology = endpoint.get("deprecatedTopology") or {}
        if len(topology) > TOPOLOGY_MAX:
            at = f"{path}.deprecatedTopology"
            errors.append(fields.too_many(at, len(topology), TOPOLOGY_MAX))
        errors += validate_labels(topology, f"{path}.deprecatedTopology")
        if (host := endpoint.get("hostname")) is not None:
            errors += wrongs(f"{path}.hostname", host, names.dns1123_label(host))
        errors += _validate_hints(endpoint.get("hints") or {}, f"{path}.hints")
    return errors


def _validate_slice_addresses(addresses: list[str], of: str, path: str) -> Errors:
    errors: Errors = []
    if not addresses:
        errors.append(fields.required(path, "must contain at least 1 address"))
    elif len(addresses) > ADDRESSES_MAX:
        errors.append(fields.too_many(path, len(addresses), ADDRESSES_MAX))
    for index, address in enumerate(addresses):
        at = f"{path}[{index}]"
        if of == "FQDN":
            errors += _validate_host(address, at)
        elif of in ("IPv4", "IPv6"):
            errors += _validate_ip(address, of, path, at)
    return errors


def _validate_ip(address: str, of: str, path: str, at: str) -> Errors:
    check = names.ip_address if of == "IPv4" else names.strict_ip_address
    if errors := wrongs(at, address, check(address)):
        return errors
    if is_ipv6(address) != (of == "IPv6"):
        errors.append(fields.wrong(path, address, f"must be an {of} address"))
    return errors + validate_endpoint_address(address, at)


def _validate_host(host: str, path: str) -> Errors:
    if not host:
        return [fields.required(path)]
    host = host.removesuffix(".")
    if errors := wrongs(path, host, names.dns1123_subdomain(host)):
        return errors
    if "." not in host:
        return [
            fields.wrong(
                path, host, "should be a domain with at least two segments separated by dots"
            )
        ]
    errors = []
    for label in host.split("."):
        errors += wrongs(path, label, names.dns1123_label(label))
    return errors


def _validate_hints(hints: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    checks = (("forZones", names.label_value), ("forNodes", names.dns1123_subdomain))
    for kind_name, check in checks:
        listed = hints.get(kind_name) or []
        if len(listed) > HINTS_MAX:
            return [*errors, fields.too_many(f"{path}.{kind_name}", len(listed), HINTS_MAX)]
        taken: set[str] = set()
        for index, hint in enumerate(listed):
            at, name = f"{path}.{kind_name}[{index}].name", hint.get("name", "")
            if name in taken:
                errors.append(fields.duplicate(at, name))
            taken.add(name)
            errors += wrongs(at, name, check(name))
    return errors


def _note_labels(obj: Object, old: Object) -> None:
    """Labels say which Service a slice belongs to, so they count for its generation."""
    if (obj["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {}):
        obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _warn_of_slice(obj: Object, old: Object | None) -> list[str]:
    if old is None and obj.get("addressType") == "FQDN":
        return ["addressType: FQDN endpoints are deprecated"]
    return []


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "Endpoints"): kind(
        validate_endpoints,
        default=default_endpoints,
        has_status=False,
        allow_create_on_update=True,
    ),
    (DISCOVERY, "EndpointSlice"): kind(
        validate_slice,
        default=default_slice,
        prepare_update=_note_labels,
        warnings=_warn_of_slice,
        has_status=False,
        has_generation=True,
    ),
}
