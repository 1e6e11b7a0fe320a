"""Labels that users add to metrics: their values come from labels or annotations of the objects
that a metric is about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fleetqueue.metrics.definitions import Definition, Kind

Json: TypeAlias = Mapping[str, Any]
PREFIX = "custom_"
UNTRACKED = "kueue.x-k8s.io/_UNTRACKED_VALUE_"
"""Stands for all values that are not tracked."""
CLUSTER_QUEUE, LOCAL_QUEUE = "ClusterQueue", "LocalQueue"
COHORT, WORKLOAD = "Cohort", "Workload"
OF_CYCLES = ("preemption_target_recomputations_total", "pod_scheduling_gate_removal_seconds")
"""Counted, but not about one workload."""


@dataclass(frozen=True, slots=True)
class CustomLabel:
    """One of them."""

    name: str
    kind: str = ""
    """Of the objects that it comes from; "": the queue or cohort that a metric is about."""
    label_key: str = ""
    annotation_key: str = ""
    tracked: frozenset[str] = frozenset()
    """The values that are told; empty: all."""

    def read(self, obj: Json) -> str:
        metadata = obj.get("metadata") or {}
        found = metadata.get("labels" if self.label_key else "annotations") or {}
        value = str(found.get(self.label_key or self.annotation_key) or "")
        return value if not self.tracked or value in self.tracked else UNTRACKED


class CustomLabels:
    """All of them, and the objects that they come from."""

    def __init__(self, wanted: Sequence[CustomLabel] = ()) -> None:
        self._wanted = wanted
        self._known: dict[tuple[str, ...], Json] = {}
        self._chosen: dict[str, list[CustomLabel]] = {}

    def put(self, kind: str, name: tuple[str, ...], obj: Json | None) -> None:
        """What a queue or cohort says of itself; None: it is gone."""
        if not self._wanted:
            return
        if obj is None:
            self._known.pop((kind, *name), None)
        else:
            self._known[kind, *name] = obj

    def names(self, told: Definition) -> tuple[str, ...]:
        return tuple(f"{PREFIX}{each.name}" for each in self._of(told))

    def values(
        self, told: Definition, labels: tuple[str, ...], workload: Json | None
    ) -> tuple[str, ...]:
        """`labels` are the values of the others; `workload` is what was measured, if one was."""
        if not self._wanted:
            return ()
        found = []
        for each in self._of(told):
            kind = each.kind or _kind(told)
            obj = workload if kind == WORKLOAD else self._find(told, kind, labels)
            found.append("" if obj is None else each.read(obj))
        return tuple(found)

    def _of(self, told: Definition) -> list[CustomLabel]:
        found = self._chosen.get(told.name)
        if found is None:
            found = [each for each in self._wanted if _concerns(each.kind, told)]
            self._chosen[told.name] = found
        return found

    def _find(self, told: Definition, kind: str, labels: tuple[str, ...]) -> Json | None:
        by_name = dict(zip(told.labels, labels, strict=True))
        places = {
            CLUSTER_QUEUE: ("cluster_queue",),
            LOCAL_QUEUE: ("name", "namespace"),
            COHORT: ("cohort",),
        }
        name = tuple(by_name[label] for label in places[kind])
        return self._known.get((kind, *name))


def _kind(told: Definition) -> str:
    """What a metric is about; "": neither a queue nor a cohort."""
    if told.name.startswith("local_queue_"):
        return LOCAL_QUEUE
    if told.name.startswith("cohort_"):
        return COHORT
    return CLUSTER_QUEUE if "cluster_queue" in told.labels else ""


def _concerns(kind: str, told: Definition) -> bool:
    if not told.has_role:
        return False
    if kind != WORKLOAD:
        return bool(_kind(told)) and kind in ("", _kind(told))
    is_counted = told.kind is not Kind.GAUGE and told.name not in OF_CYCLES
    return is_counted and bool(_kind(told)) and not told.name.startswith("multikueue_")
