"""Which workloads get the same answer: those whose hash, over all that decides, is the same."""

import hashlib
from collections.abc import Collection, Sequence
from typing import Any

from fleetqueue.base import codec
from fleetqueue.queueing.workload import PodSet

Json = dict[str, Any]
DIGITS = 16
_SHAPE = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "runtimeClassName",
    "priority",
    "topologySpreadConstraints",
    "overhead",
    "resourceClaims",
)


def hash_of(
    priority: int, spec: Json, pod_sets: Sequence[PodSet], more: Collection[str] = ()
) -> str:
    """`more`: the flavors of a variant, and whether it is a slice of an elastic job."""
    raw_sets = spec.get("podSets") or ()
    parts = [_part(raw, each) for raw, each in zip(raw_sets, pod_sets, strict=True)]
    text = codec.encode_sorted([priority, parts, *sorted(more)])
    return hashlib.sha256(text).hexdigest()[:DIGITS]


def _part(raw: Json, pod_set: PodSet) -> Json:
    spec = (raw.get("template") or {}).get("spec") or {}
    return {
        "name": pod_set.name,
        "shape": shape_of(spec),
        "count": pod_set.count,
        "requests": pod_set.requests,
        "minCount": raw.get("minCount"),
        "topologyRequest": raw.get("topologyRequest"),
    }


def shape_of(spec: Json) -> Json:
    """What of a pod spec decides where its pods can run."""
    shape = {name: spec[name] for name in _SHAPE if spec.get(name)}
    for name in ("initContainers", "containers"):
        shape[name] = [
            {
                "ports": each.get("ports"),
                "requests": (each.get("resources") or {}).get("requests"),
            }
            for each in spec.get(name) or ()
        ]
    if spec.get("resources"):
        shape["resources"] = spec["resources"].get("requests")
    return shape
