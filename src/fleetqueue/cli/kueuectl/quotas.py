"""Resource groups of a ClusterQueue from flags such as `flavor:cpu=1;memory=1Gi`."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from fleetqueue.api.quantity import parse as parse_quantity
from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.errors import InvalidInput

BAD_SPECIFICATION = "invalid resources specification"
BAD_GROUP = "invalid resource group"
BAD_FLAVOR = "invalid flavor"
BAD_QUOTA = "invalid resource quota"
NOT_FOUND = "resource quota not found"
_SPECIFICATION = re.compile(r"^([^:=;\s]+):([^:=;\s]+=[^:=;\s]*(?:;[^:=;\s]+=[^:=;\s]*)*)$")

Object = dict[str, Any]
Quotas = dict[str, dict[str, str]]
"""By flavor and resource."""


def resource_groups(
    nominal: Sequence[str], borrowing: Sequence[str], lending: Sequence[str]
) -> list[Object]:
    """Flavors with the same resources are in one group; limits are for what has a quota."""
    quotas = read_quotas(nominal, "--nominal-quota")
    limits = {
        "borrowingLimit": read_quotas(borrowing, "--borrowing-limit"),
        "lendingLimit": read_quotas(lending, "--lending-limit"),
    }
    for given in limits.values():
        _check_known(given, quotas)
    made: list[Object] = []
    for flavor, resources in quotas.items():
        group = _group_for(made, list(resources))
        entries = [_entry(flavor, name, quotas, limits) for name in group["coveredResources"]]
        group["flavors"].append({"name": flavor, "resources": entries})
    return made


def read_quotas(texts: Iterable[str], flag: str) -> Quotas:
    found: Quotas = {}
    for text in split(texts):
        hint = f"{flag} {text}: write FLAVOR:RESOURCE=QUANTITY;RESOURCE=QUANTITY"
        match = _SPECIFICATION.match(text)
        if match is None:
            raise Failure(BAD_SPECIFICATION, hint)
        flavor, listed = match.groups()
        if flavor in found:
            raise Failure(BAD_FLAVOR, f'{flag} {text}: "{flavor}" is given twice')
        found[flavor] = _read_resources(listed, f"{flag} {text}")
    return found


def split(texts: Iterable[str]) -> list[str]:
    """A flag may come several times, each with several values."""
    return [part for text in texts for part in text.split(",")]


def _read_resources(listed: str, where: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in listed.split(";"):
        name, _, value = pair.partition("=")
        if name in found:
            raise Failure(BAD_SPECIFICATION, f'{where}: "{name}" is given twice')
        try:
            parse_quantity(value)
        except InvalidInput as error:
            raise Failure(BAD_QUOTA, f"{where}: {error}") from error
        found[name] = value
    return found


def _check_known(given: Quotas, quotas: Quotas) -> None:
    for flavor, resources in given.items():
        if flavor not in quotas:
            raise Failure(BAD_FLAVOR, f'"{flavor}" has no nominal quota')
        for name in resources:
            if name not in quotas[flavor]:
                raise Failure(NOT_FOUND, f'"{flavor}" has no nominal quota of "{name}"')


def _group_for(groups: list[Object], resources: list[str]) -> Object:
    for group in groups:
        shared = set(group["coveredResources"]) & set(resources)
        if not shared:
            continue
        if set(group["coveredResources"]) != set(resources):
            names = ", ".join(sorted(shared))
            raise Failure(BAD_GROUP, f"flavors that share {names} must have the same resources")
        return group
    made: Object = {"coveredResources": resources, "flavors": []}
    groups.append(made)
    return made


def _entry(flavor: str, resource: str, quotas: Quotas, limits: dict[str, Quotas]) -> Object:
    made: Object = {"name": resource, "nominalQuota": quotas[flavor][resource]}
    for field, given in limits.items():
        if resource in given.get(flavor, {}):
            made[field] = given[flavor][resource]
    return made
