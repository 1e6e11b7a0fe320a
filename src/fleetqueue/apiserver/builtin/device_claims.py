"""The kinds of resource.k8s.io: classes, claims, claim templates and slices of devices."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import IMMUTABLE, Errors, immutable, same, wrongs
from fleetqueue.apiserver.builtin.device_selectors import validate_selector
from fleetqueue.apiserver.builtin.internal_form import show_internal
from fleetqueue.apiserver.builtin.making import keep_metadata, kind, part, text, without_status
from fleetqueue.apiserver.builtin.pod_affinity import validate_node_selector
from fleetqueue.apiserver.builtin.resource_names import is_extended
from fleetqueue.apiserver.builtin.selectors import validate_annotations, validate_labels
from fleetqueue.apiserver.builtin.storage_plugins import validate_driver_name
from fleetqueue.apiserver.strategy import Object, Strategy

GROUP = "resource.k8s.io"
ITEMS_MAX = 32
FIRST_AVAILABLE_MAX = 8
DEVICES_MAX = 128
POOL_NAME_LENGTH_MAX = 253
ONE_KIND = "exactly one of `exactly` or `firstAvailable` is required"
ONE_PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)
REQUEST_NAME = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)
_Check = Callable[[Any, str], Errors]


def default_claim(obj: Object) -> None:
    _default_requests(part(obj, "spec"))


def default_template(obj: Object) -> None:
    _default_requests(part(obj, "spec", "spec"))


def _default_requests(spec: Mapping[str, Any]) -> None:
    for request in part(spec, "devices").get("requests") or ():
        exact = [request["exactly"]] if request.get("exactly") is not None else []
        for one in (*exact, *(request.get("firstAvailable") or ())):
            if not one.get("allocationMode"):
                one["allocationMode"] = "ExactCount"
            if one["allocationMode"] == "ExactCount" and not one.get("count"):
                one["count"] = 1


def validate_claim(obj: Object, old: Object | None) -> Errors:
    errors: Errors = []
    if old is not None:
        errors += _immutable("ResourceClaimSpec", part(obj, "spec"), part(old, "spec"))
    return errors + _validate_claim_spec(part(obj, "spec"), "spec")


def validate_template(obj: Object, old: Object | None) -> Errors:
    errors: Errors = []
    spec = part(obj, "spec")
    if old is not None:
        errors += _immutable("ResourceClaimTemplateSpec", spec, part(old, "spec"))
    meta = part(spec, "metadata")
    errors += validate_labels(meta.get("labels"), "spec.metadata.labels")
    errors += validate_annotations(meta.get("annotations"), "spec.metadata.annotations")
    return errors + _validate_claim_spec(part(spec, "spec"), "spec.spec")


def _validate_claim_spec(spec: Mapping[str, Any], path: str) -> Errors:
    devices, path = part(spec, "devices"), f"{path}.devices"
    requests = devices.get("requests") or []
    known = _request_names(requests)
    errors = _each(requests, ITEMS_MAX, _validate_request, f"{path}.requests", key="name")

    def reference(name: str, at: str) -> Errors:
        found = [] if name in known else [REQUEST_NAME]
        return wrongs(at, name, found)

    for kind_name in ("constraints", "config"):
        for index, item in enumerate(devices.get(kind_name) or ()):
            at = f"{path}.{kind_name}[{index}]"
            errors += _each(item.get("requests") or [], ITEMS_MAX, reference, f"{at}.requests")
            if kind_name == "config":
                errors += _validate_configuration(item, at)
            elif not item.get("matchAttribute"):
                errors.append(fields.required(f"{at}.matchAttribute"))
    return errors


def _immutable(of: str, new: Mapping[str, Any], old: Mapping[str, Any]) -> Errors:
    return [] if same(new, old) else [fields.wrong("spec", show_internal(of, new), IMMUTABLE)]


def _request_names(requests: Sequence[Mapping[str, Any]]) -> set[str]:
    known: set[str] = set()
    for request in requests:
        name = request.get("name", "")
        known.add(name)
        known |= {f"{name}/{sub.get('name', '')}" for sub in request.get("firstAvailable") or ()}
    return known


def _validate_request(request: Mapping[str, Any], path: str) -> Errors:
    errors = _validate_name(request.get("name", ""), f"{path}.name")
    exact, choices = request.get("exactly"), request.get("firstAvailable") or []
    if choices:
        at = f"{path}.firstAvailable"
        errors += _each(choices, FIRST_AVAILABLE_MAX, _validate_choice, at, key="name")
    if exact is not None:
        errors += _validate_exact(exact, f"{path}.exactly")
    if exact is None and not choices:
        errors.append(fields.required(path, ONE_KIND))
    elif exact is not None and choices:
        why = f"{ONE_KIND}, but multiple fields are set"
        errors.append(fields.wrong(path, None, why))
    return errors


def _validate_choice(choice: Mapping[str, Any], path: str) -> Errors:
    errors = _validate_name(choice.get("name", ""), f"{path}.name")
    return errors + _validate_exact(choice, path)


def _validate_exact(request: Mapping[str, Any], path: str) -> Errors:
    name = request.get("deviceClassName", "")
    at = f"{path}.deviceClassName"
    errors = wrongs(at, name, names.dns1123_subdomain(name)) if name else [fields.required(at)]
    errors += _each(
        request.get("selectors") or [], ITEMS_MAX, validate_selector, f"{path}.selectors"
    )
    mode, count = request.get("allocationMode", ""), request.get("count") or 0
    if mode == "All":
        if count:
            why = "must not be specified when allocationMode is 'All'"
            errors.append(fields.wrong(f"{path}.count", count, why))
    elif mode == "ExactCount":
        if count <= 0:
            errors.append(fields.wrong(f"{path}.count", count, "must be greater than zero"))
    else:
        allowed = ("All", "ExactCount")
        errors.append(fields.unsupported(f"{path}.allocationMode", mode, allowed))
    return errors


def _validate_name(name: str, path: str) -> Errors:
    return wrongs(path, name, names.dns1123_label(name))


def _validate_configuration(configuration: Mapping[str, Any], path: str) -> Errors:
    opaque = configuration.get("opaque")
    if opaque is None:
        return [fields.required(f"{path}.opaque")]
    errors = validate_driver_name(opaque.get("driver", ""), f"{path}.opaque.driver")
    if opaque.get("parameters") is None:
        errors.append(fields.required(f"{path}.opaque.parameters"))
    return errors


def _each(items: Sequence[Any], most: int, check: _Check, path: str, key: str = "") -> Errors:
    """Check each item; where there is a key, or an item is a name, no two may be alike."""
    errors: Errors = []
    if len(items) > most:
        errors.append(fields.too_many(path, len(items), most))
    taken: set[str] = set()
    for index, item in enumerate(items):
        at = f"{path}[{index}]"
        errors += check(item, at)
        name = item if isinstance(item, str) else item.get(key, "") if key else ""
        if name and name in taken:
            errors.append(fields.duplicate(f"{at}.{key}" if key else at, name))
        taken.add(name)
    return errors


def validate_class(obj: Object, old: Object | None) -> Errors:
    spec = part(obj, "spec")
    errors = _each(spec.get("selectors") or [], ITEMS_MAX, validate_selector, "spec.selectors")
    errors += _each(spec.get("config") or [], ITEMS_MAX, _validate_configuration, "spec.config")
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended(name):
        why = "must be a valid extended resource name"
        errors.append(fields.wrong("spec.extendedResourceName", name, why))
    return errors


def validate_slice(obj: Object, old: Object | None) -> Errors:
    spec = part(obj, "spec")
    errors = validate_driver_name(spec.get("driver", ""), "spec.driver")
    errors += _validate_pool(part(spec, "pool"))
    if old is not None:
        before = part(old, "spec")
        name, was = part(spec, "pool").get("name"), part(before, "pool").get("name")
        errors += immutable(name, was, "spec.pool.name")
        for field in ("driver", "nodeName"):
            errors += immutable(spec.get(field), before.get(field), f"spec.{field}")
    errors += _validate_place(spec)
    devices = spec.get("devices") or []
    return errors + _each(devices, DEVICES_MAX, _validate_device, "spec.devices", key="name")


def _validate_device(device: Mapping[str, Any], path: str) -> Errors:
    return _validate_name(device.get("name", ""), f"{path}.name")


def _validate_pool(pool: Mapping[str, Any]) -> Errors:
    name, errors = pool.get("name", ""), []
    if not name:
        errors.append(fields.required("spec.pool.name"))
    elif len(name) > POOL_NAME_LENGTH_MAX:
        errors.append(fields.too_long("spec.pool.name", POOL_NAME_LENGTH_MAX))
    else:
        for segment in name.split("/"):
            errors += wrongs("spec.pool.name", segment, names.dns1123_subdomain(segment))
    if (count := pool.get("resourceSliceCount") or 0) <= 0:
        why = "must be greater than zero"
        errors.append(fields.wrong("spec.pool.resourceSliceCount", count, why))
    if (generation := pool.get("generation") or 0) < 0:
        why = "must be greater than or equal to zero"
        errors.append(fields.wrong("spec.pool.generation", generation, why))
    return errors


def _validate_place(spec: Mapping[str, Any]) -> Errors:
    errors: Errors = []
    found = []
    if (node := spec.get("nodeName")) is not None:
        if node:
            found.append("`nodeName`")
            errors += wrongs("spec.nodeName", node, names.dns1123_subdomain(node))
        else:
            why = "must be either unset or set to a non-empty string"
            errors.append(fields.wrong("spec.nodeName", node, why))
    if (selector := spec.get("nodeSelector")) is not None:
        found.append("`nodeSelector`")
        errors += validate_node_selector(selector, "spec.nodeSelector")
        terms = selector.get("nodeSelectorTerms") or []
        if len(terms) != 1:
            path, why = (
                "spec.nodeSelector.nodeSelectorTerms",
                "must have exactly one node selector term",
            )
            errors.append(fields.wrong(path, terms, why))
    for name in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(name):
            found.append(f"`{name}`")
        elif spec.get(name) is not None:
            why = "must be either unset or set to true"
            errors.append(fields.wrong(f"spec.{name}", False, why))
    if not found:
        errors.append(fields.required("spec", ONE_PLACE))
    elif len(found) > 1:
        why = f"{ONE_PLACE}, but multiple fields are set"
        errors.append(fields.wrong("spec", f"{{{', '.join(found)}}}", why))
    return errors


STRATEGIES: dict[tuple[str, str], Strategy] = {
    (GROUP, "DeviceClass"): kind(
        validate_class, has_status=False, has_generation=True, returns_deleted=True
    ),
    (GROUP, "ResourceClaim"): kind(
        validate_claim,
        default=default_claim,
        prepare_create=without_status,
        prepare_status=keep_metadata,
        returns_deleted=True,
    ),
    (GROUP, "ResourceClaimTemplate"): kind(
        validate_template, default=default_template, has_status=False, returns_deleted=True
    ),
    (GROUP, "ResourceSlice"): kind(
        validate_slice,
        has_status=False,
        has_generation=True,
        returns_deleted=True,
        fields={
            "spec.nodeName": text("spec", "nodeName"),
            "spec.driver": text("spec", "driver"),
        },
    ),
}
