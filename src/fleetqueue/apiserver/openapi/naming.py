"""The names of operations and tags, and the kinds and schemas that stand behind a path."""

from typing import Any

from fleetqueue.api import kubernetes
from fleetqueue.apiserver.registry import Resource, Subresource, Version

Object = dict[str, Any]

REFERENCE = "#/components/schemas/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."


def reference(name: str) -> Object:
    return {"$ref": f"{REFERENCE}{name}"}


def meta(kind: str) -> Object:
    return reference(f"{META}{kind}")


def gvk(resource: Resource, version: Version, kind: str = "") -> Object:
    return {"group": resource.group, "kind": kind or version.kind, "version": version.name}


def name_of(resource: Resource, version: Version) -> str:
    """The name of a kind's schema; a CRD's group is written backwards, as Java packages are."""
    if not resource.is_custom:
        return kubernetes.definition_names()[resource.group, version.name, version.kind]
    parts = [*reversed(resource.group.split(".")), version.name, version.kind]
    return ".".join(parts)


def list_name_of(resource: Resource, version: Version) -> str:
    """The schema of a resource's list, or "" for what cannot be listed."""
    if "list" not in version.verbs:
        return ""
    if resource.is_custom:
        return f"{name_of(resource, version)}List"
    home = kubernetes.definition_names().get((resource.group, version.name, resource.list_kind))
    return home or ""


def subresource_name(resource: Resource, version: Version, sub: Subresource) -> str:
    """The schema of what a subresource reads and writes."""
    if not sub.version and sub.kind == version.kind:
        return name_of(resource, version)
    home = (sub.group, sub.version) if sub.version else (resource.group, version.name)
    return kubernetes.definition_names()[*home, sub.kind]


def base_path(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def tag(group: str, version: str = "") -> str:
    """`rbac.authorization.k8s.io`, `v1` -> `rbacAuthorization_v1`."""
    word = identifier((group or "core").removesuffix(".k8s.io"), capital=False)
    return f"{word}_{version}" if version else word


def operation_id(prefix: str, group: str, version: str, rest: str) -> str:
    """`read`, `apps`, `v1`, `NamespacedDeployment` -> `readAppsV1NamespacedDeployment`."""
    home = identifier((group or "core").removesuffix(".k8s.io"), capital=True)
    return f"{prefix}{home}{identifier(version, capital=True)}{rest}"


def identifier(text: str, *, capital: bool) -> str:
    """Letters and digits only; what follows anything else is written large."""
    letters = []
    for letter in text:
        if letter.isalnum() or letter == "_":
            letters.append(letter.upper() if capital else letter)
            capital = False
        else:
            capital = True
    return "".join(letters)
