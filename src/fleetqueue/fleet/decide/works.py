"""The Works that a binding needs: one per shard of its snapshot and one per envelope in it, with
the objects as its member gets them; and how those that exist differ from that.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.api.fleet import labels, naming
from fleetqueue.fleet.decide import bindings, deliveries, envelopes, snapshots
from fleetqueue.fleet.decide.deliveries import Delivery

Json = dict[str, Any]
ABANDON = "Abandon"
ENVELOPE_LABELS = (labels.ENVELOPE_TYPE, labels.ENVELOPE_NAME, labels.ENVELOPE_NAMESPACE)


@dataclass(frozen=True, slots=True)
class Options:
    """What a placement says that reaches the member with its Works."""

    report_back: Json | None = None
    delete_policy: str = ""
    kueue_aware: str = ""

    @property
    def annotations(self) -> dict[str, str]:
        told = {
            labels.DELETE_PROPAGATION_POLICY: self.delete_policy,
            labels.KUEUE_AWARE: self.kueue_aware,
        }
        return {name: value for name, value in told.items() if value}


@dataclass(frozen=True, slots=True)
class Changes:
    """What makes the Works that exist those that are wanted."""

    create: list[Json] = field(default_factory=list)
    update: list[tuple[Json, Json]] = field(default_factory=list)
    """A Work as it is, and as it should be."""
    delete: list[Json] = field(default_factory=list)
    awaited: list[Json] = field(default_factory=list)
    """Works on their way out whose names are needed again."""

    def __bool__(self) -> bool:
        return bool(self.create or self.update or self.delete)


def options_of(placement: Json | None) -> Options:
    if placement is None:
        return Options()
    strategy = placement["spec"].get("strategy") or {}
    deletion = strategy.get("deleteStrategy") or {}
    annotations = placement["metadata"].get("annotations") or {}
    return Options(
        strategy.get("reportBackStrategy"),
        ABANDON if deletion.get("propagationPolicy") == ABANDON else "",
        str(annotations.get(labels.KUEUE_AWARE) or ""),
    )


def without_abandoning(work: Json) -> Json | None:
    """What takes away that a Work leaves on its member what it delivered; None: it does not."""
    annotations = work["metadata"].get("annotations") or {}
    if labels.DELETE_PROPAGATION_POLICY not in annotations:
        return None
    return {"metadata": {"annotations": {labels.DELETE_PROPAGATION_POLICY: None}}}


def wanted(
    binding: Json,
    delivered: Iterable[Delivery],
    options: Options,
    is_namespaced: envelopes.IsNamespaced,
) -> list[Json]:
    """`delivered`: of the binding's snapshot, the master first. Raises BadEnvelope where something
    is wrapped that may not be, and OutOfNamespace where a placement of a namespace delivers more.
    """
    works = []
    for each in delivered:
        deliveries.check(each, str(binding["metadata"].get("namespace") or ""), is_namespaced)
        name = _work_name(binding, each.shard)
        works.append(_work(binding, each.shard, name, each.plain, options))
        for envelope, manifests in each.wrapped.items():
            inner = envelopes.ordered(manifests)
            title = naming.envelope_work(name, envelope.type, envelope.namespace, envelope.name)
            works.append(_work(binding, each.shard, title, inner, options, envelope.labels))
    return works


def compared(existing: Iterable[Json], works: Iterable[Json]) -> Changes:
    """`existing`: all Works of the binding, and others that have a name that it needs."""
    found = {each["metadata"]["name"]: each for each in existing}
    changes = Changes()
    for work in works:
        old = found.pop(work["metadata"]["name"], None)
        if old is None:
            changes.create.append(work)
        elif old["metadata"].get("deletionTimestamp"):
            changes.awaited.append(old)
        elif not _is_as(old, work):
            changes.update.append((old, work))
    changes.delete.extend(
        each for each in found.values() if not each["metadata"].get("deletionTimestamp")
    )
    return changes


def of_others(binding: Json, namesakes: Iterable[Json]) -> str:
    """The first name that a Work of another placement has; "" where there is none. One of the same
    placement is left over from an earlier binding, and taken up.
    """
    whose = (snapshots.placement_of(binding), str(binding["metadata"].get("namespace") or ""))
    for each in namesakes:
        space = snapshots.label(each, labels.PARENT_PLACEMENT_NAMESPACE)
        if (snapshots.placement_of(each), space) != whose:
            return str(each["metadata"]["name"])
    return ""


def is_synchronized(binding: Json, existing: Sequence[Json]) -> bool:
    """Whether Works that exist are what the binding asks for, as far as they tell themselves; used
    where the snapshot is no more.
    """
    if not existing:
        return False
    told = _annotations(binding, "")
    first = next((each for each in existing if _is_first(each, binding)), None)
    if first is None:
        return False
    index = snapshots.label(first, labels.PARENT_RESOURCE_SNAPSHOT_INDEX)
    return all(
        snapshots.label(each, labels.PARENT_RESOURCE_SNAPSHOT_INDEX) == index
        and all(snapshots.annotation(each, name) == told[name] for name in _HASHES)
        for each in existing
    )


def with_strategy(work: Json, binding: Json, options: Options) -> Json:
    """The same objects, applied as the binding says now."""
    manifests = (work["spec"].get("workload") or {}).get("manifests") or []
    metadata = {
        "name": work["metadata"]["name"],
        "labels": work["metadata"].get("labels") or {},
        "annotations": {
            **(work["metadata"].get("annotations") or {}),
            **options.annotations,
        },
    }
    return {"metadata": metadata, "spec": _spec(binding, manifests, options)}


def patch_of(old: Json, new: Json) -> list[Json]:
    """As a JSON patch: a merge patch would drop nulls, and a whole update race with the member."""
    steps = []
    for name in ("labels", "annotations"):
        present = old["metadata"].get(name) or {}
        stale = _OWN_ANNOTATIONS if name == "annotations" else ENVELOPE_LABELS
        kept = {key: value for key, value in present.items() if key not in stale}
        value = {**kept, **new["metadata"][name]}
        if value != present:
            steps.append({"op": "add", "path": f"/metadata/{name}", "value": value})
    if old.get("spec") != new["spec"]:
        steps.append({"op": "add", "path": "/spec", "value": new["spec"]})
    return steps


def duplicates(existing: Iterable[Json]) -> list[list[Json]]:
    """Works of plain existence that carry the contents of one and the same envelope."""
    by_envelope: dict[envelopes.Envelope, list[Json]] = {}
    for work in existing:
        envelope = envelopes.envelope_of_work(work)
        if envelope is not None and not work["metadata"].get("deletionTimestamp"):
            by_envelope.setdefault(envelope, []).append(work)
    return [found for found in by_envelope.values() if len(found) > 1]


def override_hash(listed: Any) -> str:
    """Of a list of override snapshots, as a binding has it; of none it is that of `null`."""
    text = json.dumps(listed or None, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


_HASHES = (labels.PARENT_CLUSTER_OVERRIDE_HASH, labels.PARENT_OVERRIDE_HASH)
_OWN_ANNOTATIONS = (labels.DELETE_PROPAGATION_POLICY, labels.KUEUE_AWARE)
"""Taken away where the placement no longer says them."""


def _work(
    binding: Json,
    shard: Json,
    name: str,
    manifests: Sequence[Json],
    options: Options,
    more_labels: Mapping[str, str] | None = None,
) -> Json:
    metadata = binding["metadata"]
    told = {
        labels.PARENT_PLACEMENT: snapshots.placement_of(binding),
        labels.PARENT_BINDING: str(metadata["name"]),
        labels.PARENT_RESOURCE_SNAPSHOT_INDEX: str(snapshots.index_of(shard)),
    }
    if metadata.get("namespace"):
        told[labels.PARENT_PLACEMENT_NAMESPACE] = str(metadata["namespace"])
    return {
        "metadata": {
            "name": name,
            "namespace": naming.member_namespace(bindings.target_cluster(binding)),
            "labels": {**told, **(more_labels or {})},
            "annotations": {
                **_annotations(binding, str(shard["metadata"]["name"])),
                **options.annotations,
            },
        },
        "spec": _spec(binding, manifests, options),
    }


def _annotations(binding: Json, shard: str) -> dict[str, str]:
    spec = binding["spec"]
    places = [
        {"name": each["name"], "namespace": each["namespace"]}
        for each in spec.get("resourceOverrideSnapshots") or ()
    ]
    return {
        labels.PARENT_CLUSTER_OVERRIDE_HASH: override_hash(
            spec.get("clusterResourceOverrideSnapshots")
        ),
        labels.PARENT_OVERRIDE_HASH: override_hash(places),
        labels.PARENT_RESOURCE_SNAPSHOT_NAME: shard,
    }


def _spec(binding: Json, manifests: Sequence[Json], options: Options) -> Json:
    spec: Json = {"workload": {"manifests": list(manifests)} if manifests else {}}
    if strategy := binding["spec"].get("applyStrategy"):
        spec["applyStrategy"] = strategy
    if options.report_back:
        spec["reportBackStrategy"] = options.report_back
    return spec


def _work_name(binding: Json, shard: Json) -> str:
    namespace = str(binding["metadata"].get("namespace") or "")
    base = naming.work_base(snapshots.placement_of(binding), namespace)
    if snapshots.is_master(shard):
        return naming.first_work(base)
    return naming.shard_work(base, snapshots.subindex_of(shard))


def _is_first(work: Json, binding: Json) -> bool:
    told = snapshots.annotation(work, labels.PARENT_RESOURCE_SNAPSHOT_NAME)
    return told == bindings.resource_snapshot(binding)


def _is_as(old: Json, new: Json) -> bool:
    return not patch_of(old, new)
