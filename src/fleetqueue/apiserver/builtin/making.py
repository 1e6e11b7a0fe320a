"""Builds the strategy of a kind out of one rule function and the facts that are special."""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors
from fleetqueue.apiserver.merge import field_sets
from fleetqueue.apiserver.strategy import Object, Strategy

Rules = Callable[[Object, Object | None], Errors]
"""(obj, old) -> what is wrong; `old` is None on create."""

UNQUALIFIED_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")


def kind(rules: Rules | None = None, **facts: Any) -> Strategy:
    """A kind without generation, unless `facts` say otherwise, that is checked by `rules`."""
    facts.setdefault("has_generation", False)
    check = rules or (lambda obj, old: [])
    return Strategy(
        validate_create=lambda obj: finalizer_names(obj) + check(obj, None),
        validate_update=lambda obj, old: finalizer_names(obj) + check(obj, old),
        **facts,
    )


def finalizer_names(obj: Object) -> Errors:
    """Finalizers of built-in kinds need a domain, unless they are Kubernetes' own."""
    why = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        fields.wrong(f"metadata.finalizers[{index}]", finalizer, why)
        for index, finalizer in enumerate(obj["metadata"].get("finalizers") or ())
        if "/" not in finalizer and finalizer not in UNQUALIFIED_FINALIZERS
    ]


def without_status(obj: Object) -> None:
    """What a client says about status when it creates an object does not count."""
    obj.pop("status", None)


def keep_metadata(obj: Object, old: Object) -> None:
    """For kinds whose status is written without any metadata of its own."""
    metadata, before = obj["metadata"], old["metadata"]
    for name in ("annotations", "finalizers", "labels", "ownerReferences"):
        if name in before:
            metadata[name] = before[name]
        else:
            metadata.pop(name, None)


STATUS_ALONE: dict[str, Any] = {
    "prepare_status": keep_metadata,
    "status_reset": field_sets.of(("spec",), ("metadata",)),
}
"""The facts of such a kind, where nobody comes to own metadata by it either."""


def part(obj: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """A nested object, empty where it is not set."""
    for name in names:
        obj = obj.get(name) or {}
    return obj


def text(*names: str) -> Callable[[Object], str]:
    """Reads a nested string for a field selector; what is missing is empty."""

    def read(obj: Object) -> str:
        value = part(obj, *names[:-1]).get(names[-1])
        return "" if value is None else str(value)

    return read
