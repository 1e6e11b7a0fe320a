"""Nodes and the service accounts that pods run as."""

import ipaddress
from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.addresses import validate_network
from fleetqueue.apiserver.builtin.checks import Errors, one_of
from fleetqueue.apiserver.builtin.making import kind, part
from fleetqueue.apiserver.builtin.pod_resources import read, validate_amount
from fleetqueue.apiserver.builtin.selectors import validate_label_name
from fleetqueue.apiserver.strategy import Object, Strategy

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
FIXED_NETWORKS = 'node updates may not change podCIDR except from "" to valid'
FIXED_PROVIDER = 'node updates may not change providerID except from "" to valid'
EXTERNAL_ID = "spec.externalID: this field is deprecated, and is unused by Kubernetes"
CONFIG_SOURCE = (
    "spec.configSource: the feature is removed; the field is not supported by v1.26+ kubelet"
)


def default_node(obj: Object) -> None:
    _fill_networks(obj.get("spec") or {})
    status = obj.get("status") or {}
    if status.get("allocatable") is None and status.get("capacity"):
        status["allocatable"] = dict(status["capacity"])


def prepare_node(obj: Object) -> None:
    part_of(obj, "spec").pop("configSource", None)
    part_of(obj, "status").pop("config", None)


def validate_node(obj: Object, old: Object | None) -> Errors:
    spec = part(obj, "spec")
    errors = _validate_taints(spec.get("taints") or [])
    errors += _validate_resources(obj)
    errors += _validate_networks(spec.get("podCIDRs") or [])
    return errors if old is None else errors + validate_node_update(obj, old)


def validate_node_update(obj: Object, old: Object) -> Errors:
    spec, before = part(obj, "spec"), part(old, "spec")
    errors = _validate_resources(obj)
    seen: list[Any] = []
    for index, address in enumerate(part(obj, "status").get("addresses") or ()):
        if address in seen:
            shown = {"Type": address.get("type", ""), "Address": address.get("address", "")}
            errors.append(fields.duplicate(f"status.addresses[{index}]", shown))
        seen.append(address)
    if before.get("podCIDRs") and spec.get("podCIDRs") != before["podCIDRs"]:
        errors.append(fields.forbidden("spec.podCIDRs", FIXED_NETWORKS))
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        errors.append(fields.forbidden("spec.providerID", FIXED_PROVIDER))
    if (spec.get("externalID") or "") != (before.get("externalID") or ""):
        errors.append(fields.forbidden("spec.externalID", "may not be updated"))
    return errors


def part_of(obj: Object, name: str) -> Object:
    found: Object = obj.get(name) or {}
    return found


def _fill_networks(spec: Object) -> None:
    """The old field for one network and the new one for many say the same."""
    one, many = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not many or many[0] != one):
        spec["podCIDRs"] = [one]
    elif many and not one:
        spec["podCIDR"] = many[0]


def _validate_taints(taints: list[Mapping[str, Any]]) -> Errors:
    errors: Errors = []
    taken: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        path = f"metadata.taints[{index}]"
        key, value, effect = (taint.get(name, "") for name in ("key", "value", "effect"))
        errors += validate_label_name(key, f"{path}.key")
        if found := names.label_value(value):
            errors.append(fields.wrong(f"{path}.value", value, ";".join(found)))
        if not effect:
            errors.append(fields.required(f"{path}.effect"))
        else:
            errors += one_of(effect, EFFECTS, f"{path}.effect")
        if (effect, key) in taken:
            shown = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": None}
            error = fields.duplicate(path, shown)
            errors.append(error._replace(detail="taints must be unique by key and effect pair"))
        taken.add((effect, key))
    return errors


def _validate_resources(obj: Object) -> Errors:
    errors: Errors = []
    for name in ("capacity", "allocatable"):
        for resource, amount in read(part(obj, "status").get(name)).items():
            errors += validate_amount(resource, amount, f"status.{name}.{resource}")
    return errors


def _validate_networks(networks: list[str]) -> Errors:
    errors: Errors = []
    for index, network in enumerate(networks):
        errors += validate_network(network, f"spec.podCIDRs[{index}]")
    if errors or len(networks) < 2:
        return errors
    families = {ipaddress.ip_network(network, strict=False).version for network in networks}
    if len(families) < 2 or len(networks) > 2:
        why = "may specify no more than one CIDR for each IP family"
        errors.append(fields.wrong("spec.podCIDRs", networks, why))
    return errors


def _warn_of_node(obj: Object, old: Object | None) -> list[str]:
    spec = part(obj, "spec")
    found = [CONFIG_SOURCE] if spec.get("configSource") is not None else []
    return [*found, EXTERNAL_ID] if spec.get("externalID") else found


def _clean_account(obj: Object, old: Object | None = None) -> None:
    if obj.get("secrets"):
        obj["secrets"] = [
            {"name": secret["name"]} if secret.get("name") else {} for secret in obj["secrets"]
        ]


def _warn_of_account(obj: Object, old: Object | None) -> list[str]:
    before = (old or {"metadata": {}})["metadata"].get("annotations") or {}
    if MOUNTABLE in before or MOUNTABLE not in (obj["metadata"].get("annotations") or {}):
        return []
    return [
        f"metadata.annotations[{MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to "
        "isolate access to mounted secrets"
    ]


def _is_unschedulable(obj: Object) -> str:
    return "true" if part(obj, "spec").get("unschedulable") else "false"


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "Node"): kind(
        validate_node,
        default=default_node,
        prepare_create=prepare_node,
        validate_status=validate_node_update,
        warnings=_warn_of_node,
        fields={"spec.unschedulable": _is_unschedulable},
    ),
    ("", "ServiceAccount"): kind(
        prepare_create=_clean_account,
        prepare_update=_clean_account,
        warnings=_warn_of_account,
        has_status=False,
        returns_deleted=True,
    ),
}
