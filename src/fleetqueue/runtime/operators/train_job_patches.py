"""Patches of a training runtime: a strategic merge over its JobSet template.

Objects merge by key; the lists named here merge by a key of their items, all others are replaced.
"""

from collections.abc import Sequence
from typing import Any

from fleetqueue.kube.resources import Object

MERGE_KEYS = {
    "replicatedJobs": "name",
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "claims": "name",
}


def merged(old: Object, patch: Object) -> Object:
    """The object as the patch makes it; what it sets to null goes."""
    made = dict(old)
    for name, value in patch.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = _merged_field(name, made.get(name), value)
    return made


def patched_spec(spec: Object, patches: Sequence[Object]) -> Object:
    """A JobSet's spec under the patches in their order; its jobs keep theirs."""
    known = (job["name"] for job in spec.get("replicatedJobs") or ())
    order = {name: place for place, name in enumerate(known)}
    for patch in patches:
        spec = merged(spec, _template_of(patch).get("spec") or {})
    jobs = spec.get("replicatedJobs") or []
    in_order = sorted(jobs, key=lambda job: order.get(job["name"], len(order)))
    return {**spec, "replicatedJobs": in_order}


def patched_metadata(metadata: Object, patches: Sequence[Object]) -> Object:
    """The labels and annotations of the JobSet."""
    sources = [metadata, *(_template_of(patch).get("metadata") or {} for patch in patches)]
    made: Object = {}
    for part in ("labels", "annotations"):
        found: Object = {}
        for source in sources:
            found |= source.get(part) or {}
        if found:
            made[part] = found
    return made


def patches_of(train_job: Object) -> list[Object]:
    return list((train_job.get("spec") or {}).get("runtimePatches") or ())


def job_patches(patch: Object) -> list[Object]:
    """What one patch says of replicated jobs."""
    return list((_template_of(patch).get("spec") or {}).get("replicatedJobs") or ())


def _template_of(patch: Object) -> Object:
    return (patch.get("trainingRuntimeSpec") or {}).get("template") or {}


def _merged_field(name: str, old: Any, value: Any) -> Any:
    if isinstance(value, dict) and isinstance(old, dict):
        return merged(old, value)
    if isinstance(value, list) and isinstance(old, list) and name in MERGE_KEYS:
        return _merged_list(old, value, MERGE_KEYS[name])
    return value


def _merged_list(old: list[Object], patch: list[Object], key: str) -> list[Object]:
    """Items of the patch that are new come before the old ones that follow its last known item."""
    by_key = {item.get(key): item for item in old}
    place = {item.get(key): number for number, item in enumerate(old)}
    named = {item.get(key) for item in patch}
    left = [merged(by_key.get(item.get(key)) or {}, item) for item in patch]
    # Items of the patch that the list has already keep the order of the list.
    known = iter(sorted((i for i in left if i.get(key) in place), key=lambda i: place[i.get(key)]))
    left = [next(known) if item.get(key) in place else item for item in left]
    kept = [item for item in old if item.get(key) not in named]
    made: list[Object] = []
    for item in left:
        at = place.get(item.get(key), -1)
        while kept and at > place[kept[0].get(key)]:
            made.append(kept.pop(0))
        made.append(item)
    return made + kept
