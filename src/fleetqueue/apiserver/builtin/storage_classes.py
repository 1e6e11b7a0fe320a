"""The kinds of storage.k8s.io: classes, drivers, capacities and attachments."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names, quantity
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import (
    IMMUTABLE,
    INT32_MAX,
    Errors,
    immutable,
    nonnegative,
    one_of,
    range_message,
    same,
    wrongs,
)
from fleetqueue.apiserver.builtin.internal_form import show_internal
from fleetqueue.apiserver.builtin.making import STATUS_ALONE, kind, part, without_status
from fleetqueue.apiserver.builtin.selectors import (
    has_odd_values,
    validate_label_name,
    validate_label_selector,
)
from fleetqueue.apiserver.builtin.storage_plugins import validate_driver_name
from fleetqueue.apiserver.strategy import Object, Strategy

GROUP = "storage.k8s.io"
PARAMETERS_MAX = 512
PARAMETER_BYTES_MAX = 256 * 1024
ATTACHMENT_BYTES_MAX = 256 * 1024
ERROR_BYTES_MAX = 1024
NODE_ID_LENGTH_MAX = 256
RECLAIM_POLICIES = ("Delete", "Retain")
LIFECYCLES = ("Persistent", "Ephemeral")
TOKEN_SECONDS_MIN = 600


def default_class(obj: Object) -> None:
    if obj.get("reclaimPolicy") is None:
        obj["reclaimPolicy"] = "Delete"
    if obj.get("volumeBindingMode") is None:
        obj["volumeBindingMode"] = "Immediate"


def validate_class(obj: Object, old: Object | None) -> Errors:
    errors = _validate_provisioner(obj.get("provisioner", ""), "provisioner")
    errors += _validate_parameters(obj.get("parameters"), "parameters")
    errors += one_of(obj.get("reclaimPolicy") or None, RECLAIM_POLICIES, "reclaimPolicy")
    modes = ("Immediate", "WaitForFirstConsumer")
    errors += one_of(obj.get("volumeBindingMode"), modes, "volumeBindingMode")
    errors += _validate_topologies(obj.get("allowedTopologies") or [])
    if old is None:
        return errors
    errors += _forbid_changes(obj, old, ("parameters", "provisioner", "reclaimPolicy"))
    mode = "volumeBindingMode"
    return errors + immutable(obj.get(mode), old.get(mode), mode)


def _validate_provisioner(name: str, path: str) -> Errors:
    if not name:
        return [fields.required(path)]
    return wrongs(path, name.lower(), names.qualified_name(name.lower()))


def _validate_parameters(
    parameters: Mapping[str, str] | None, path: str, *, is_required: bool = False
) -> Errors:
    parameters = parameters or {}
    if len(parameters) > PARAMETERS_MAX:
        return [fields.too_long(path, PARAMETERS_MAX)]
    errors: Errors = []
    if "" in parameters:
        errors.append(fields.wrong(path, "", "field can not be empty."))
    if _size(parameters) > PARAMETER_BYTES_MAX:
        errors.append(fields.too_long(path, PARAMETER_BYTES_MAX))
    if is_required and not parameters:
        errors.append(fields.required(path, "must contain at least one key/value pair"))
    return errors


def _size(texts: Mapping[str, str]) -> int:
    return sum(names.byte_length(key) + names.byte_length(value) for key, value in texts.items())


def _validate_topologies(terms: list[Mapping[str, Any]]) -> Errors:
    errors: Errors = []
    seen: list[Any] = []
    for index, term in enumerate(terms):
        path = f"allowedTopologies[{index}]"
        found, values = _read_term(term, path)
        errors += found
        if not values or values in seen:
            errors.append(fields.duplicate(f"{path}.matchLabelExpressions", ""))
        seen.append(values)
    return errors


def _read_term(term: Mapping[str, Any], path: str) -> tuple[Errors, dict[str, set[str]]]:
    errors: Errors = []
    values: dict[str, set[str]] = {}
    for index, expression in enumerate(term.get("matchLabelExpressions") or ()):
        at, key = f"{path}.matchLabelExpressions[{index}]", expression.get("key", "")
        listed = expression.get("values") or []
        if not listed:
            errors.append(fields.required(f"{at}.values"))
        for position, value in enumerate(listed):
            if value in listed[:position]:
                errors.append(fields.duplicate(f"{at}.values[{position}]", value))
        errors += validate_label_name(key, f"{at}.key")
        if key in values:
            errors.append(fields.duplicate(f"{at}.key", key))
        values[key] = set(listed)
    return errors, values


def _forbid_changes(obj: Object, old: Object, parts: tuple[str, ...]) -> Errors:
    return [
        fields.forbidden(name, f"updates to {name} are forbidden.")
        for name in parts
        if (obj.get(name) or None) != (old.get(name) or None)
    ]


def validate_attributes_class(obj: Object, old: Object | None) -> Errors:
    errors = [] if old is None else _forbid_changes(obj, old, ("driverName", "parameters"))
    errors += _validate_provisioner(obj.get("driverName", ""), "driverName")
    return errors + _validate_parameters(obj.get("parameters"), "parameters", is_required=True)


def default_driver(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("attachRequired", True)
    for name in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
        spec.setdefault(name, False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def validate_driver(obj: Object, old: Object | None) -> Errors:
    spec = part(obj, "spec")
    policies = ("File", "None", "ReadWriteOnceWithFSType")
    errors = one_of(spec.get("fsGroupPolicy"), policies, "spec.fsGroupPolicy")
    errors += _validate_tokens(spec.get("tokenRequests") or [])
    for mode in spec.get("volumeLifecycleModes") or ():
        errors += one_of(mode, LIFECYCLES, "spec.volumeLifecycleModes")
    seconds = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if seconds is not None and seconds < 10:
        path, why = (
            "spec.nodeAllocatableUpdatePeriodSeconds",
            "must be greater than or equal to 10 seconds",
        )
        errors.append(fields.wrong(path, seconds, why))
    if old is None:
        return errors
    before = part(old, "spec")
    errors += immutable(
        spec.get("attachRequired"), before.get("attachRequired"), "spec.attachedRequired"
    )
    modes = "volumeLifecycleModes"
    return errors + immutable(spec.get(modes), before.get(modes), f"spec.{modes}")


def _validate_tokens(requests: list[Mapping[str, Any]]) -> Errors:
    errors: Errors = []
    taken: set[str] = set()
    for index, request in enumerate(requests):
        path, audience = f"spec.tokenRequests[{index}]", request.get("audience", "")
        if audience in taken:
            errors.append(fields.duplicate(f"{path}.audience", audience))
            continue
        taken.add(audience)
        seconds = request.get("expirationSeconds")
        if seconds is not None and seconds < TOKEN_SECONDS_MIN:
            why = "may not specify a duration less than 10 minutes"
            errors.append(fields.wrong(f"{path}.expirationSeconds", seconds, why))
        if seconds is not None and seconds > 2**32:
            why = "may not specify a duration larger than 2^32 seconds"
            errors.append(fields.wrong(f"{path}.expirationSeconds", seconds, why))
    return errors


def validate_node(obj: Object, old: Object | None) -> Errors:
    errors: Errors = []
    taken: set[str] = set()
    drivers = part(obj, "spec").get("drivers") or []
    for index, driver in enumerate(drivers):
        path, name = f"spec.drivers[{index}]", driver.get("name", "")
        errors += validate_driver_name(name, f"{path}.name")
        errors += _validate_node_id(driver.get("nodeID", ""), f"{path}.nodeID")
        errors += nonnegative(part(driver, "allocatable").get("count"), f"{path}.allocatable.count")
        if name in taken:
            errors.append(fields.duplicate(f"{path}.name", name))
        taken.add(name)
        errors += _validate_topology_keys(driver.get("topologyKeys") or [], path)
    before = part(old or {}, "spec").get("drivers") or []
    known = {driver.get("name"): driver for driver in before}
    for driver in drivers:
        if driver.get("name") in known:
            errors += _immutable("CSINodeDriver", driver, known[driver["name"]], "spec.drivers")
    return errors


def _validate_node_id(node: str, path: str) -> Errors:
    if not node:
        return [fields.required(path)]
    if len(node) > NODE_ID_LENGTH_MAX:
        return [fields.wrong(path, node, f"must be {NODE_ID_LENGTH_MAX} characters or less")]
    return []


def _validate_topology_keys(keys: list[str], path: str) -> Errors:
    errors: Errors = []
    for index, key in enumerate(keys):
        if not key:
            errors.append(fields.required(path))
        if key in keys[:index]:
            errors.append(fields.duplicate(path, key))
        errors += wrongs(path, key, names.qualified_name(key))
    return errors


def validate_capacity(obj: Object, old: Object | None) -> Errors:
    topology = obj.get("nodeTopology")
    any_value = old is not None and has_odd_values(old.get("nodeTopology"))
    errors = validate_label_selector(topology, "nodeTopology", any_value=any_value)
    name = obj.get("storageClassName", "")
    errors += wrongs("storageClassName", name, names.dns1123_subdomain(name))
    if (amount := obj.get("capacity")) is not None and quantity.parse(amount).sign() < 0:
        errors.append(fields.wrong("capacity", amount, "must be greater than or equal to 0"))
    if old is not None:
        errors += immutable(topology, old.get("nodeTopology"), "nodeTopology")
        errors += immutable(name, old.get("storageClassName", ""), "storageClassName")
    return errors


def validate_attachment(obj: Object, old: Object | None) -> Errors:
    spec = part(obj, "spec")
    attacher = spec.get("attacher", "")
    errors = [] if attacher else [fields.required("spec.attacher")]
    errors += _validate_attached(part(spec, "source"), "spec.source")
    node = spec.get("nodeName", "")
    errors += wrongs("spec.nodeName", node, names.dns1123_subdomain(node))
    if old is None:
        return errors + validate_driver_name(attacher, "spec.attacher")
    return errors + _immutable("VolumeAttachmentSpec", spec, part(old, "spec"), "spec")


def _immutable(of: str, new: Mapping[str, Any], old: Mapping[str, Any], path: str) -> Errors:
    return [] if same(new, old) else [fields.wrong(path, show_internal(of, new), IMMUTABLE)]


def _validate_attached(source: Mapping[str, Any], path: str) -> Errors:
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if name is None and inline is None:
        return [fields.required(path, why)]
    if name is not None and inline is not None:
        return [fields.forbidden(path, why)]
    if name is None:
        return []
    at = f"{path}.persistentVolumeName"
    why = "must specify non empty persistentVolumeName"
    errors = [] if name else [fields.required(at, why)]
    return errors + wrongs(at, name, names.dns1123_subdomain(name))


def validate_attachment_status(obj: Object, old: Object) -> Errors:
    status, errors = part(obj, "status"), []
    if _size(status.get("attachmentMetadata") or {}) > ATTACHMENT_BYTES_MAX:
        errors.append(fields.too_long("status.attachmentMetadata", ATTACHMENT_BYTES_MAX))
    for name in ("attachError", "detachError"):
        problem = status.get(name) or {}
        if names.byte_length(problem.get("message") or "") > ERROR_BYTES_MAX:
            errors.append(fields.too_long(f"status.{name}.message", ATTACHMENT_BYTES_MAX))
        if (code := problem.get("errorCode") or 0) < 0:
            why = range_message(0, INT32_MAX)
            errors.append(fields.wrong(f"status.{name}.errorCode", code, why))
    return errors


_PLAIN: dict[str, Any] = {"has_status": False}

STRATEGIES: dict[tuple[str, str], Strategy] = {
    (GROUP, "StorageClass"): kind(
        validate_class, default=default_class, returns_deleted=True, **_PLAIN
    ),
    (GROUP, "VolumeAttributesClass"): kind(
        validate_attributes_class, returns_deleted=True, **_PLAIN
    ),
    (GROUP, "CSIDriver"): kind(
        validate_driver,
        default=default_driver,
        returns_deleted=True,
        allow_unconditional_update=False,
        **_PLAIN,
    ),
    (GROUP, "CSINode"): kind(
        validate_node, returns_deleted=True, allow_unconditional_update=False, **_PLAIN
    ),
    (GROUP, "CSIStorageCapacity"): kind(
        validate_capacity, allow_unconditional_update=False, **_PLAIN
    ),
    (GROUP, "VolumeAttachment"): kind(
        validate_attachment,
        prepare_create=without_status,
        validate_status=validate_attachment_status,
        returns_deleted=True,
        allow_unconditional_update=False,
        **STATUS_ALONE,
    ),
}
