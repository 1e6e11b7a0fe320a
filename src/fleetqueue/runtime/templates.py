"""Pods from templates: what a controller's pod carries over, and whose it is."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.kube.plan import child
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import POD

NAME_LENGTH_MAX = 253


def pod_from_template(
    template: Object,
    parent: Object,
    *,
    name: str = "",
    labels: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
) -> Object:
    """A pod that the parent controls; without a name the server draws one after the parent's."""
    ours = template.get("metadata") or {}
    metadata: Object = {"generateName": name_prefix(parent)}
    if name:
        metadata["name"] = name
    metadata["labels"] = {**(ours.get("labels") or {}), **(labels or {})}
    if ours.get("annotations"):
        metadata["annotations"] = dict(ours["annotations"])
    if ours.get("finalizers"):
        metadata["finalizers"] = list(ours["finalizers"])
    return child(POD, parent, metadata, spec={**(template.get("spec") or {}), **(spec or {})})


def name_prefix(parent: Object) -> str:
    """The name and a dash, unless no name could go on from that."""
    prefix = f"{parent['metadata']['name']}-"
    return prefix if len(prefix) <= NAME_LENGTH_MAX else prefix[:-1]


def same(left: Object, right: Object, *, but_label: str = "") -> bool:
    """Whether two templates mean the same; one label may be left out of it."""
    return bool(_essence(left, but_label) == _essence(right, but_label))


def _essence(template: Object, but_label: str) -> Any:
    metadata = dict(template.get("metadata") or {})
    kept = {key: value for key, value in (metadata.get("labels") or {}).items() if key != but_label}
    metadata["labels"] = kept
    told = {key: value for key, value in metadata.items() if value}
    return told, _without_nothing(template.get("spec") or {})


def _without_nothing(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_nothing(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each is not None and each != []}
    if isinstance(value, list):
        return [_without_nothing(each) for each in value]
    return value
