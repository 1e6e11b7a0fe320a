"""The roles and bindings that every server starts with, and how they meet those that exist.

The facts are recorded from kube-apiserver by `scripts/record-rbac`.
"""

import gzip
from collections.abc import Mapping
from importlib import resources
from typing import Any, NamedTuple

from fleetqueue.apiserver.access.rules import decode_rules, uncovered
from fleetqueue.base import codec

Object = dict[str, Any]

AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"
API_VERSION = "rbac.authorization.k8s.io/v1"


class Policy(NamedTuple):
    """In the order in which kube-apiserver makes them."""

    cluster_roles: list[Object]
    cluster_role_bindings: list[Object]
    roles: list[Object]
    role_bindings: list[Object]


class Change(NamedTuple):
    """What to write. `recreate`: delete the existing object first, a roleRef cannot change."""

    obj: Object
    recreate: bool = False


def defaults() -> Policy:
    """Fresh copies, with kind and apiVersion."""
    data = resources.files(__package__).joinpath("bootstrap.json.gz").read_bytes()
    recorded = codec.decode(gzip.decompress(data))
    kinds = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
    lists = (
        [{"kind": kind, "apiVersion": API_VERSION, **item} for item in recorded[resource]]
        for kind, resource in zip(kinds, recorded, strict=True)
    )
    return Policy(*lists)


def reconcile(existing: Object | None, default: Object) -> Change | None:
    """What makes an existing role or binding hold at least what the default holds.

    None: nothing to do, or the object says that it wants to be left alone.
    """
    if existing is None:
        return Change(codec.copy(default))
    if _annotations(existing).get(AUTOUPDATE) == "false":
        return None
    if "roleRef" in default and existing.get("roleRef") != default["roleRef"]:
        return Change(codec.copy(default), recreate=True)
    merged = codec.copy(existing)
    _merge_metadata(merged, default)
    if "roleRef" in default:
        _merge_subjects(merged, default)
    else:
        _merge_rules(merged, default)
        _merge_aggregation(merged, default)
    return Change(merged) if merged != existing else None


def _merge_metadata(merged: Object, default: Object) -> None:
    for key in ("labels", "annotations"):
        wanted: Mapping[str, str] = default["metadata"].get(key) or {}
        if wanted:
            merged["metadata"][key] = {**wanted, **(merged["metadata"].get(key) or {})}


def _merge_rules(merged: Object, default: Object) -> None:
    missing = uncovered(decode_rules(merged), decode_rules(default))
    if missing:
        merged["rules"] = [*(merged.get("rules") or ()), *(rule.encode() for rule in missing)]


def _merge_aggregation(merged: Object, default: Object) -> None:
    wanted = default.get("aggregationRule")
    if wanted is None:
        merged.pop("aggregationRule", None)
        return
    held = merged.setdefault("aggregationRule", {}).setdefault("clusterRoleSelectors", [])
    held += [selector for selector in wanted["clusterRoleSelectors"] if selector not in held]


def _merge_subjects(merged: Object, default: Object) -> None:
    held = merged.get("subjects") or []
    missing = [subject for subject in default.get("subjects") or () if subject not in held]
    if missing:
        merged["subjects"] = [*held, *missing]


def _annotations(obj: Object) -> Mapping[str, str]:
    annotations: Mapping[str, str] = obj["metadata"].get("annotations") or {}
    return annotations
