"""OpenAPI of groups that are answered rather than stored, in both versions; every reference in them
leads somewhere.
"""

from collections.abc import Iterator
from typing import Any

from fleetqueue.api.served_groups import Answered, ServedGroup

Json = dict[str, Any]
JSON = "application/json"
V3_PLACE, V2_PLACE = "#/components/schemas/", "#/definitions/"


def documents(group: ServedGroup) -> dict[str, Json]:
    """By name, as it follows /openapi/v3/."""
    return {f"apis/{group.name}/{version}": v3(group, version) for version in group.versions}


def v3(group: ServedGroup, version: str) -> Json:
    return {
        "openapi": "3.0.0",
        "info": {"title": group.title, "version": version},
        "paths": {path: _v3_item(group, version, each) for path, each in _paths(group, version)},
        "components": {"schemas": schemas(group, version)},
    }


def v2(group: ServedGroup) -> Json:
    """All versions in one document."""
    return {
        "swagger": "2.0",
        "info": {"title": group.title, "version": group.versions[0]},
        "paths": v2_paths(group),
        "definitions": v2_schemas(group),
    }


def v2_paths(group: ServedGroup) -> dict[str, Json]:
    return {
        path: _v2_item(group, version, each)
        for version in group.versions
        for path, each in _paths(group, version)
    }


def v2_schemas(group: ServedGroup) -> dict[str, Json]:
    return {
        name: schema
        for version in group.versions
        for name, schema in schemas(group, version).items()
    }


def schemas(group: ServedGroup, version: str) -> dict[str, Json]:
    return {
        _name(group, version, kind): {
            **schema,
            "x-kubernetes-group-version-kind": [
                {"group": group.name, "kind": kind, "version": version}
            ],
        }
        for kind, schema in group.schemas.items()
    }


def _paths(group: ServedGroup, version: str) -> Iterator[tuple[str, Answered]]:
    for each in group.resources:
        where = "/namespaces/{namespace}" if each.is_namespaced else ""
        base = f"/apis/{group.name}/{version}{where}/{each.plural}"
        yield f"{base}/{{name}}/{each.subresource}", each


def _v3_item(group: ServedGroup, version: str, resource: Answered) -> Json:
    schema = {"$ref": f"{V3_PLACE}{_name(group, version, resource.answer_kind)}"}
    parameters = [{**each, "schema": {"type": kind}} for each, kind in _parameters(resource)]
    answers = {
        "200": {"description": "OK", "content": {JSON: {"schema": schema}}},
        "401": {"description": "Unauthorized"},
    }
    return {"get": _operation(group, version, resource, parameters, answers)}


def _v2_item(group: ServedGroup, version: str, resource: Answered) -> Json:
    schema = {"$ref": f"{V2_PLACE}{_name(group, version, resource.answer_kind)}"}
    parameters = [{**each, "type": kind} for each, kind in _parameters(resource)]
    answers = {
        "200": {"description": "OK", "schema": schema},
        "401": {"description": "Unauthorized"},
    }
    made = _operation(group, version, resource, parameters, answers)
    return {"get": made | {"schemes": ["https"], "produces": [JSON]}}


def _operation(
    group: ServedGroup, version: str, resource: Answered, parameters: list[Json], answers: Json
) -> Json:
    scope = "Namespaced" if resource.is_namespaced else ""
    word = "".join(part.capitalize() for part in group.name.split(".")[0].split("-"))
    rest = f"{scope}{resource.kind}{resource.subresource.capitalize()}"
    kind = {"group": group.name, "kind": resource.answer_kind, "version": version}
    return {
        "tags": [f"{word.lower()}_{version}"],
        "operationId": f"read{word}{version.capitalize()}{rest}{_suffix(group)}",
        "parameters": parameters,
        "responses": answers,
        "x-kubernetes-action": "get",
        "x-kubernetes-group-version-kind": kind,
    }


def _parameters(resource: Answered) -> Iterator[tuple[Json, str]]:
    names = ("namespace", "name") if resource.is_namespaced else ("name",)
    for name in names:
        yield {"in": "path", "name": name, "required": True}, "string"
    for name in resource.queries:
        yield {"in": "query", "name": name}, "integer"


def _name(group: ServedGroup, version: str, kind: str) -> str:
    """The group backwards, as Java packages are written."""
    return ".".join([*reversed(group.name.split(".")), version, kind])


def _suffix(group: ServedGroup) -> str:
    """What sets operations of groups apart whose names begin alike."""
    return "".join(part.capitalize() for part in group.name.split(".")[1:2])
