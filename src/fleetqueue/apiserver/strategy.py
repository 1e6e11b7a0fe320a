"""What one kind adds to the path that all writes take.

The server decodes, defaults, runs admission, validates and stores; a strategy says what is special
about a kind. Every function takes plain JSON objects: `obj` belongs to the request and may be
changed in place, `old` is what is stored and must not be touched.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fleetqueue.api.field_errors import FieldError

Object = dict[str, Any]


def _nothing(*_: Any) -> None:
    return None


def _always(*_: Any) -> bool:
    return True


def _no_errors(*_: Any) -> list[FieldError]:
    return []


def _no_warnings(*_: Any) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Strategy:
    """The behaviour of a kind; what is left out behaves as a plain object with a status.

    Order on create: default, (mutating webhooks, default again), prepare_create, validate_create.
    Order on update: default, prepare_update, (webhooks), validate_update; the two get (obj, old).
    """

    default: Callable[[Object], None] = _nothing
    prepare_create: Callable[[Object], None] = _nothing
    """Before validation: clear what a client may not set, generate what the server sets."""
    prepare_update: Callable[[Object, Object], None] = _nothing
    validate_create: Callable[[Object], list[FieldError]] = _no_errors
    validate_update: Callable[[Object, Object], list[FieldError]] = _no_errors
    prepare_status: Callable[[Object, Object], None] = _nothing
    """On a write to /status, after the server has put all but `status` back."""
    as_read: Callable[[Object], None] = _nothing
    """After all checks: what kube-apiserver changes only when it reads the stored object back."""
    validate_status: Callable[[Object, Object], list[FieldError]] = _no_errors
    reset: Mapping[str, Any] = field(default_factory=dict)
    """What a write to the whole object cannot change, where that is more than `status`."""
    status_reset: Mapping[str, Any] = field(default_factory=lambda: {"f:spec": {".": {}}})
    """What a write to /status cannot change, as a field set."""
    warnings: Callable[[Object, Object | None], list[str]] = _no_warnings
    """Warning headers for a create (old is None) or an update."""
    validate_name: Callable[[str, bool], list[str]] | None = None
    """(name, is_prefix) -> what is wrong with metadata.name; None means a DNS subdomain."""
    has_generation: bool = True
    """metadata.generation starts at 1 and grows when anything but metadata and status changes."""
    generation_grows: bool = True
    """Whether it ever does; a few kinds stay at 1."""
    has_status: bool = True
    """A write to the main resource leaves `status` alone, and /status exists."""
    fields: Mapping[str, Callable[[Object], str]] = field(default_factory=dict)
    """Field-selector labels beyond metadata.name and metadata.namespace."""
    allow_create_on_update: bool = False
    """PUT of an object that does not exist creates it."""
    allow_unconditional_update: bool = True
    """PUT without a resourceVersion is accepted."""
    graceful_seconds: Callable[[Object, int | None], int] | None = None
    """(obj, asked) -> seconds to wait on delete; None: deletes at once. Only Pods wait."""
    may_leave: Callable[[Object], bool] = _always
    """Whether an object that waits only for its finalizers may go; a Namespace has others."""
    aspects: Mapping[str, "Aspect"] = field(default_factory=dict)
    """Subresources that show and change a part of the object, beyond status."""
    on_delete: Callable[[Object], None] | None = None
    """When a deletion is first noted: a Namespace becomes Terminating."""
    orphans_by_default: bool = False
    """A deletion that names no policy leaves the dependents; Jobs have always done so."""
    delete_warning: str = ""
    """Sent with a deletion that names no policy."""
    returns_deleted: bool = False
    """A deletion answers with the object that was deleted, not with a Status."""


class View(NamedTuple):
    """A kind of its own as which a subresource shows an object: a Scale."""

    kind: tuple[str, str, str]
    """Group, version and kind."""
    read: Callable[[Any, Object], Object]
    """(the call, an object) -> what is shown of it."""
    write: Callable[[Any, Object, Object], Object]
    """(the call, an object, what it should show) -> the object that shows it."""


@dataclass(frozen=True, slots=True)
class Aspect:
    """A part of an object that a subresource writes: what it leaves of `obj`, what it checks."""

    name: str
    restrict: Callable[[Object, Object], Object]
    """(what the client wants, old) -> what the write may become."""
    validate: Callable[[Object, Object], list[FieldError]] | None = None
    reset: Object = field(default_factory=dict)
    """The fields, as a field set, that a write to this part cannot change."""
    view: View | None = None


def only_status(obj: Object, old: Object) -> Object:
    """A status write of a built-in kind changes status and what clients own of metadata."""
    return _with_status({**old, "metadata": obj["metadata"]}, obj)


def only_custom_status(obj: Object, old: Object) -> Object:
    """A status write of a custom resource changes status, and of metadata the managers alone."""
    kept = ("managedFields", "resourceVersion")
    metadata = {name: value for name, value in old["metadata"].items() if name not in kept}
    metadata |= {name: obj["metadata"][name] for name in kept if name in obj["metadata"]}
    return _with_status({**old, "metadata": metadata}, obj)


def _with_status(written: Object, obj: Object) -> Object:
    if "status" in obj:
        written["status"] = obj["status"]
    else:
        written.pop("status", None)
    return written


WHOLE = Aspect("", lambda obj, old: obj)
_ALL_BUT_STATUS: Object = {"f:spec": {".": {}}}
STATUS = Aspect("status", only_status, reset=_ALL_BUT_STATUS)
CUSTOM_STATUS = Aspect("status", only_custom_status, reset=_ALL_BUT_STATUS)
PLAIN = Strategy()
