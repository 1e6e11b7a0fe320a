"""Request bodies: JSON, YAML or protobuf bytes to plain JSON objects, with kube-apiserver's
refusals.
"""

from itertools import islice
from typing import Any

from fleetqueue.api import field_errors as fields
from fleetqueue.apiserver import known_kinds, problems
from fleetqueue.apiserver.call import Call
from fleetqueue.base import codec, go_json

Object = dict[str, Any]

BODY_BYTES_MAX = 3 * 1024 * 1024
SHOWN_BYTES_MAX = 30
PROTOBUF = "application/vnd.kubernetes.protobuf"
ACCEPTED = ("application/json", "application/yaml", PROTOBUF)


def media_type(call: Call) -> str:
    given = call.request.headers.get("content-type", "")
    return (given.split(";")[0].strip().lower() or "?") if given else ""


def read_object(call: Call) -> tuple[Object, list[str]]:
    """The object of a create or update, and what strict decoding found wrong (duplicate fields)."""
    if call.request.object is not None:
        return codec.copy(call.request.object), []
    data = call.request.body
    kind = media_type(call)
    duplicates: list[str] = []
    if kind in ("", "application/json"):
        obj = read_json(data, call)
        if call.field_validation != "Ignore":
            duplicates = [f'duplicate field "{path}"' for path in codec.duplicate_keys(data, obj)]
    else:
        obj = read_other(data, kind)
    if obj is None:
        obj = {}
    if not isinstance(obj, dict):
        raise problems.bad_request(_unrecognized(call, data, no_struct(json_type(obj))))
    return obj, duplicates


def read_other(data: bytes, kind: str) -> Any:
    if kind in ("application/yaml", "text/yaml", "application/x-yaml"):
        from fleetqueue.base import documents

        try:
            return _sorted(documents.load(data.decode()))
        except documents.DocumentError as error:
            raise problems.bad_request(f"error converting YAML to JSON: yaml: {error}") from error
        except (ValueError, UnicodeDecodeError) as error:
            raise problems.bad_request(f"error converting YAML to JSON: {error}") from error
    if kind == PROTOBUF:
        from fleetqueue.apiserver import protobuf

        try:
            return protobuf.decode(data)
        except ValueError as error:
            raise problems.bad_request(str(error)) from error
    listed = ", ".join(ACCEPTED)
    raise problems.unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: " + listed
    )


