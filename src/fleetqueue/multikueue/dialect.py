"""In which version a worker has Kueue's kinds: dispatching thinks in the newest, and an older
worker is spoken to in its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from fleetqueue.api.kueue.conversion import V1BETA1, V1BETA2, ConversionError, convert
from fleetqueue.api.kueue.group import GROUP
from fleetqueue.kube.errors import BadAnswer
from fleetqueue.kube.resources import Object, Resource, split_api_version

_ADDED = ("spec", "status")
"""What a conversion adds where it is missing."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """`api_version` is that of Kueue's group on the worker."""

    api_version: str = V1BETA2

    def kind(self, kind: Resource) -> Resource:
        if kind.group != GROUP:
            return kind
        return replace(kind, version=split_api_version(self.api_version)[1])

    def hear(self, obj: Object) -> Object:
        """What a worker sent."""
        if obj.get("apiVersion") != V1BETA1:
            return obj
        try:
            return convert(obj, V1BETA2)
        except ConversionError as error:
            raise BadAnswer(str(error)) from error

    def say(self, obj: Object) -> Object:
        """A whole object for it, or the fields of one that are applied."""
        if self.api_version == V1BETA2 or obj.get("apiVersion") != V1BETA2:
            return obj
        return _kept(convert(obj, self.api_version), obj)

    def say_patch(self, kind: Resource, patch: Any) -> Any:
        """A merge patch for it; what is taken away has to be named as it is there."""
        if self.api_version == V1BETA2 or kind.group != GROUP or not isinstance(patch, dict):
            return patch
        made = self.say({**patch, "apiVersion": V1BETA2, "kind": kind.kind})
        spec = patch.get("spec") or {}
        if "priorityClassRef" in spec and spec["priorityClassRef"] is None:
            made["spec"] |= {"priorityClassName": None, "priorityClassSource": None}
        return {name: value for name, value in made.items() if name not in ("apiVersion", "kind")}


def spoken(versions: Iterable[str]) -> Dialect:
    """The newest of those that a worker serves; where it serves none, the newest of all."""
    served = set(versions)
    is_old = V1BETA1 in served and V1BETA2 not in served
    return Dialect(V1BETA1) if is_old else Dialect()


def _kept(made: Object, before: Object) -> Object:
    return {name: value for name, value in made.items() if name not in _ADDED or name in before}
