"""Events, in core/v1 and in events.k8s.io, whose rules are stricter."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import IMMUTABLE, Errors, same, wrongs
from fleetqueue.apiserver.builtin.conversions import convert_event
from fleetqueue.apiserver.builtin.making import kind, part, text
from fleetqueue.apiserver.strategy import Object, Strategy

GROUP = "events.k8s.io"
_LIMITS = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_REFERENCE = {
    "Kind": "kind",
    "Namespace": "namespace",
    "Name": "name",
    "UID": "uid",
    "APIVersion": "apiVersion",
    "ResourceVersion": "resourceVersion",
    "FieldPath": "fieldPath",
}
_SHOWN = {"involvedObject": _REFERENCE, "source": {"Component": "component", "Host": "host"}}
_TEXTS = ("reason", "message", "type", "action", "reportingComponent", "reportingInstance")
_UNSET = ("firstTimestamp", "lastTimestamp", "count")
_FIXED = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "reason",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
)


def validate_event(event: Object, old: Object | None) -> Errors:
    return _validate_common(event, "reportingComponent")


def validate_new_event(obj: Object, old: Object | None) -> Errors:
    """Rules are told in the names of core/v1, whichever way the event came."""
    event = convert_event(obj, "v1")
    errors = _validate_common(event, "reportingController")
    if old is not None:
        return errors + _validate_change(event, convert_event(old, "v1"))
    errors += _validate_series(event)
    if not event.get("eventTime"):
        errors.append(fields.required("eventTime"))
    if event.get("type") not in ("Normal", "Warning"):
        why = f"has invalid value: {event.get('type') or ''}"
        errors.append(fields.wrong("type", "", why))
    for name in _UNSET:
        if event.get(name):
            errors.append(fields.wrong(name, "", "needs to be unset"))
    if any(part(event, "source").get(name) for name in ("component", "host")):
        errors.append(fields.wrong("source", "", "needs to be unset"))
    return errors


def _validate_common(event: Mapping[str, Any], reporter: str) -> Errors:
    errors: Errors = []
    namespace = event["metadata"].get("namespace", "")
    involved = part(event, "involvedObject").get("namespace", "")
    if not event.get("eventTime"):
        matches = namespace == involved if involved else namespace in ("", "default")
    else:
        matches = bool(involved) or namespace in ("default", "kube-system")
    if not matches:
        why = "does not match event.namespace"
        errors.append(fields.wrong("involvedObject.namespace", involved, why))
    if event.get("eventTime"):
        errors += _validate_reporter(event, reporter)
    return errors + wrongs("namespace", namespace, names.dns1123_subdomain(namespace))


def _validate_reporter(event: Mapping[str, Any], reporter: str) -> Errors:
    errors: Errors = []
    controller = event.get("reportingComponent") or ""
    if not controller:
        errors.append(fields.required(reporter))
    errors += wrongs(reporter, controller, names.qualified_name(controller))
    for name, longest in _LIMITS.items():
        value = event.get(name) or ""
        if not value and name != "message":
            errors.append(fields.required(name))
        if names.byte_length(value) > longest:
            errors.append(fields.wrong(name, "", f"can have at most {longest} characters"))
    return errors


def _validate_change(event: Mapping[str, Any], old: Mapping[str, Any]) -> Errors:
    errors: Errors = []
    if event.get("series") != old.get("series"):
        errors += _validate_series(event)
    for name in _FIXED:
        if not same(event.get(name), old.get(name)):
            path = "reportingController" if name == "reportingComponent" else name
            errors.append(fields.wrong(path, _shown(name, event.get(name)), IMMUTABLE))
    return errors


def _shown(name: str, value: Any) -> Any:
    """As the server's inner form prints it: with Go's names, and with what is not set."""
    if name in _SHOWN:
        return {part: (value or {}).get(key, "") for part, key in _SHOWN[name].items()}
    return "" if value is None and name in _TEXTS else value


def _validate_series(event: Mapping[str, Any]) -> Errors:
    series = event.get("series")
    if series is None:
        return []
    errors: Errors = []
    if series.get("count", 0) < 2:
        errors.append(fields.wrong("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(fields.required("series.lastObservedTime"))
    return errors


def _source(event: Object) -> str:
    component = part(event, "source").get("component") or event.get("reportingComponent")
    return str(component or "")


_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_FIELDS = {
    **{f"involvedObject.{name}": text("involvedObject", name) for name in _INVOLVED},
    "reason": text("reason"),
    "reportingComponent": text("reportingComponent"),
    "source": _source,
    "type": text("type"),
}
_NEW_FIELDS = {
    **{f"regarding.{name}": text("involvedObject", name) for name in _INVOLVED},
    "reason": text("reason"),
    "reportingController": text("reportingComponent"),
    "type": text("type"),
}
_FACTS: dict[str, Any] = {"has_status": False, "allow_create_on_update": True}

STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "Event"): kind(validate_event, fields=_FIELDS, **_FACTS),
    (GROUP, "Event"): kind(validate_new_event, fields=_NEW_FIELDS, **_FACTS),
}
