"""The shape of a pod: what of its spec decides where it can run and how much it takes.

Pods of one shape play one role in a group; its hash is the one that Kueue computes.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from fleetqueue.api.quantity import Quantity
from fleetqueue.base import codec
from fleetqueue.kube.resources import Object

HASH_LENGTH = 8
MEMBERS = (
    "initContainers",
    "containers",
    "nodeSelector",
    "affinity",
    "tolerations",
    "runtimeClassName",
    "priority",
    "topologySpreadConstraints",
    "overhead",
    "resourceClaims",
)
_MAPS = frozenset({"matchLabels"})
"""Members of nested objects that are maps, whose keys go by the alphabet."""
_KEPT_EMPTY = frozenset({"nodeSelectorTerms"})
_ORDER = (
    "nodeAffinity",
    "podAffinity",
    "podAntiAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
    "weight",
    "preference",
    "podAffinityTerm",
    "nodeSelectorTerms",
    "matchLabels",
    "matchExpressions",
    "matchFields",
    "key",
    "operator",
    "value",
    "values",
    "effect",
    "tolerationSeconds",
    "labelSelector",
    "namespaces",
    "topologyKey",
    "namespaceSelector",
    "matchLabelKeys",
    "mismatchLabelKeys",
    "name",
    "hostPort",
    "containerPort",
    "protocol",
    "hostIP",
    "resourceClaimName",
    "resourceClaimTemplateName",
)
"""Members of nested objects as the API declares them; no two of its types disagree on these."""
_SPREAD_ORDER = (
    "maxSkew",
    "topologyKey",
    "whenUnsatisfiable",
    "labelSelector",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "matchLabelKeys",
)
_ESCAPES = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))
"""Go writes these so within JSON."""


def role_hash(spec: Object) -> str:
    text = codec.encode({"spec": shape_of(spec)})
    for plain, escaped in _ESCAPES:
        text = text.replace(plain, escaped)
    return hashlib.sha256(text).hexdigest()[:HASH_LENGTH]


def shape_of(spec: Object) -> Object:
    """By the alphabet; what is not there is None."""
    made: Object = {
        "initContainers": _containers(spec.get("initContainers")),
        "containers": _containers(spec.get("containers")),
        "nodeSelector": _sorted(spec.get("nodeSelector")),
        "affinity": _ordered(spec.get("affinity")),
        "tolerations": _all_ordered(spec.get("tolerations")),
        "runtimeClassName": spec.get("runtimeClassName"),
        "priority": spec.get("priority"),
        "topologySpreadConstraints": _all_ordered(
            spec.get("topologySpreadConstraints"), _SPREAD_ORDER
        ),
        "overhead": _amounts(spec.get("overhead")),
        "resourceClaims": _all_ordered(spec.get("resourceClaims")),
    }
    if spec.get("resources") is not None:
        made["resources"] = {"requests": _amounts(spec["resources"].get("requests"))}
    return dict(sorted(made.items()))


def _containers(containers: Sequence[Object] | None) -> list[Object] | None:
    made = [
        {
            "ports": _all_ordered(each.get("ports")),
            "resources": {"requests": _amounts((each.get("resources") or {}).get("requests"))},
        }
        for each in containers or ()
    ]
    return made or None


def _amounts(amounts: Object | None) -> Object | None:
    if amounts is None:
        return None
    return {name: str(Quantity.of(amounts[name])) for name in sorted(amounts)}


def _sorted(values: Object | None) -> Object | None:
    return dict(sorted(values.items())) if values else None


def _all_ordered(objects: Sequence[Object] | None, order: Sequence[str] = _ORDER) -> Any:
    return [_ordered(each, order) for each in objects] if objects else None


def _ordered(value: Any, order: Sequence[str] = _ORDER) -> Any:
    """As Go would write it: in the order of the declaration, without what is empty."""
    if isinstance(value, list):
        return [_ordered(each) for each in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for name in sorted(value, key=lambda name: (_rank(name, order), name)):
        member = value[name]
        if member in (None, "") or (member == [] and name not in _KEPT_EMPTY):
            continue
        if name == "hostPort" and not member:
            continue
        made[name] = _sorted(member) if name in _MAPS else _ordered(member)
    return made


def _rank(name: str, order: Sequence[str]) -> int:
    return order.index(name) if name in order else len(order)
