"""OpenAPI v2: everything in one document, derived from the v3 form."""

from typing import Any

from fleetqueue.apiserver.openapi import naming, operations, pages, schemas, v3
from fleetqueue.apiserver.openapi.operations import PROTOBUF
from fleetqueue.apiserver.registry import Registry

Object = dict[str, Any]

_V3_ONLY = frozenset(("default", "nullable", "oneOf", "anyOf", "not"))


def document(registry: Registry) -> Object:
    served = [(resource, version) for resource in registry for version in resource.served]
    paths: dict[str, Object] = {}
    for page in pages.fixed().values():
        paths |= page
    for resource, version in served:
        if not resource.is_custom:
            paths |= pages.group(resource.group) if resource.group else {}
            paths |= pages.group_version(resource.group, version.name)
        paths |= operations.paths_of(resource, version)
    definitions = schemas.needed_by(paths, schemas.of_custom(served))
    return {
        "swagger": "2.0",
        "info": v3.INFO,
        "paths": {path: _item(item) for path, item in sorted(paths.items())},
        "definitions": {name: _schema(schema) for name, schema in definitions.items()},
        "securityDefinitions": v3.SECURITY,
        "security": [{"BearerToken": []}],
    }


def _item(item: Object) -> Object:
    return {
        name: _parameters(value) if name == "parameters" else _operation(value)
        for name, value in item.items()
    }


def _operation(operation: Object) -> Object:
    converted = {k: v for k, v in operation.items() if k not in ("requestBody", "responses")}
    converted["schemes"] = ["https"]
    produced = list(operation["responses"]["200"]["content"])
    is_page = "x-kubernetes-action" not in operation
    is_built_in = "*/*" in produced or PROTOBUF in produced
    if not is_page or schemas.references(operation):
        converted["consumes"] = ["*/*"] if is_built_in and not is_page else produced
    found = _parameters(operation.get("parameters") or [])
    body = operation.get("requestBody")
    if body is not None:
        kinds = list(body["content"])
        converted["consumes"] = kinds
        schema = _schema(body["content"][kinds[0]]["schema"])
        required = {"required": True} if body.get("required") else {}
        found.insert(0, {"in": "body", "name": "body", **required, "schema": schema})
    if found:
        converted["parameters"] = found
    converted["produces"] = produced
    converted["responses"] = {
        status: _response(answer) for status, answer in operation["responses"].items()
    }
    return converted


def _response(answer: Object) -> Object:
    if "content" not in answer:
        return answer
    schema = next(iter(answer["content"].values()))["schema"]
    return {"description": answer["description"], "schema": _schema(schema)}


def _parameters(parameters: list[Object]) -> list[Object]:
    return [
        {
            **{k: v for k, v in parameter.items() if k != "schema"},
            "type": parameter["schema"]["type"],
            "uniqueItems": True,
        }
        for parameter in parameters
    ]


def _schema(schema: Any) -> Any:
    """v2 has no alternatives, defaults or nulls, and names its definitions elsewhere."""
    if isinstance(schema, list):
        return [_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if len(schema.get("allOf") or ()) == 1:
        schema = {**schema["allOf"][0], **{k: v for k, v in schema.items() if k != "allOf"}}
    schema = _loosened(schema)
    converted = {}
    for name, value in schema.items():
        if name == "$ref":
            converted[name] = value.replace(naming.REFERENCE, "#/definitions/")
        elif name == "properties":
            converted[name] = {key: _schema(below) for key, below in value.items()}
        elif name not in _V3_ONLY:
            converted[name] = _schema(value)
    return converted


def _loosened(schema: Object) -> Object:
    """Without what an old client would enforce too strictly."""
    dropped: tuple[str, ...] = ()
    if schema.get("nullable"):
        dropped = ("type", "items", "properties")
    elif schema.get("x-kubernetes-preserve-unknown-fields"):
        if "x-kubernetes-group-version-kind" in schema:
            return {key: schema[key] for key in ("type", "x-kubernetes-group-version-kind")}
        dropped = ("type", "items", "properties", "required")
    elif "type" not in schema and "oneOf" in schema:
        # The two kinds that are written as numbers or as text pass for text.
        return {**schema, "type": "string"}
    return {key: value for key, value in schema.items() if key not in dropped}
