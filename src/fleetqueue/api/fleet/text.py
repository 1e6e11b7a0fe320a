"""Values as KubeFleet's messages print them, which is how Go's `%v` and `%+v` print its types."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from fleetqueue.api import selectors
from fleetqueue.base import codec

Json = Mapping[str, Any]

_ADDRESS = "0xc000000000"
"""Go prints the address of a pointer that has no text of its own; nobody can rely on which."""
_GROUPS_SHOWN = 10


def resource_selector(term: Json) -> str:
    """A selector of a ClusterResourcePlacement or ClusterResourceOverride."""
    return _record(
        Group=term.get("group", ""),
        Version=term.get("version", ""),
        Kind=term.get("kind", ""),
        Name=term.get("name", ""),
        LabelSelector=label_selector(term.get("labelSelector")),
        SelectionScope=term.get("selectionScope", ""),
    )


def override_selector(selector: Json) -> str:
    """A selector of a ResourceOverride."""
    return _record(
        Group=selector.get("group", ""),
        Version=selector.get("version", ""),
        Kind=selector.get("kind", ""),
        Name=selector.get("name", ""),
    )


def label_selector(selector: Json | None) -> str:
    return "nil" if selector is None else selectors.shown(selector)


def cluster_selector_term(term: Json) -> str:
    return _record(
        LabelSelector=label_selector(term.get("labelSelector")),
        PropertySelector=_pointer(term.get("propertySelector")),
        PropertySorter=_pointer(term.get("propertySorter")),
    )


def json_patch(override: Json) -> str:
    value = codec.encode_sorted(override["value"]).decode() if "value" in override else ""
    return f"{{{override.get('op', '')} {override.get('path', '')} {{{value}}}}}"


def toleration(one: Json) -> str:
    return _record(
        Key=one.get("key", ""),
        Operator=one.get("operator", ""),
        Value=one.get("value", ""),
        Effect=one.get("effect", ""),
    )


def taint(one: Json) -> str:
    return _record(Key=one.get("key", ""), Value=one.get("value", ""), Effect=one.get("effect", ""))


def kind(group: str, version: str, name: str) -> str:
    return f"{group}/{version}, Kind={name}"


def object_name(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"


def groups(names: Sequence[str]) -> str:
    """The groups of a user; of many only the first three."""
    if len(names) > _GROUPS_SHOWN:
        return f"groups: [{', '.join(names[:3])},......]"
    return f"groups: [{' '.join(names)}]"


def owner_references(references: Iterable[Json]) -> str:
    return f"[{' '.join(_owner(one) for one in references)}]"


def client_error(cause: str) -> str:
    return f"failed to process the request due to a client error: {cause}"


def value(found: Any) -> str:
    """A JSON value, as reports of drifts and diffs show it."""
    for types, show in _VALUES:
        if isinstance(found, types):
            return show(found)
    return str(found)


def _record(**fields: str) -> str:
    return f"{{{' '.join(f'{name}:{shown}' for name, shown in fields.items())}}}"


def _pointer(target: object | None) -> str:
    return "<nil>" if target is None else _ADDRESS


def _owner(one: Json) -> str:
    return _record(
        APIVersion=one.get("apiVersion", ""),
        Kind=one.get("kind", ""),
        Name=one.get("name", ""),
        UID=one.get("uid", ""),
        Controller=_pointer(one.get("controller")),
        BlockOwnerDeletion=_pointer(one.get("blockOwnerDeletion")),
    )


def _map(found: Json) -> str:
    return f"map[{' '.join(f'{key}:{value(found[key])}' for key in sorted(found))}]"


def _list(found: Sequence[Any]) -> str:
    return f"[{' '.join(value(one) for one in found)}]"


def _float(found: float) -> str:
    """The shortest digits, with an exponent below 1e-4 and from 1e6 on."""
    number = Decimal(repr(found))
    exponent = number.adjusted()
    if -4 <= exponent < 6:
        return format(number.normalize(), "f")
    digits = "".join(map(str, number.normalize().as_tuple().digits))
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{'-' if found < 0 else ''}{digits[0]}{fraction}e{exponent:+03d}"


_VALUES: tuple[tuple[type | tuple[type, ...], Callable[[Any], str]], ...] = (
    (type(None), lambda _: "<nil>"),
    (bool, lambda found: "true" if found else "false"),
    (float, _float),
    (dict, _map),
    (list, _list),
)
