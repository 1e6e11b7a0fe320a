"""Checks how a CustomResourceDefinition says its versions are converted."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.field_errors import FieldError

STRATEGIES = ("None", "Webhook")
REVIEW_VERSIONS = ("v1", "v1beta1")
_FORM = "; desired format: https://host[/path]"


def validate_conversion(conversion: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    strategy = conversion.get("strategy") or ""
    if not strategy:
        yield fields.required(f"{path}.strategy")
    elif strategy not in STRATEGIES:
        yield fields.unsupported(f"{path}.strategy", strategy, STRATEGIES)
    webhook = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy == "Webhook":
        yield from _client(client, f"{path}.webhookClientConfig")
        yield from _review_versions(versions, f"{path}.conversionReviewVersions")
        return
    why = "should not be set when strategy is not set to Webhook"
    if client is not None:
        yield fields.forbidden(f"{path}.webhookClientConfig", why)
    if versions:
        yield fields.forbidden(f"{path}.conversionReviewVersions", why)


def _client(client: Mapping[str, Any] | None, path: str) -> Iterator[FieldError]:
    if client is None:
        yield fields.required(path, "required when strategy is set to Webhook")
        return
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield fields.required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _url(url, f"{path}.url")
    elif service is not None:
        yield from _service(service, f"{path}.service")


def _url(url: str, path: str) -> Iterator[FieldError]:
    try:
        parts = urlsplit(url)
    except ValueError as problem:
        yield fields.required(path, f"url must be a valid URL: {problem}{_FORM}")
        return
    if parts.scheme != "https":
        why = f"'https' is the only allowed URL scheme{_FORM}"
        yield fields.wrong(path, parts.scheme, why)
    user, at, host = parts.netloc.rpartition("@")
    if not host:
        yield fields.wrong(path, "", f"host must be specified{_FORM}")
    if at:
        yield fields.wrong(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield fields.wrong(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield fields.wrong(path, parts.query, "query parameters are not permitted in the URL")


def _service(service: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    for name in ("namespace", "name"):
        if not service.get(name):
            # The server passes these two to its check in the wrong order.
            swapped = {"namespace": "name", "name": "namespace"}[name]
            yield fields.required(f"{path}.{swapped}")
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        why = "port is not valid: must be between 1 and 65535, inclusive"
        yield fields.wrong(f"{path}.port", port, why)
    yield from _service_path(service.get("path") or "", f"{path}.path")


def _service_path(text: str, path: str) -> Iterator[FieldError]:
    if text in ("", "/"):
        return
    if text == "//":
        yield fields.wrong(path, text, "segment[0] may not be empty")
        return
    if not text.startswith("/"):
        yield fields.wrong(path, text, "must start with a '/'")
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        if not step:
            yield fields.wrong(path, text, f"segment[{index}] may not be empty")
            continue
        for problem in names.dns1123_subdomain(step):
            yield fields.wrong(path, text, f"segment[{index}]: {problem}")


def _review_versions(versions: Sequence[str], path: str) -> Iterator[FieldError]:
    if not versions:
        yield fields.required(path)
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield fields.wrong(f"{path}[{index}]", version, "duplicate version")
            continue
        for problem in names.dns1035_label(version):
            yield fields.wrong(f"{path}[{index}]", version, problem)
    if not set(versions) & set(REVIEW_VERSIONS):
        why = f"must include at least one of {', '.join(REVIEW_VERSIONS)}"
        yield fields.wrong(path, list(versions), why)
