"""Rules for the cluster addresses and address families of a Service."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.addresses import is_ipv6, validate_address
from fleetqueue.apiserver.builtin.checks import Errors, one_of
from fleetqueue.apiserver.builtin.service_facts import NONE, is_headless, type_of

Object = Mapping[str, Any]

FAMILIES = ("IPv4", "IPv6")
POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
ONCE = "may not change once set"


def validate_addresses(obj: Object) -> Errors:
    if type_of(obj) == "ExternalName":
        return []
    spec = obj["spec"]
    addresses = spec.get("clusterIPs") or []
    errors = _validate_match(spec.get("clusterIP") or "", addresses)
    errors += _validate_families(spec.get("ipFamilies") or [])
    errors += one_of(spec.get("ipFamilyPolicy"), POLICIES, "spec.ipFamilyPolicy")
    broken = _validate_each(addresses)
    errors += broken
    if len(addresses) > 2:
        errors.append(fields.wrong("spec.clusterIPs", addresses, "may only hold up to 2 values"))
    if broken:
        return errors
    if len(addresses) > 1 and len({is_ipv6(address) for address in addresses}) < 2:
        why = "may specify no more than one IP for each IP family"
        errors.append(fields.wrong("spec.clusterIPs", addresses, why))
    if not is_headless(obj):
        errors += _validate_order(addresses, spec.get("ipFamilies") or [])
    return errors


def validate_address_update(obj: Object, old: Object) -> Errors:
    if "ExternalName" in (type_of(obj), type_of(old)):
        return []
    headless, was_headless = is_headless(obj), is_headless(old)
    errors: Errors = []
    if not (headless and was_headless):
        errors += _validate_kept(obj["spec"], old["spec"])
    if not headless and not was_headless:
        errors += _validate_families_kept(obj["spec"], old["spec"])
    return errors


def _validate_match(address: str, addresses: list[str]) -> Errors:
    path = "spec.clusterIPs"
    if address and not addresses:
        return [fields.required(path)]
    if address and addresses[0] != address:
        return [fields.wrong(path, addresses, "first value must match `clusterIP`")]
    if not address and addresses:
        return [fields.wrong(path, addresses, "must be empty when `clusterIP` is not specified")]
    return []


def _validate_families(families: list[str]) -> Errors:
    errors: Errors = []
    for index, family in enumerate(families):
        path = f"spec.ipFamilies[{index}]"
        errors += one_of(family, FAMILIES, path)
        if family in families[:index]:
            errors.append(fields.duplicate(path, family))
    return errors


def _validate_each(addresses: list[str]) -> Errors:
    errors: Errors = []
    for index, address in enumerate(addresses):
        if index == 0 and address == NONE:
            if len(addresses) > 1:
                why = "'None' must be the first and only value"
                errors.append(fields.wrong("spec.clusterIPs", addresses, why))
            continue
        errors += validate_address(address, f"spec.clusterIPs[{index}]")
    return errors


def _validate_order(addresses: list[str], families: list[str]) -> Errors:
    errors: Errors = []
    for index, (address, family) in enumerate(zip(addresses, families, strict=False)):
        if family in FAMILIES and is_ipv6(address) != (family == "IPv6"):
            why = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            errors.append(fields.wrong(f"spec.clusterIPs[{index}]", address, why))
    return errors


def _validate_kept(spec: Object, before: Object) -> Errors:
    new, old = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    if len(new) == len(old):
        return [
            fields.wrong(f"spec.clusterIPs[{index}]", new, ONCE)
            for index, (a, b) in enumerate(zip(new, old, strict=True))
            if a != b
        ]
    errors: Errors = []
    if not new:
        why = "primary clusterIP can not be unset"
        errors.append(fields.wrong("spec.clusterIPs[0]", None, why))
    elif old and new[0] != old[0]:
        errors.append(fields.wrong("spec.clusterIPs[0]", new, ONCE))
    if len(new) == 1 < len(old):
        errors += _validate_single(spec, "secondary clusterIP")
    return errors


def _validate_families_kept(spec: Object, before: Object) -> Errors:
    new, old = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
    path = "spec.ipFamilies[0]"
    if len(new) == len(old):
        return [fields.wrong(path, new, ONCE) for a, b in zip(new, old, strict=True) if a != b]
    errors: Errors = []
    addresses = spec.get("clusterIPs")
    if len(old) > len(new) and not addresses:
        errors.append(fields.wrong(path, new or None, "primary ipFamily can not be unset"))
    if new and old and new[0] != old[0]:
        errors.append(fields.wrong(path, addresses, ONCE))
    if len(new) == 1 < len(old):
        errors += _validate_single(spec, "secondary ipFamily")
    return errors


def _validate_single(spec: Object, what: str) -> Errors:
    policy = spec.get("ipFamilyPolicy")
    if policy == "SingleStack":
        return []
    why = f"must be set to 'SingleStack' when releasing the {what}"
    return [fields.wrong("spec.ipFamilyPolicy", policy, why)]
