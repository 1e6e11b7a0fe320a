"""What a pod can be told of itself: its fields, and the resources of its containers, as text."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.api import names
from fleetqueue.api.quantity import Quantity
from fleetqueue.kube.resources import Object

_SUBSCRIPT = re.compile(r"(.+?)\['(.*)'\]", re.DOTALL)
_LIMITED = ("cpu", "memory", "ephemeral-storage")
"""Whatever a container may use of these without a limit is what the node has."""


class NoSuchField(ValueError):
    """Nobody can be told this; the text is the kubelet's."""


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """What the machine knows of a pod and its status may not say yet."""

    addresses: Sequence[str] = ()
    host_addresses: Sequence[str] = ()
    allocatable: Mapping[str, Any] = field(default_factory=dict)
    """Of the node."""


def field_value(pod: Object, path: str, where: Whereabouts) -> str:
    """The value of a `fieldRef`."""
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    known: dict[str, Callable[[], Any]] = {
        "metadata.name": lambda: metadata.get("name"),
        "metadata.namespace": lambda: metadata.get("namespace"),
        "metadata.uid": lambda: metadata.get("uid"),
        "metadata.labels": lambda: format_map(metadata.get("labels") or {}),
        "metadata.annotations": lambda: format_map(metadata.get("annotations") or {}),
        "spec.nodeName": lambda: spec.get("nodeName"),
        "spec.serviceAccountName": lambda: spec.get("serviceAccountName"),
        "status.hostIP": lambda: next(iter(where.host_addresses), ""),
        "status.hostIPs": lambda: ",".join(where.host_addresses),
        "status.podIP": lambda: next(iter(where.addresses), ""),
        "status.podIPs": lambda: ",".join(where.addresses),
    }
    if path in known:
        return str(known[path]() or "")
    found = _SUBSCRIPT.fullmatch(path)
    if found is None:
        raise NoSuchField(f"unsupported fieldPath: {path}")
    return _subscripted(metadata, path, *found.groups())


def resource_value(pod: Object, container: Object, reference: Object, where: Whereabouts) -> str:
    """The value of a `resourceFieldRef`: in units of its divisor, rounded up."""
    name = reference.get("containerName") or ""
    if name and name != container.get("name"):
        container = _find_container(pod, name)
    sort, _, resource = str(reference.get("resource") or "").partition(".")
    is_known = resource in _LIMITED or resource.startswith("hugepages-")
    if sort not in ("limits", "requests") or not is_known:
        raise NoSuchField(f"unsupported container resource : {reference.get('resource')}")
    asked = Quantity.of(((container.get("resources") or {}).get(sort) or {}).get(resource, 0))
    if sort == "limits" and not asked and resource in _LIMITED:
        asked = Quantity.of(where.allocatable.get(resource, 0))
    divisor = Quantity.of(reference.get("divisor") or 0) or Quantity(1)
    if resource == "cpu":
        return str(-(-asked.milli_value() // divisor.milli_value()))
    return str(-(-asked.value() // divisor.value()))


def format_map(entries: Mapping[str, str]) -> str:
    """One `key="value"` per line, sorted."""
    return "\n".join(f"{key}={quote(entries[key])}" for key in sorted(entries))


_ESCAPES = {
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v",
    "\\": r"\\", '"': r"\"",
}  # fmt: skip


def quote(text: str) -> str:
    """As Go's strconv.Quote."""
    return '"' + "".join(_ESCAPES.get(each) or _quote_other(each) for each in text) + '"'


def _quote_other(each: str) -> str:
    if each.isprintable():
        return each
    code = ord(each)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _subscripted(metadata: Object, path: str, head: str, key: str) -> str:
    if head not in ("metadata.labels", "metadata.annotations"):
        raise NoSuchField(f'fieldPath "{path}" does not support subscript')
    is_label = head == "metadata.labels"
    wrong = names.qualified_name(key if is_label else key.lower())
    if wrong:
        raise NoSuchField(f"invalid key subscript in {path}: {';'.join(wrong)}")
    entries = metadata.get("labels" if is_label else "annotations") or {}
    return str(entries.get(key, ""))


def _find_container(pod: Object, name: str) -> Object:
    spec = pod.get("spec") or {}
    for each in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        if each["name"] == name:
            return dict(each)
    raise NoSuchField(f"container {name} not found")
