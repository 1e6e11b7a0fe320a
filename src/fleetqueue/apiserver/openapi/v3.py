"""OpenAPI v3: one document per group and version, and small ones for the pages around them."""

from typing import Any

from fleetqueue.apiserver.openapi import operations, pages, schemas
from fleetqueue.apiserver.registry import Registry, Resource, Version

Object = dict[str, Any]

INFO = {"title": "Kubernetes", "version": "1.34"}
CUSTOM_INFO = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
SECURITY = {"BearerToken": {"type": "apiKey", "in": "header", "name": "authorization"}}


def documents(registry: Registry) -> list[str]:
    """The names of all documents, as they follow /openapi/v3/."""
    found = {_name(resource, version) for resource, version in _served(registry)}
    groups = {f"apis/{name}" for name in _built_in_groups(registry)}
    return sorted(found | groups | set(pages.fixed()))


def lasting(registry: Registry) -> set[str]:
    """The names of documents that no CRD can change."""
    changing = {_name(*one) for one in _served(registry) if one[0].is_custom}
    return set(documents(registry)) - changing


def document(registry: Registry, name: str) -> Object | None:
    page = pages.fixed().get(name)
    if page is not None:
        return _document(page, {})
    group = name.removeprefix("apis/")
    if name != group and group in _built_in_groups(registry):
        return _document(pages.group(group), {})
    served = [one for one in _served(registry) if _name(*one) == name]
    return _of_resources(served) if served else None


def _of_resources(served: list[tuple[Resource, Version]]) -> Object:
    is_custom = all(resource.is_custom for resource, _ in served)
    resource, version = served[0]
    paths = {} if is_custom else pages.group_version(resource.group, version.name)
    for one, its_version in served:
        paths |= operations.paths_of(one, its_version)
    own = schemas.of_custom(served)
    if is_custom:
        return _document(paths, own | schemas.custom_delete_options(), is_custom=True)
    return _document(paths, own)


def _document(paths: Object, own: dict[str, Object], *, is_custom: bool = False) -> Object:
    components: Object = {}
    needed = schemas.needed_by(paths, own)
    if needed:
        components["schemas"] = needed
    if not is_custom:
        components["securitySchemes"] = SECURITY
    return {
        "openapi": "3.0.0",
        "info": CUSTOM_INFO if is_custom else INFO,
        "paths": dict(sorted(paths.items())),
        "components": components,
    }


def _served(registry: Registry) -> list[tuple[Resource, Version]]:
    return [(resource, version) for resource in registry for version in resource.served]


def _built_in_groups(registry: Registry) -> set[str]:
    return {resource.group for resource in registry if resource.group and not resource.is_custom}


def _name(resource: Resource, version: Version) -> str:
    return f"apis/{resource.group}/{version.name}" if resource.group else f"api/{version.name}"
