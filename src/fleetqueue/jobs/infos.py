"""What admission puts into a pod template, and how it is put there and taken out again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.api.kueue.labels import WORKLOAD, WORKLOAD_SLICE_NAME
from fleetqueue.errors import FleetqueueError
from fleetqueue.kube.resources import Object

_RENEWED = frozenset({WORKLOAD, WORKLOAD_SLICE_NAME})
"""Annotations that an elastic job carries on from its last admission."""


class CannotStart(FleetqueueError):
    """A job that can never start as it was admitted; the message is upstream's."""

    who_acts = "user"


@dataclass(frozen=True, slots=True)
class PodSetInfo:
    """What belongs into the template of one pod set, or was there before."""

    name: str = ""
    count: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Object] = ()
    scheduling_gates: Sequence[Object] = ()

    def merged(self, other: "PodSetInfo", *, renews: bool = False) -> "PodSetInfo":
        """Both together; the same key with two values is refused.

        `renews`: what tells of an earlier admission gives way.
        """
        mine = dict(self.annotations)
        if renews:
            mine = {key: value for key, value in mine.items() if key not in _RENEWED}
        return PodSetInfo(
            name=self.name,
            count=self.count,
            annotations=_joined("annotations", mine, other.annotations),
            labels=_joined("labels", self.labels, other.labels),
            node_selector=_joined("nodeSelector", self.node_selector, other.node_selector),
            tolerations=_appended(self.tolerations, other.tolerations),
            scheduling_gates=_appended(self.scheduling_gates, other.scheduling_gates),
        )


def info_of(template: Object, name: str = "", count: int = 0) -> PodSetInfo:
    """What a template has of all that can be put into one."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    return PodSetInfo(
        name=name,
        count=count,
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        node_selector=spec.get("nodeSelector") or {},
        tolerations=spec.get("tolerations") or (),
        scheduling_gates=spec.get("schedulingGates") or (),
    )


def with_info(template: Object, info: PodSetInfo) -> Object:
    """The template with just what the info has, of what can be put into one."""
    metadata = _replaced(
        template.get("metadata"), {"labels": info.labels, "annotations": info.annotations}
    )
    spec = _replaced(
        template.get("spec"),
        {
            "nodeSelector": info.node_selector,
            "tolerations": info.tolerations,
            "schedulingGates": info.scheduling_gates,
        },
    )
    made = {**template, "spec": spec}
    if metadata or "metadata" in template:
        made["metadata"] = metadata
    return made


def merged_template(template: Object, info: PodSetInfo, *, renews: bool = False) -> Object:
    return with_info(template, info_of(template).merged(info, renews=renews))


def check_number(expected: int, infos: Sequence[PodSetInfo]) -> None:
    if len(infos) != expected:
        raise CannotStart(f"invalid podset infos: expecting {expected} podset, got {len(infos)}")


def _joined(what: str, mine: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    for key in sorted(mine.keys() & other.keys()):
        if mine[key] != other[key]:
            raise CannotStart(
                f"invalid admission check PodSetUpdate: conflict for {what}:"
                f" conflict for key={key}, value1={mine[key]}, value2={other[key]}"
            )
    return {**mine, **other}


def _appended(mine: Sequence[Object], other: Sequence[Object]) -> list[Object]:
    made = list(mine)
    made += [each for index, each in enumerate(other) if each not in (*mine, *other[:index])]
    return made


def _replaced(part: Object | None, values: Mapping[str, Any]) -> Object:
    made = {name: value for name, value in (part or {}).items() if name not in values}
    for name, value in values.items():
        if value:
            made[name] = dict(value) if isinstance(value, Mapping) else list(value)
    return made