def _sorted(value: Any) -> Any:
    """YAML is turned into JSON with its keys in order; messages about fields follow that order."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def read_json(data: bytes, call: Call) -> Any:
    try:
        return codec.decode(data)
    except codec.DecodeError as error:
        message = go_json.syntax_error(data)
        if not message:
            return codec.decode_leniently(data)
        raise problems.bad_request(_unrecognized(call, data, message)) from error
    except RecursionError as error:
        message = go_json.too_deep(data)
        raise problems.bad_request(_unrecognized(call, data, message)) from error


def _unrecognized(call: Call, data: bytes, error: str) -> str:
    return (
        f"the object provided is unrecognized (must be of type {call.version.kind}): "
        f"couldn't get version/kind; json parse error: {error} ({_shown(data)})"
    )


def _shown(data: bytes) -> str:
    """The beginning of a body: as text if it looks like an object, otherwise in hexadecimal."""
    if not data:
        return "<empty>"
    head = data[:SHOWN_BYTES_MAX]
    text = head.decode(errors="replace") if data[:1] == b"{" else head.hex()
    return f"{text} ..." if len(data) > SHOWN_BYTES_MAX else text


def no_struct(kind: str) -> str:
    return (
        f"json: cannot unmarshal {kind} into Go value of type struct "
        '{ APIVersion string "json:\\"apiVersion,omitempty\\""; '
        'Kind string "json:\\"kind,omitempty\\"" }'
    )


def check_identity(call: Call, obj: Object) -> None:
    """The body must be of the kind and version, in the namespace and of the name that the path
    says.
    """
    expected = call.api_version
    _check_type(call, obj)
    version, kind = obj.get("apiVersion") or "", obj.get("kind") or ""
    if call.resource.is_custom:
        _check_custom_type(call, obj, version, kind)
    elif version not in ("", expected) or kind not in ("", call.version.kind):
        raise problems.bad_request(wrong_type(call, version or expected, kind or call.version.kind))
    if not isinstance(obj.get("metadata", {}), dict | None):
        raise problems.bad_request(_odd_metadata(call, obj["metadata"]))
    obj["metadata"] = obj.get("metadata") or {}
    _put_type_first(call, obj)


def _put_type_first(call: Call, obj: Object) -> None:
    """In place; most clients write it in this order anyway."""
    kind, version = ("kind", call.version.kind), ("apiVersion", call.api_version)
    first = (version, kind) if call.resource.is_custom else (kind, version)
    if tuple(islice(obj.items(), 2)) == first:
        return
    rest = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind")}
    obj.clear()
    obj.update(first)
    obj.update(rest)


def _odd_metadata(call: Call, metadata: Any) -> str:
    kind = call.version.kind
    where = "value" if call.resource.is_custom else f"struct field {kind}.metadata"
    return (
        f"{kind} in version {_quote(call.version.name)} cannot be handled as a {kind}: json: "
        f"cannot unmarshal {json_type(metadata)} into Go {where} of type v1.ObjectMeta"
    )


def _check_custom_type(call: Call, obj: Object, version: str, kind: str) -> None:
    if not kind:
        data = call.request.body or codec.encode(obj)
        raise problems.bad_request(
            f"the object provided is unrecognized (must be of type {call.version.kind}): "
            f"Object 'Kind' is missing in '{data.decode(errors='replace')}' ({_shown(data)})"
        )
    if version != call.api_version:
        raise problems.bad_request(_wrong_version(call, version))
    if kind != call.version.kind:
        metadata = obj.get("metadata")
        name = metadata.get("name") or "" if isinstance(metadata, dict) else ""
        error = fields.wrong("kind", kind, f"must be {call.version.kind}")
        raise problems.invalid(call.resource.group, kind, name, [error])


def _check_type(call: Call, obj: Object) -> None:
    why = ""
    for name in ("apiVersion", "kind"):
        if obj.get(name).__class__ is str:
            continue
        if not isinstance(obj.get(name) or "", str) or obj.get(name) in ({}, [], 0, False):
            found = json_type(obj[name])
            why = why or (
                "couldn't get version/kind; json parse error: json: cannot unmarshal "
                f"{found} into Go struct field .{name} of type string"
            )
    version = obj.get("apiVersion") or ""
    if not why and version.count("/") > 1:
        why = f"unexpected GroupVersion string: {version}"
    if why:
        shown = _shown(call.request.body or codec.encode(obj))
        raise problems.bad_request(
            f"the object provided is unrecognized (must be of type {call.version.kind}): "
            f"{why} ({shown})"
        )


def wrong_name(call: Call, name: Any) -> problems.ApiError:
    if not name:
        return problems.bad_request(
            f"the name of the object ({call.route.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    return problems.bad_request(
        f"the name of the object ({name or ''}) does not match the name on the URL "
        f"({call.route.name})"
    )


def wrong_type(call: Call, version: Any, kind: Any) -> str:
    """Why a body of this version and kind cannot be taken here."""
    version, kind = str(version), str(kind)
    if call.resource.is_custom:
        return _wrong_version(call, version)
    group, _, short = version.rpartition("/")
    if not known_kinds.is_known(group, short, kind):
        return _unknown_kind(call, version, kind)
    if kind == call.version.kind and group == call.resource.group:
        return _wrong_version(call, version)
    return _wrong_kind(call, version, kind)


def check_namespace(call: Call, obj: Object) -> None:
    metadata = obj["metadata"]
    if not call.resource.namespaced:
        metadata.pop("namespace", None)
        return
    if not metadata.get("namespace"):
        metadata["namespace"] = call.route.namespace
    if metadata["namespace"] != call.route.namespace:
        raise problems.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def keep_reset(body: Object, cleaned: Object) -> None:
    """An empty list of managers asks to forget them all; cleaning would lose the wish."""
    if body["metadata"].get("managedFields") == []:
        cleaned["metadata"]["managedFields"] = [{}]


def report_unknown(call: Call, found: list[str]) -> None:
    """Unknown and duplicate fields: an error, a warning or nothing, as fieldValidation says."""
    if not found or call.field_validation == "Ignore":
        return
    if call.field_validation == "Strict":
        raise problems.bad_request(
            f"{call.version.kind} in version {_quote(call.version.name)} cannot be handled as a "
            f"{call.version.kind}: strict decoding error: {', '.join(found)}"
        )
    for text in found:
        call.warn(text)


def _quote(text: str) -> str:
    return fields.show(text)


def _wrong_version(call: Call, api_version: str) -> str:
    return (
        f"the API version in the data ({api_version}) does not match the expected API "
        f"version ({call.api_version})"
    )


def _unknown_kind(call: Call, api_version: str, kind: str) -> str:
    short = api_version.rpartition("/")[2]
    return (
        f"{kind} in version {_quote(short)} cannot be handled as a {call.version.kind}: "
        + not_registered(api_version, kind)
    )


def not_registered(api_version: str, kind: str) -> str:
    return (
        f"no kind {_quote(kind)} is registered for version {_quote(api_version)} in scheme "
        '"pkg/runtime/scheme.go:110"'
    )


def _wrong_kind(call: Call, api_version: str, kind: str) -> str:
    short = api_version.rpartition("/")[2]
    expected, group = call.version.kind, call.resource.group.split(".")[0] or "core"
    return (
        f"{kind} in version {_quote(short)} cannot be handled as a {expected}: converting "
        f"({short}.{kind}) to ({group}.{expected}): unknown conversion"
    )


def json_type(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "bool", type(None): "null"}
    return names.get(type(value), "number")
