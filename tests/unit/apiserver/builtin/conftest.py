"""Objects as the server hands them to a kind's rules: completed, named and numbered."""

from collections.abc import Callable
from typing import Any

import pytest

from fleetqueue.apiserver.builtin import strategies
from fleetqueue.base import codec

Object = dict[str, Any]
Make = Callable[..., Object]

META = {
    "name": "thing",
    "namespace": "default",
    "uid": "f00d",
    "resourceVersion": "7",
    "generation": 1,
    "creationTimestamp": "2026-01-02T03:04:05Z",
}


@pytest.fixture
def stored() -> Make:
    """(group, kind, spec, **metadata) -> the object as it would be stored."""

    def make(group: str, kind: str, spec: Object, **metadata: Any) -> Object:
        strategy = strategies()[group, kind]
        obj: Object = {"metadata": codec.copy(metadata), "spec": codec.copy(spec)}
        strategy.default(obj)
        obj["metadata"] = META | obj["metadata"] | {"name": metadata.get("name", "thing")}
        strategy.prepare_create(obj)
        strategy.as_read(obj)
        return obj

    return make


@pytest.fixture
def change() -> Callable[[Object, Object], Object]:
    """A copy of an object with some fields set, by their dotted paths; None removes one."""

    def make(obj: Object, changes: Object) -> Object:
        copy: Object = codec.copy(obj)
        for path, value in changes.items():
            *parents, last = path.split("/")
            holder: Any = copy
            for part in parents:
                holder = holder[int(part)] if part.isdigit() else holder.setdefault(part, {})
            if value is None:
                holder.pop(last, None)
            else:
                holder[int(last) if last.isdigit() else last] = value
        return copy

    return make
