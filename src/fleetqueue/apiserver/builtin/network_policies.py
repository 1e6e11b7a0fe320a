"""NetworkPolicies, and the addresses and ranges that services get theirs from."""

import ipaddress
from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.addresses import validate_network, validate_port_or_name
from fleetqueue.apiserver.builtin.checks import IMMUTABLE, Errors, one_of, same, wrongs
from fleetqueue.apiserver.builtin.making import keep_metadata, kind, part
from fleetqueue.apiserver.builtin.selectors import validate_label_selector
from fleetqueue.apiserver.strategy import Object, Strategy

GROUP = "networking.k8s.io"
TYPES = ("Ingress", "Egress")
PROTOCOLS = ("TCP", "UDP", "SCTP")
SAME_FAMILY = (
    "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
)
_SIDES = (("ingress", "from"), ("egress", "to"))


def default_policy(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    for side, _ in _SIDES:
        for rule in spec.get(side) or ():
            for port in rule.get("ports") or ():
                port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def validate_policy(obj: Object, old: Object | None) -> Errors:
    spec = part(obj, "spec")
    errors = validate_label_selector(spec.get("podSelector"), "spec.podSelector")
    for side, peers in _SIDES:
        for index, rule in enumerate(spec.get(side) or ()):
            errors += _validate_rule(rule, peers, f"spec.{side}[{index}]")
    types = spec.get("policyTypes") or []
    if len(types) > len(TYPES):
        why = "may not specify more than two policyTypes"
        return [*errors, fields.wrong("spec.policyTypes", types, why)]
    for index, of in enumerate(types):
        errors += one_of(of, TYPES, f"spec.policyTypes[{index}]")
    return errors


def _validate_rule(rule: Mapping[str, Any], peers: str, path: str) -> Errors:
    errors: Errors = []
    for index, port in enumerate(rule.get("ports") or ()):
        errors += _validate_port(port, f"{path}.ports[{index}]")
    for index, peer in enumerate(rule.get(peers) or ()):
        errors += _validate_peer(peer, f"{path}.{peers}[{index}]")
    return errors


def _validate_port(port: Mapping[str, Any], path: str) -> Errors:
    errors = one_of(port.get("protocol"), PROTOCOLS, f"{path}.protocol")
    first, last = port.get("port"), port.get("endPort")
    if first is not None:
        found = validate_port_or_name(first, f"{path}.port")
        errors += found if isinstance(first, int) else []
    else:
        found = []
    if last is not None:
        if first is None:
            why = "may not be specified when `port` is not specified"
            errors.append(fields.wrong(f"{path}.endPort", last, why))
        elif isinstance(first, str):
            why = "may not be specified when `port` is non-numeric"
            errors.append(fields.wrong(f"{path}.endPort", last, why))
        else:
            if last < first:
                why = "must be greater than or equal to `port`"
                errors.append(fields.wrong(f"{path}.endPort", first, why))
            errors += wrongs(f"{path}.endPort", last, names.port_number(last))
    return errors + (found if isinstance(first, str) else [])


def _validate_peer(peer: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    present = [
        n for n in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(n) is not None
    ]
    for name in present:
        if name == "ipBlock":
            errors += _validate_block(peer[name], f"{path}.{name}")
        else:
            errors += validate_label_selector(peer[name], f"{path}.{name}")
    if not present:
        errors.append(fields.required(path, "must specify a peer"))
    elif len(present) > 1 and "ipBlock" in present:
        why = "may not specify both ipBlock and another peer"
        errors.append(fields.forbidden(path, why))
    return errors


def _validate_block(block: Mapping[str, Any], path: str) -> Errors:
    outer = block.get("cidr", "")
    if not outer:
        return [fields.required(f"{path}.cidr")]
    if errors := validate_network(outer, f"{path}.cidr"):
        return errors
    network = ipaddress.ip_network(outer, strict=False)
    errors = []
    for index, inner in enumerate(block.get("except") or ()):
        at = f"{path}.except[{index}]"
        if found := validate_network(inner, at):
            errors += found
            continue
        other = ipaddress.ip_network(inner, strict=False)
        is_inside = network.version == other.version and other.network_address in network
        if not is_inside or network.prefixlen >= other.prefixlen:
            errors.append(fields.wrong(at, inner, "must be a strict subset of `cidr`"))
    return errors


def validate_ip_address(obj: Object, old: Object | None) -> Errors:
    reference, path = part(obj, "spec").get("parentRef"), "spec.parentRef"
    if old is not None:
        if same(reference, part(old, "spec").get("parentRef")):
            return []
        shown = reference and {
            name.capitalize(): reference.get(name, "")
            for name in ("group", "resource", "namespace", "name")
        }
        return [fields.wrong(path, shown, IMMUTABLE)]
    if reference is None:
        return [fields.required(path)]
    errors: Errors = []
    if group := reference.get("group"):
        errors += wrongs(f"{path}.group", group, names.dns1123_subdomain(group))
    for name in ("resource", "name", "namespace"):
        if value := reference.get(name):
            errors += wrongs(f"{path}.{name}", value, names.path_segment(value))
        elif name != "namespace":
            errors.append(fields.required(f"{path}.{name}"))
    return errors


def _is_address(name: str, is_prefix: bool) -> list[str]:
    return names.strict_ip_address(name)


def validate_range(obj: Object, old: Object | None) -> Errors:
    networks, path = part(obj, "spec").get("cidrs") or [], "spec.cidrs"
    if old is None:
        return _validate_networks(obj, networks, path)
    before = part(old, "spec").get("cidrs") or []
    if len(networks) == len(before) or (len(before) == 1 and len(networks) == 2):
        errors = [
            fields.wrong(f"{path}[{index}]", new, IMMUTABLE)
            for index, (new, was) in enumerate(zip(networks, before, strict=False))
            if new != was
        ]
        if len(networks) != len(before):
            errors += _validate_networks(obj, networks, path)
        return errors
    return [fields.wrong(path, networks, IMMUTABLE)]


def _validate_networks(obj: Object, networks: list[str], path: str) -> Errors:
    if not networks:
        return [fields.required(path, "at least one CIDR required")]
    if len(networks) > 2:
        shown = {"CIDRs": networks}
        return [fields.wrong(path, shown, "may only hold up to 2 values")]
    errors: Errors = []
    for index, network in enumerate(networks):
        errors += _validate_strict_network(network, f"{path}[{index}]")
    if not errors and len(networks) == 2:
        versions = {ipaddress.ip_network(network).version for network in networks}
        if len(versions) == 1:
            errors.append(fields.wrong(path, networks, SAME_FAMILY))
    return errors


def _validate_strict_network(network: str, path: str) -> Errors:
    if errors := validate_network(network, path):
        return errors
    exact = ipaddress.ip_network(network, strict=False)
    if str(exact) == network:
        return []
    address = network.rpartition("/")[0]
    if names.parse_ip(address) != exact.network_address:
        why = "must not have bits set beyond the prefix length"
        return [fields.wrong(path, network, why)]
    return [fields.wrong(path, network, f'must be in canonical form ("{exact}")')]


STRATEGIES: dict[tuple[str, str], Strategy] = {
    (GROUP, "NetworkPolicy"): kind(
        validate_policy, default=default_policy, has_status=False, has_generation=True
    ),
    (GROUP, "IPAddress"): kind(
        validate_ip_address,
        validate_name=_is_address,
        has_status=False,
    ),
    (GROUP, "ServiceCIDR"): kind(validate_range, prepare_status=keep_metadata),
}
