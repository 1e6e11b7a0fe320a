"""The rules for Services: ports, types, traffic policies, load balancers."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.addresses import (
    PROTOCOLS,
    validate_address,
    validate_endpoint_address,
    validate_network,
    validate_port_or_name,
)
from fleetqueue.apiserver.builtin.checks import Errors, one_of, required_one_of, wrongs
from fleetqueue.apiserver.builtin.making import part
from fleetqueue.apiserver.builtin.selectors import validate_labels
from fleetqueue.apiserver.builtin.service_address_rules import (
    validate_address_update,
    validate_addresses,
)
from fleetqueue.apiserver.builtin.service_facts import (
    is_headless,
    is_reached_from_outside,
    needs_health_check,
    needs_node_port,
    ports_of,
    type_of,
)

Object = Mapping[str, Any]

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
AFFINITY_SECONDS_MAX = 86400
ONLY_BALANCED = "may only be used when `type` is 'LoadBalancer'"
HINTS = "service.kubernetes.io/topology-aware-hints"
MODE = "service.kubernetes.io/topology-mode"
SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")


def validate_service(obj: Object, old: Object | None) -> Errors:
    errors: Errors = []
    if old is not None:
        errors += validate_address_update(obj, old)
        errors += _validate_class_update(obj, old)
        errors += _validate_health_update(obj, old)
    errors += _validate_annotations(obj)
    errors += _validate_type(obj)
    errors += _validate_ports(obj)
    errors += validate_labels(obj["spec"].get("selector"), "spec.selector")
    errors += _validate_affinity(obj["spec"])
    errors += validate_addresses(obj)
    errors += _validate_external_addresses(obj["spec"].get("externalIPs") or ())
    errors += required_one_of(obj["spec"].get("type"), TYPES, "spec.type")
    errors += _validate_node_ports(obj)
    errors += _validate_unique_ports(obj)
    errors += _validate_source_ranges(obj, old)
    errors += _validate_balancer(obj)
    errors += _validate_external_policy(obj)
    return errors + _validate_internal_policy(obj)


def validate_load_balancer_status(obj: Object, old: Object) -> Errors:
    path, errors = "status.loadBalancer.ingress", []
    listed = part(obj, "status", "loadBalancer").get("ingress") or []
    if listed and type_of(obj) != "LoadBalancer":
        why = "may only be used when `spec.type` is 'LoadBalancer'"
        return [fields.forbidden(path, why)]
    for index, ingress in enumerate(listed):
        errors += _validate_ingress(ingress, f"{path}[{index}]")
    return errors


def _validate_ingress(ingress: Object, path: str) -> Errors:
    address, mode = ingress.get("ip"), ingress.get("ipMode")
    errors = validate_address(address, f"{path}.ip") if address else []
    if mode is None and address:
        errors.append(fields.required(f"{path}.ipMode", "must be specified when `ip` is set"))
    elif mode is not None and not address:
        why = "may not be specified when `ip` is not set"
        errors.append(fields.forbidden(f"{path}.ipMode", why))
    elif mode is not None:
        errors += one_of(mode, ("Proxy", "VIP"), f"{path}.ipMode")
    if host := ingress.get("hostname"):
        errors += wrongs(f"{path}.hostname", host, names.dns1123_subdomain(host))
        if names.parse_ip(host) is not None:
            why = "must be a DNS name, not an IP address"
            errors.append(fields.wrong(f"{path}.hostname", host, why))
    return errors


def _validate_annotations(obj: Object) -> Errors:
    annotations = obj["metadata"].get("annotations") or {}
    if HINTS in annotations and MODE in annotations and annotations[HINTS] != annotations[MODE]:
        why = f"must match annotations[{HINTS}] when both are specified"
        return [fields.wrong(f"metadata.annotations[{MODE}]", annotations[MODE], why)]
    return []


def _validate_type(obj: Object) -> Errors:
    kind, spec = type_of(obj), obj["spec"]
    errors: Errors = []
    if not ports_of(obj) and not is_headless(obj) and kind != "ExternalName":
        errors.append(fields.required("spec.ports"))
    if kind in ("LoadBalancer", "NodePort") and is_headless(obj):
        why = f"may not be set to 'None' for {kind} services"
        errors.append(fields.wrong("spec.clusterIPs[0]", "None", why))
    if kind == "ExternalName":
        why = "may not be set for ExternalName services"
        errors += [
            fields.forbidden(f"spec.{name}", why)
            for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
            if spec.get(name)
        ]
        host = (spec.get("externalName") or "").removesuffix(".")
        if host:
            errors += wrongs("spec.externalName", host, names.dns1123_subdomain(host))
        else:
            errors.append(fields.required("spec.externalName"))
    return errors


def _validate_ports(obj: Object) -> Errors:
    errors: Errors = []
    taken: set[str] = set()
    ports = ports_of(obj)
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", port.get("name", "")
        if not name and len(ports) > 1:
            errors.append(fields.required(f"{path}.name"))
        elif name:
            errors += wrongs(f"{path}.name", name, names.dns1123_label(name))
            if name in taken:
                errors.append(fields.duplicate(f"{path}.name", name))
            taken.add(name)
        number = port.get("port", 0)
        errors += wrongs(f"{path}.port", number, names.port_number(number))
        errors += required_one_of(port.get("protocol"), PROTOCOLS, f"{path}.protocol")
        errors += validate_port_or_name(port.get("targetPort", 0), f"{path}.targetPort")
        if (protocol := port.get("appProtocol")) is not None:
            errors += wrongs(f"{path}.appProtocol", protocol, names.qualified_name(protocol))
    return errors


def _validate_affinity(spec: Object) -> Errors:
    affinity, path = spec.get("sessionAffinity"), "spec.sessionAffinityConfig"
    errors = required_one_of(affinity, ("ClientIP", "None"), "spec.sessionAffinity")
    if affinity == "ClientIP":
        seconds = part(spec, "sessionAffinityConfig", "clientIP").get("timeoutSeconds", 0)
        if not 0 < seconds <= AFFINITY_SECONDS_MAX:
            why = f"must be greater than 0 and less than {AFFINITY_SECONDS_MAX}"
            errors.append(fields.wrong(f"{path}.clientIP.timeoutSeconds", seconds, why))
    elif affinity == "None" and spec.get("sessionAffinityConfig") is not None:
        why = "must not be set when session affinity is None"
        errors.append(fields.forbidden(path, why))
    return errors


def _validate_external_addresses(listed: Any) -> Errors:
    errors: Errors = []
    for index, address in enumerate(listed):
        path = f"spec.externalIPs[{index}]"
        errors += validate_address(address, path) or validate_endpoint_address(address, path)
    return errors


def _validate_node_ports(obj: Object) -> Errors:
    errors: Errors = []
    taken: set[tuple[str, int]] = set()
    ports = [(index, port) for index, port in enumerate(ports_of(obj)) if port.get("nodePort")]
    if type_of(obj) == "ClusterIP":
        why = "may not be used when `type` is 'ClusterIP'"
        errors += [fields.forbidden(f"spec.ports[{index}].nodePort", why) for index, _ in ports]
    for index, port in ports:
        key = (port.get("protocol", ""), port["nodePort"])
        if key in taken:
            errors.append(fields.duplicate(f"spec.ports[{index}].nodePort", port["nodePort"]))
        taken.add(key)
    return errors


def _validate_unique_ports(obj: Object) -> Errors:
    errors: Errors = []
    taken: set[tuple[str, int]] = set()
    for index, port in enumerate(ports_of(obj)):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in taken:
            shown = {
                "Name": "",
                "Protocol": key[0],
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            errors.append(fields.duplicate(f"spec.ports[{index}]", shown))
        taken.add(key)
    return errors


def _validate_source_ranges(obj: Object, old: Object | None) -> Errors:
    listed = obj["spec"].get("loadBalancerSourceRanges") or []
    is_balanced = type_of(obj) == "LoadBalancer"
    path = "spec.LoadBalancerSourceRanges"
    if listed:
        errors = [] if is_balanced else [fields.forbidden(path, ONLY_BALANCED)]
        for index, network in enumerate(listed):
            errors += validate_network(network.strip(), f"{path}[{index}]")
        return errors
    annotation = (obj["metadata"].get("annotations") or {}).get(SOURCE_RANGES)
    if annotation is None:
        return []
    path = f"metadata.annotations[{SOURCE_RANGES}]"
    errors = [] if is_balanced else [fields.forbidden(path, ONLY_BALANCED)]
    before = (part(old or {}, "metadata", "annotations")).get(SOURCE_RANGES)
    if annotation != before and annotation.strip():
        for network in annotation.split(","):
            errors += validate_network(network.strip(), path)
    return errors


def _validate_balancer(obj: Object) -> Errors:
    spec, is_balanced = obj["spec"], type_of(obj) == "LoadBalancer"
    errors: Errors = []
    if not is_balanced:
        errors += [
            fields.forbidden(f"spec.{name}", ONLY_BALANCED)
            for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass")
            if spec.get(name) is not None
        ]
    elif (name := spec.get("loadBalancerClass")) is not None:
        errors += wrongs("spec.loadBalancerClass", name, names.qualified_name(name))
    return errors


def _validate_external_policy(obj: Object) -> Errors:
    spec, errors = obj["spec"], []
    policy, path = spec.get("externalTrafficPolicy"), "spec.externalTrafficPolicy"
    if is_reached_from_outside(obj):
        errors += required_one_of(policy, ("Cluster", "Local"), path)
    elif policy:
        why = "may only be set for externally-accessible services"
        errors.append(fields.wrong(path, policy, why))
    port, path = spec.get("healthCheckNodePort") or 0, "spec.healthCheckNodePort"
    if needs_health_check(obj):
        if port:
            errors += wrongs(path, port, names.port_number(port))
        else:
            errors.append(fields.required(path))
    elif port:
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append(fields.wrong(path, port, why))
    return errors


def _validate_internal_policy(obj: Object) -> Errors:
    spec = obj["spec"]
    policy, path = spec.get("internalTrafficPolicy"), "spec.internalTrafficPolicy"
    errors: Errors = []
    if policy is not None:
        errors += one_of(policy, ("Cluster", "Local"), path)
    elif needs_node_port(obj) or type_of(obj) == "ClusterIP":
        errors.append(fields.required(path))
    return errors + one_of(
        spec.get("trafficDistribution"), DISTRIBUTIONS, "spec.trafficDistribution"
    )


def _validate_class_update(obj: Object, old: Object) -> Errors:
    if type_of(obj) == type_of(old) == "LoadBalancer":
        name = obj["spec"].get("loadBalancerClass")
        if name != old["spec"].get("loadBalancerClass"):
            return [fields.wrong("spec.loadBalancerClass", name, "may not change once set")]
    return []


def _validate_health_update(obj: Object, old: Object) -> Errors:
    if needs_health_check(obj) and needs_health_check(old):
        name = "healthCheckNodePort"
        if obj["spec"].get(name) != old["spec"].get(name):
            return [fields.forbidden(f"spec.{name}", "field is immutable")]
    return []
