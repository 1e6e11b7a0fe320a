"""What webhook configurations and admission policies share: what they match, whom they call."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, one_of, wrongs

Object = Mapping[str, Any]

OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
SCOPES = ("*", "Cluster", "Namespaced")
FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
CONDITION_VARIABLES = (
    *("object", "oldObject", "request", "authorizer", "params", "namespaceObject", "variables"),
)
OWN_TYPES = frozenset(("request", "authorizer", "params", "namespaceObject", "variables"))
"""Variables whose fields have types; the others are objects of any kind."""
CONDITIONS_MAX = 64
URL_FORM = "; desired format: https://host[/path]"


def default_rules(rules: Sequence[dict[str, Any]] | None) -> None:
    for rule in rules or ():
        if rule.get("scope") is None:
            rule["scope"] = "*"


def validate_rule(rule: Object, path: str) -> Errors:
    operations = rule.get("operations") or []
    errors = _validate_wildcard(operations, f"{path}.operations", "operations")
    for index, operation in enumerate(operations):
        errors += one_of(operation, OPERATIONS, f"{path}.operations[{index}]")
    errors += _validate_wildcard(rule.get("apiGroups") or [], f"{path}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or []
    errors += _validate_wildcard(versions, f"{path}.apiVersions", "API versions")
    errors += [
        fields.required(f"{path}.apiVersions[{index}]")
        for index, version in enumerate(versions)
        if not version
    ]
    errors += _validate_resources(rule.get("resources") or [], f"{path}.resources")
    return errors + one_of(rule.get("scope"), SCOPES, f"{path}.scope")


def validate_conditions(conditions: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    if len(conditions) > CONDITIONS_MAX:
        errors.append(fields.too_many(path, len(conditions), CONDITIONS_MAX))
    taken: set[str] = set()
    for index, condition in enumerate(conditions):
        at, name = f"{path}[{index}]", condition.get("name", "")
        errors += validate_expression(condition.get("expression") or "", f"{at}.expression")
        if not name:
            errors.append(fields.required(f"{at}.name"))
        else:
            errors += wrongs(f"{at}.name", name, names.qualified_name(name))
            if name in taken:
                errors.append(fields.duplicate(f"{at}.name", name))
            taken.add(name)
    return errors


def validate_expression(expression: str, path: str, result: str = "bool") -> Errors:
    if not expression.strip():
        return [fields.required(path)]
    from fleetqueue.apiserver import cel  # costly to load, and rarely needed

    try:
        program = cel.compile(expression, dict.fromkeys(CONDITION_VARIABLES, cel.DYN))
    except cel.CompileError as problem:
        return [fields.wrong(path, expression, f"compilation failed: {problem}")]
    found = str(program.type)
    # What is made of these has a type that is not known here.
    is_open = program.type.is_dynamic and not OWN_TYPES.isdisjoint(program.used)
    if found == result or is_open:
        return []
    return [fields.wrong(path, expression, f"must evaluate to {result} but got {found}")]


def validate_client(client: Object, path: str) -> Errors:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [fields.required(path, "exactly one of url or service is required")]
    if url is not None:
        return _validate_url(url, f"{path}.url")
    assert service is not None
    return _validate_service(service, f"{path}.service")


def validate_three_part_name(name: str, path: str) -> Errors:
    if not name:
        return [fields.required(path)]
    if found := names.dns1123_subdomain(name):
        return [fields.wrong(path, name, ",".join(found))]
    if name.count(".") < 2:
        why = "should be a domain with at least three segments separated by dots"
        return [fields.wrong(path, name, why)]
    return []


def _validate_wildcard(values: list[str], path: str, what: str) -> Errors:
    if not values:
        return [fields.required(path)]
    if len(values) > 1 and "*" in values:
        return [fields.wrong(path, values, f"if '*' is present, must not specify other {what}")]
    return []


def _validate_resources(resources: list[str], path: str) -> Errors:
    errors = [] if resources else [fields.required(path)]
    whole: set[str] = set()
    everywhere: set[str] = set()
    has_plain = False
    for index, text in enumerate(resources):
        at = f"{path}[{index}]"
        if not text:
            errors.append(fields.required(at))
            continue
        resource, slash, sub = text.partition("/")
        if not slash:
            has_plain = text != "*"
            continue
        if resource in whole:
            why = f"if '{resource}/*' is present, must not specify {text}"
            errors.append(fields.wrong(at, text, why))
        if sub in everywhere:
            why = f"if '*/{sub}' is present, must not specify {text}"
            errors.append(fields.wrong(at, text, why))
        if sub == "*":
            whole.add(resource)
        if resource == "*":
            everywhere.add(sub)
    if len(resources) > 1 and "*/*" in resources:
        why = "if '*/*' is present, must not specify other resources"
        errors.append(fields.wrong(path, resources, why))
    if "*" in resources and has_plain:
        why = "if '*' is present, must not specify other resources without subresources"
        errors.append(fields.wrong(path, resources, why))
    return errors


def _validate_url(url: str, path: str) -> Errors:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return [fields.required(path, f"url must be a valid URL: {error}{URL_FORM}")]
    errors: Errors = []
    if parts.scheme != "https":
        why = f"'https' is the only allowed URL scheme{URL_FORM}"
        errors.append(fields.wrong(path, parts.scheme, why))
    user, at, host = parts.netloc.rpartition("@")
    if not host:
        errors.append(fields.wrong(path, host, f"host must be specified{URL_FORM}"))
    if at:
        why = "user information is not permitted in the URL"
        errors.append(fields.wrong(path, user, why))
    if parts.fragment:
        why = "fragments are not permitted in the URL"
        errors.append(fields.wrong(path, parts.fragment, why))
    if parts.query:
        why = "query parameters are not permitted in the URL"
        errors.append(fields.wrong(path, parts.query, why))
    return errors


def _validate_service(service: Object, path: str) -> Errors:
    # kube-apiserver takes the one for the other when it says which of the two is missing.
    named = {"name": service.get("namespace"), "namespace": service.get("name")}
    errors = [fields.required(f"{path}.{part}") for part, value in named.items() if not value]
    port = service.get("port", 443)
    if found := names.port_number(port):
        errors.append(fields.wrong(f"{path}.port", port, f"port is not valid: {', '.join(found)}"))
    return errors + _validate_service_path(service.get("path") or "/", f"{path}.path")


def _validate_service_path(url_path: str, path: str) -> Errors:
    if url_path == "/":
        return []
    if url_path == "//":
        return [fields.wrong(path, url_path, "segment[0] may not be empty")]
    errors: Errors = []
    if not url_path.startswith("/"):
        errors.append(fields.wrong(path, url_path, "must start with a '/'"))
    for index, step in enumerate(url_path[1:].removesuffix("/").split("/")):
        if not step:
            errors.append(fields.wrong(path, url_path, f"segment[{index}] may not be empty"))
            continue
        errors += [
            fields.wrong(path, url_path, f"segment[{index}]: {message}")
            for message in names.dns1123_subdomain(step)
        ]
    return errors
