"""What namespaces add to the pods in them: limits, defaults, labels, overheads."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.queueing.requests import Surroundings, merged_limits

Json = Mapping[str, Any]


class Namespaces:
    """Labels, LimitRanges and runtime classes; what follows from them is remembered."""

    def __init__(self) -> None:
        self._labels: dict[str, Mapping[str, str]] = {}
        self._ranges: dict[str, dict[str, Json]] = {}
        self._overheads: dict[str, Json] = {}
        self._around: dict[str, Surroundings] = {}
        """Of namespaces with LimitRanges; all others have that of "" in common."""

    def put(self, obj: Json) -> bool:
        """Whether its labels changed."""
        name = obj["metadata"]["name"]
        found = obj["metadata"].get("labels") or {}
        before = self._labels.get(name)
        self._labels[name] = found
        return before != found

    def remove(self, name: str) -> None:
        self._labels.pop(name, None)

    def labels(self, name: str) -> Mapping[str, str] | None:
        """None where there is no such namespace."""
        return self._labels.get(name)

    def put_limits(self, key: Key, obj: Json | None) -> None:
        """A LimitRange; None: it is gone."""
        ranges = self._ranges.setdefault(key.namespace, {})
        if obj is None:
            ranges.pop(key.name, None)
        else:
            ranges[key.name] = obj.get("spec") or {}
        if not ranges:
            del self._ranges[key.namespace]
        self._around.pop(key.namespace, None)

    def put_runtime_class(self, name: str, obj: Json | None) -> None:
        fixed = ((obj or {}).get("overhead") or {}).get("podFixed")
        if fixed:
            self._overheads[name] = fixed
        else:
            self._overheads.pop(name, None)
        self._around.clear()

    def around(self, namespace: str) -> Surroundings:
        where = namespace if namespace in self._ranges else ""
        found = self._around.get(where)
        if found is None:
            ranges = [each for _, each in sorted(self._ranges.get(namespace, {}).items())]
            found = self._around[where] = Surroundings(
                merged_limits(ranges, "Container"),
                merged_limits(ranges, "Pod"),
                dict(self._overheads),
            )
        return found
