"""What the server answers when it refuses: the `Status` objects of the Kubernetes API, as
exceptions.

Names, codes and messages are those of apimachinery's errors; clients match on reason and message.
"""

from collections.abc import Sequence
from typing import Any

from fleetqueue.api.field_errors import FieldError, aggregate

PLAIN_TEXT = {"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"}


class ApiError(Exception):
    """A refusal that becomes a `Status` of kind Failure."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = headers or {}
        self.metadata: dict[str, Any] = {}
        """Of the Status; a list that expired carries a token to go on with."""

    def status(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body if self.message.isascii() else _sayable(body)


def _sayable(value: Any) -> Any:
    """A path may hold bytes that are no text; clients are told of them as Go would."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {key: _sayable(each) for key, each in value.items()}
    return [_sayable(each) for each in value] if isinstance(value, list) else value


def qualified(group: str, resource: str) -> str:
    return f"{resource}.{group}" if group else resource


def _details(group: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    details = {"name": name, "group": group, "kind": kind, **more}
    return {key: value for key, value in details.items() if value}


def not_found(group: str, resource: str, name: str) -> ApiError:
    message = f'{qualified(group, resource)} "{name}" not found'
    return ApiError(404, "NotFound", message, _details(group, resource, name))


def unknown_path() -> ApiError:
    """No such route at all; kube-apiserver words it so, with empty details."""
    message = "the server could not find the requested resource"
    return ApiError(404, "NotFound", message, {})


def unknown_page() -> ApiError:
    """A path that nobody serves; kube-apiserver leaves these to Go's own plain answer."""
    return ApiError(404, "NotFound", "404 page not found\n", headers=PLAIN_TEXT)


def wrong_method() -> ApiError:
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, {})


def already_exists(group: str, resource: str, name: str) -> ApiError:
    message = f'{qualified(group, resource)} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, _details(group, resource, name))


def conflict(group: str, resource: str, name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {qualified(group, resource)} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(group, resource, name))


def invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> ApiError:
    causes = [error.cause() for error in errors]
    message = f'{qualified(group, kind)} "{name}" is invalid: {aggregate(errors)}'
    return ApiError(422, "Invalid", message, _details(group, kind, name, causes=causes))


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, resource: str, name: str, why: str) -> ApiError:
    if not resource and not name:
        message = f"forbidden: {why}"
    elif not name:
        message = f"{qualified(group, resource)} is forbidden: {why}"
    else:
        message = f'{qualified(group, resource)} "{name}" is forbidden: {why}'
    return ApiError(403, "Forbidden", message, _details(group, resource, name))


def method_not_allowed(verb: str, group: str, resource: str) -> ApiError:
    details = _details(group, resource, "")
    message = f"{verb} is not supported on resources of kind {qualified(group, resource)!r}"
    return ApiError(405, "MethodNotAllowed", message.replace("'", '"'), details)


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def gone(message: str) -> ApiError:
    return ApiError(410, "Gone", message)


def too_large(message: str) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", message)


def unsupported_media_type(message: str) -> ApiError:
    return ApiError(415, "UnsupportedMediaType", message)


def not_acceptable(message: str) -> ApiError:
    return ApiError(406, "NotAcceptable", message)


def too_many_requests(message: str, retry_seconds: int = 0) -> ApiError:
    headers = {"Retry-After": str(retry_seconds)} if retry_seconds else {}
    details = {"retryAfterSeconds": retry_seconds} if retry_seconds else None
    return ApiError(429, "TooManyRequests", message, details, headers)


def timeout(message: str) -> ApiError:
    return ApiError(504, "Timeout", message, {})


def internal(message: str) -> ApiError:
    text = f"Internal error occurred: {message}"
    return ApiError(500, "InternalError", text, {"causes": [{"message": message}]})


def service_unavailable(message: str) -> ApiError:
    return ApiError(503, "ServiceUnavailable", message)
