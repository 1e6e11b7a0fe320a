"""Rules for probes and lifecycle hooks of containers."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, nonnegative, one_of, wrongs

Object = Mapping[str, Any]

_PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")
_COUNTS = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)


def validate_probes(container: Object, grace_seconds: int | None, path: str) -> Errors:
    errors: Errors = []
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        if (probe := container.get(kind)) is not None:
            errors += _validate_probe(probe, kind, grace_seconds, f"{path}.{kind}")
    return errors


def validate_lifecycle(lifecycle: Object, grace_seconds: int | None, path: str) -> Errors:
    errors: Errors = []
    for kind in ("postStart", "preStop"):
        if (hook := lifecycle.get(kind)) is not None:
            errors += _validate_handler(hook, _HOOK_HANDLERS, grace_seconds, f"{path}.{kind}")
    return errors


def validate_port_reference(port: int | str, path: str) -> Errors:
    """A port by number or by name."""
    check = names.port_name(port) if isinstance(port, str) else names.port_number(port)
    return wrongs(path, port, check)


def _validate_probe(probe: Object, kind: str, grace_seconds: int | None, path: str) -> Errors:
    errors = _validate_handler(probe, _PROBE_HANDLERS, grace_seconds, path)
    for name in _COUNTS:
        errors += nonnegative(probe.get(name), f"{path}.{name}")
    own = probe.get("terminationGracePeriodSeconds")
    if own is not None and own <= 0:
        why = "must be greater than 0"
        errors.append(fields.wrong(f"{path}.terminationGracePeriodSeconds", own, why))
    if kind == "readinessProbe":
        if own is not None:
            why = "must not be set for readinessProbes"
            errors.append(fields.wrong(f"{path}.terminationGracePeriodSeconds", own, why))
    elif (threshold := probe.get("successThreshold") or 0) != 1:
        errors.append(fields.wrong(f"{path}.successThreshold", threshold, "must be 1"))
    return errors


def _validate_handler(
    handler: Object, kinds: tuple[str, ...], grace_seconds: int | None, path: str
) -> Errors:
    given = [kind for kind in kinds if handler.get(kind) is not None]
    if not given:
        return [fields.required(path, "must specify a handler type")]
    first, *extra = given
    errors = _validate_action(first, handler[first], grace_seconds, f"{path}.{first}")
    why = "may not specify more than 1 handler type"
    return errors + [fields.forbidden(f"{path}.{kind}", why) for kind in extra]


def _validate_action(kind: str, action: Object, grace_seconds: int | None, path: str) -> Errors:
    match kind:
        case "exec":
            return [] if action.get("command") else [fields.required(f"{path}.command")]
        case "httpGet":
            return _validate_request(action, path)
        case "sleep":
            return _validate_sleep(action.get("seconds") or 0, grace_seconds, path)
        case _:
            return validate_port_reference(action.get("port", 0), f"{path}.port")


def _validate_request(action: Object, path: str) -> Errors:
    errors = [] if action.get("path") else [fields.required(f"{path}.path")]
    errors += validate_port_reference(action.get("port", 0), f"{path}.port")
    errors += one_of(action.get("scheme", ""), ("HTTP", "HTTPS"), f"{path}.scheme")
    for header in action.get("httpHeaders") or ():
        name = header.get("name", "")
        errors += wrongs(f"{path}.httpHeaders", name, names.http_header_name(name))
    return errors


def _validate_sleep(seconds: int, grace_seconds: int | None, path: str) -> Errors:
    if grace_seconds is None or 0 <= seconds <= grace_seconds:
        return []
    why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_seconds})"
    return [fields.wrong(path, seconds, why)]
