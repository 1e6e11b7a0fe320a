"""Rules for annotations that mean something for a pod: mirror pods, seccomp, AppArmor."""

import re
from collections.abc import Mapping
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors
from fleetqueue.apiserver.builtin.file_paths import validate_descending
from fleetqueue.apiserver.builtin.pod_containers import visit

Object = Mapping[str, Any]
Annotations = Mapping[str, str]

MIRROR = "kubernetes.io/config.mirror"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"

# Neither a plus sign nor leading zeros.
_COST = re.compile("-[0-9]+|0|[1-9][0-9]*")


def validate_pod_annotations(
    annotations: Annotations, spec: Object, path: str, *, any_cost: bool = False
) -> Errors:
    errors: Errors = []
    if MIRROR in annotations and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(fields.wrong(f"{path}[{MIRROR}]", annotations[MIRROR], why))
    if not any_cost and not is_deletion_cost(annotations.get(DELETION_COST)):
        why = "must be a 32bit integer"
        errors.append(fields.wrong(f"{path}[{DELETION_COST}]", annotations[DELETION_COST], why))
    for key, value in annotations.items():
        if key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            errors += _validate_seccomp(value, f"{path}.{key}")
    containers = {container.get("name", "") for container, _ in visit(spec, "")}
    for key, value in annotations.items():
        if key.startswith(APP_ARMOR):
            name = key.removeprefix(APP_ARMOR)
            if name not in containers:
                errors.append(fields.wrong(f"{path}[{key}]", name, "container not found"))
            if not _is_app_armor(value):
                why = f"invalid AppArmor profile name: {fields.show(value)}"
                errors.append(fields.wrong(f"{path}[{key}]", value, why))
    return errors


def validate_annotation_changes(new: Annotations, old: Annotations, path: str) -> Errors:
    """Some annotations are as fixed as the spec they stand for."""
    errors: Errors = []
    for key in (key for key, value in old.items() if new.get(key) != value):
        if key.startswith(APP_ARMOR):
            why = "may not remove or update AppArmor annotations"
            errors.append(fields.forbidden(f"{path}[{key}]", why))
        if key == MIRROR:
            why = "may not remove or update mirror pod annotation"
            errors.append(fields.forbidden(f"{path}[{key}]", why))
    for key in new.keys() - old.keys():
        if key.startswith(APP_ARMOR):
            errors.append(fields.forbidden(f"{path}[{key}]", "may not add AppArmor annotations"))
        if key == MIRROR:
            errors.append(fields.forbidden(f"{path}[{key}]", "may not add mirror pod annotation"))
    return errors


def validate_profiles_agree(annotations: Annotations, spec: Object, path: str) -> Errors:
    """Where a profile is given by annotation and by field, both must say the same."""
    of_pod = (spec.get("securityContext") or {}).get("seccompProfile")
    pod_path = f"{path}.securityContext.seccompProfile"
    errors = _compare_seccomp(annotations.get(SECCOMP_POD), of_pod, pod_path)
    for container, below in visit(spec, path):
        own = (container.get("securityContext") or {}).get("seccompProfile")
        annotation = annotations.get(f"{SECCOMP_CONTAINER}{container.get('name', '')}")
        errors += _compare_seccomp(annotation, own, f"{below}.securityContext.seccompProfile")
    if (spec.get("os") or {}).get("name") == "windows":
        return errors
    default = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container, below in visit(spec, path):
        own = (container.get("securityContext") or {}).get("appArmorProfile") or default
        annotation = annotations.get(f"{APP_ARMOR}{container.get('name', '')}")
        below = f"{below}.securityContext.appArmorProfile"
        errors += _compare(annotation, own, "apparmor", ("runtime/default",), below)
    return errors


def app_armor_field(annotation: str) -> dict[str, str] | None:
    """The field that says what the annotation says."""
    match annotation.partition("/"):
        case ("unconfined", "", ""):
            return {"type": "Unconfined"}
        case ("runtime", "/", "default"):
            return {"type": "RuntimeDefault"}
        case ("localhost", "/", profile) if profile:
            return {"type": "Localhost", "localhostProfile": profile}
    return None


def is_deletion_cost(text: str | None) -> bool:
    if text is None:
        return True
    return bool(_COST.fullmatch(text)) and -(2**31) <= int(text) < 2**31


def _compare_seccomp(annotation: str | None, profile: Object | None, path: str) -> Errors:
    return _compare(annotation, profile, "seccomp", ("runtime/default", "docker/default"), path)


def _compare(
    annotation: str | None,
    profile: Object | None,
    kind: str,
    defaults: tuple[str, ...],
    path: str,
) -> Errors:
    if annotation is None or profile is None:
        return []
    wrong_type = [
        fields.forbidden(f"{path}.type", f"{kind} type in annotation and field must match")
    ]
    match profile.get("type"):
        case "Unconfined":
            return [] if annotation == "unconfined" else wrong_type
        case "RuntimeDefault":
            return [] if annotation in defaults else wrong_type
        case "Localhost":
            if not annotation.startswith("localhost/"):
                return wrong_type
            if annotation.removeprefix("localhost/") != profile.get("localhostProfile"):
                why = f"{kind} profile in annotation and field must match"
                return [fields.forbidden(f"{path}.localhostProfile", why)]
    return []


def _validate_seccomp(value: str, path: str) -> Errors:
    if value in ("runtime/default", "docker/default", "unconfined"):
        return []
    if value.startswith("localhost/"):
        return validate_descending(value.removeprefix("localhost/"), path)
    return [fields.wrong(path, value, "must be a valid seccomp profile")]


def _is_app_armor(value: str) -> bool:
    return value in ("", "runtime/default", "unconfined") or value.startswith("localhost/")
