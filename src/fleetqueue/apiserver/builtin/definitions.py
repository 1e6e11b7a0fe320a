"""CustomResourceDefinitions and APIServices: what extends the API."""

from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, one_of, wrongs
from fleetqueue.apiserver.builtin.making import part
from fleetqueue.apiserver.strategy import Object, Strategy

EXTENSIONS = "apiextensions.k8s.io"
REGISTRATION = "apiregistration.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
PENDING = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
LOCAL = "Local APIServices are always available"
GROUP_PRIORITY_MAX = 20000
VERSION_PRIORITY_MAX = 1000


def default_definition(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    kinds = spec.setdefault("names", {})
    if not kinds.get("singular"):
        kinds["singular"] = kinds.get("kind", "").lower()
    if not kinds.get("listKind") and kinds.get("kind"):
        kinds["listKind"] = f"{kinds['kind']}List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    service = part(spec, "conversion", "webhook", "clientConfig").get("service")
    if service is not None and service.get("port") is None:
        service["port"] = 443


def prepare_definition(obj: Object) -> None:
    obj["status"] = {"storedVersions": _storage_versions(obj)[:1]}


def prepare_definition_update(obj: Object, old: Object) -> None:
    status = part(obj, "status")
    stored = status.get("storedVersions") or []
    fresh = [name for name in _storage_versions(obj)[:1] if name not in stored]
    if fresh:
        obj["status"] = {**status, "storedVersions": [*stored, *fresh]}


def validate_definition(obj: Object) -> Errors:
    return _structural_errors(obj, None)


def validate_definition_update(obj: Object, old: Object) -> Errors:
    return _structural_errors(obj, old)


def _structural_errors(obj: Object, old: Object | None) -> Errors:
    # With it comes the rules language, which a server without CRDs never needs.
    from fleetqueue.apiserver.schema import structural

    return structural.validate_crd(obj, old)


def begin_cleanup(obj: Object) -> None:
    """The objects of a kind go before the kind does."""
    metadata = obj["metadata"]
    finalizers = metadata.get("finalizers") or []
    if CLEANUP not in finalizers:
        metadata["finalizers"] = [*finalizers, CLEANUP]
    metadata.pop("deletionGracePeriodSeconds", None)
    # Of all kinds with a generation, this one alone does not grow when its deletion begins.
    metadata["generation"] -= 1
    status = obj.setdefault("status", {})
    others = [c for c in status.get("conditions") or () if c.get("type") != "Terminating"]
    status["conditions"] = [
        *others,
        {
            "type": "Terminating",
            "status": "True",
            "lastTransitionTime": metadata["deletionTimestamp"],
            "reason": "InstanceDeletionPending",
            "message": PENDING,
        },
    ]


def _storage_versions(obj: Object) -> list[str]:
    return [v.get("name", "") for v in part(obj, "spec").get("versions") or () if v.get("storage")]


def default_service(obj: Object) -> None:
    service = part(obj, "spec").get("service")
    if service is not None and service.get("port") is None:
        service["port"] = 443


def prepare_service(obj: Object) -> None:
    obj.pop("status", None)
    if part(obj, "spec").get("service") is None:
        obj["status"] = {
            "conditions": [
                {
                    "type": "Available",
                    "status": "True",
                    "lastTransitionTime": obj["metadata"].get("creationTimestamp"),
                    "reason": "Local",
                    "message": LOCAL,
                }
            ]
        }


def validate_service(obj: Object) -> Errors:
    spec = part(obj, "spec")
    group, version = spec.get("group", ""), spec.get("version", "")
    errors = _validate_service_name(obj["metadata"].get("name", ""), f"{version}.{group}")
    if not group and version != "v1":
        why = "only v1 may have an empty group and it better be legacy kube"
        errors.append(fields.required("spec.group", why))
    if group:
        errors += wrongs("spec.group", group, names.dns1123_subdomain(group))
    errors += wrongs("spec.version", version, names.dns1035_label(version))
    for name, most in (
        ("groupPriorityMinimum", GROUP_PRIORITY_MAX),
        ("versionPriority", VERSION_PRIORITY_MAX),
    ):
        value = spec.get(name, 0)
        if not 0 < value <= most:
            why = f"must be positive and less than {most}"
            errors.append(fields.wrong(f"spec.{name}", value, why))
    return errors + _validate_target(spec)


def _validate_service_name(name: str, wanted: str) -> Errors:
    if found := names.path_segment(name):
        return wrongs("metadata.name", name, found)
    if name == wanted:
        return []
    why = f'must be `spec.version+"."+spec.group`: "{wanted}"'
    return [fields.wrong("metadata.name", name, why)]


def _validate_target(spec: Any) -> Errors:
    service, bundle = spec.get("service"), spec.get("caBundle")
    skips, errors = bool(spec.get("insecureSkipTLSVerify")), []
    path = "spec.insecureSkipTLSVerify"
    if service is None:
        if bundle:
            size = len(bundle) // 4 * 3 - bundle.count("=", -2)
            why = "local APIServices may not have a caBundle"
            errors.append(fields.wrong("spec.caBundle", f"{size} bytes", why))
        if skips:
            why = "local APIServices may not have insecureSkipTLSVerify"
            errors.append(fields.wrong(path, True, why))
        return errors
    errors += [
        fields.required(f"spec.service.{name}")
        for name in ("namespace", "name")
        if not service.get(name)
    ]
    port = service.get("port", 443)
    if found := names.port_number(port):
        why = f"port is not valid: {', '.join(found)}"
        errors.append(fields.wrong("spec.service.port", port, why))
    if skips and bundle:
        errors.append(fields.wrong(path, True, "may not be true if caBundle is present"))
    return errors


def _validate_service_status(obj: Object, old: Object) -> Errors:
    errors: Errors = []
    for index, condition in enumerate(part(obj, "status").get("conditions") or ()):
        path = f"status.conditions[{index}].status"
        errors += one_of(condition.get("status", ""), ("True", "False", "Unknown"), path)
    return errors


STRATEGIES: dict[tuple[str, str], Strategy] = {
    (EXTENSIONS, "CustomResourceDefinition"): Strategy(
        default=default_definition,
        prepare_create=prepare_definition,
        prepare_update=prepare_definition_update,
        validate_create=validate_definition,
        validate_update=validate_definition_update,
        on_delete=begin_cleanup,
        allow_unconditional_update=False,
    ),
    (REGISTRATION, "APIService"): Strategy(
        default=default_service,
        prepare_create=prepare_service,
        validate_create=validate_service,
        validate_update=lambda obj, old: validate_service(obj),
        validate_status=_validate_service_status,
        validate_name=names.path_segment,
        has_generation=False,
        allow_unconditional_update=False,
    ),
}
