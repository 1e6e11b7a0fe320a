"""What can go wrong between us and an API server, as one tree by HTTP code and reason.

KubeError
├── Unreachable              no answer: refused, reset, timed out, TLS or name failure   the cluster
│   └── NoAnswer             none in the time that somebody had; it is not asked again   the cluster
├── BadAnswer                an answer that is not Kubernetes' JSON                      the cluster
├── BadKubeconfig            a kubeconfig or a file it names is missing or wrong         the user
├── CredentialFailure        an exec plugin or a token file gives no credential          the user
├── UnknownKind              the server serves no such apiVersion and kind               the user
└── Refused                  the server answered with a Status of kind Failure
    ├── BadRequest 400, Unauthorized 401, Forbidden 403, NotFound 404, MethodNotAllowed 405
    ├── NotAcceptable 406, UnsupportedMediaType 415, TooLarge 413
    ├── Conflict, AlreadyExists 409, Gone 410 (Expired), Invalid 422, TooManyRequests 429
    └── ServerError 5xx      InternalError 500, Unavailable 503, Timeout 504
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from fleetqueue import errors
from fleetqueue.base import codec
from fleetqueue.errors import Problem


class KubeError(errors.FleetqueueError):
    """Any failure of a call to an API server."""


class Unreachable(KubeError, errors.Unreachable):
    """No answer came. `sent` tells whether the server may have carried the call out."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class NoAnswer(Unreachable):
    """Nothing came in the time that whoever asked was ready to wait."""


class BadAnswer(KubeError, errors.ClusterError):
    """The other side does not speak as an API server does."""


class BadKubeconfig(KubeError, errors.InvalidInput):
    """A kubeconfig that cannot be used: what is wrong, in which file, and what to do."""

    def __init__(self, what: str, *, file: str = "", field: str = "", fix: str = "") -> None:
        super().__init__(
            Problem(f"kubeconfig {file}:" if file else "kubeconfig:", what, field, fix)
        )
        self.what, self.file, self.field, self.fix = what, file, field, fix


class CredentialFailure(KubeError, errors.UserError):
    """No credential could be had from a plugin or a file."""


class UnknownKind(KubeError, errors.UserError):
    """Discovery knows no such kind."""


class Refused(KubeError, errors.Refused):
    """The server said no; `status` is the Status object it sent."""

    who_acts = "us"

    def __init__(self, status: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        super().__init__(*_problems(status))
        self.status = status
        self.headers = headers or {}

    def __str__(self) -> str:
        return str(self.status.get("message") or self.status.get("reason") or "refused")

    @property
    def code(self) -> int:
        return int(self.status.get("code") or 0)

    @property
    def reason(self) -> str:
        return str(self.status.get("reason") or "")

    @property
    def details(self) -> Mapping[str, Any]:
        return self.status.get("details") or {}

    @property
    def causes(self) -> list[Mapping[str, Any]]:
        return list(self.details.get("causes") or ())

    @property
    def retry_after_seconds(self) -> float | None:
        """What the server asks us to wait: the header, or the same number in the details."""
        told = self.headers.get("retry-after") or self.details.get("retryAfterSeconds")
        try:
            return float(told) if told else None
        except (TypeError, ValueError):
            return None


class BadRequest(Refused):
    """400: the request itself is malformed."""


class Unauthorized(Refused):
    """401: the server does not know who we are."""

    who_acts = "user"


class Forbidden(Refused):
    """403: known, but not allowed; or an admission plugin refused."""

    who_acts = "user"


class NotFound(Refused):
    """404: no such object, or no such resource."""

    who_acts = "user"


class MethodNotAllowed(Refused):
    """405"""


class NotAcceptable(Refused):
    """406"""


class Conflict(Refused):
    """409: the object changed meanwhile, or another field manager owns a field."""


class AlreadyExists(Refused):
    """409: there is one of that name."""


class Gone(Refused):
    """410: the revision asked for is no longer kept."""


class Expired(Gone):
    """410 with reason Expired: the same for a watch or a continue token."""


class TooLarge(Refused):
    """413"""


class UnsupportedMediaType(Refused):
    """415"""


class Invalid(Refused):
    """422: the object breaks a rule; `causes` say which field."""

    who_acts = "user"


class TooManyRequests(Refused):
    """429: try again later."""

    who_acts = "cluster"


class ServerError(Refused):
    """5xx: the server failed."""

    who_acts = "cluster"


class InternalError(ServerError):
    """500"""


class Unavailable(ServerError):
    """503"""


class Timeout(ServerError):
    """504: it may or may not have happened."""


_BY_REASON: dict[str, type[Refused]] = {
    "BadRequest": BadRequest,
    "Unauthorized": Unauthorized,
    "Forbidden": Forbidden,
    "NotFound": NotFound,
    "MethodNotAllowed": MethodNotAllowed,
    "NotAcceptable": NotAcceptable,
    "Conflict": Conflict,
    "AlreadyExists": AlreadyExists,
    "Gone": Gone,
    "Expired": Expired,
    "RequestEntityTooLarge": TooLarge,
    "UnsupportedMediaType": UnsupportedMediaType,
    "Invalid": Invalid,
    "TooManyRequests": TooManyRequests,
    "InternalError": InternalError,
    "ServiceUnavailable": Unavailable,
    "Timeout": Timeout,
    "ServerTimeout": Timeout,
}
_BY_CODE: dict[int, type[Refused]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: NotAcceptable,
    409: Conflict,
    410: Gone,
    413: TooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    500: InternalError,
    503: Unavailable,
    504: Timeout,
}


def refusal(status: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Refused:
    """The exception for a Status: by its reason, by its code where the reason says nothing."""
    code = int(status.get("code") or 0)
    kind = _BY_REASON.get(str(status.get("reason") or "")) or _BY_CODE.get(code)
    if kind is None:
        kind = ServerError if code >= 500 else Refused
    return kind(status, headers)


def refusal_from_body(code: int, body: bytes, headers: Mapping[str, str] | None = None) -> Refused:
    """As `refusal`, for whatever bytes came with an error code; proxies answer in plain text."""
    try:
        decoded = codec.decode(body) if body else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        decoded = None
    if isinstance(decoded, dict) and decoded.get("kind") == "Status":
        return refusal({**decoded, "code": decoded.get("code") or code}, headers)
    text = body[:2048].decode("utf-8", "replace").strip() or f"the server answered with {code}"
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": text}
    return refusal({**status, "code": code}, headers)


def _problems(status: Mapping[str, Any]) -> list[Problem]:
    """One problem for each cause; the whole message where there are none."""
    details = status.get("details") or {}
    who = f'{details.get("kind", "")} "{details["name"]}"'.strip() if details.get("name") else ""
    causes = [cause for cause in details.get("causes") or () if cause.get("field")]
    if not causes:
        return [Problem("", str(status.get("message") or status.get("reason") or "refused"))]
    return [Problem(f"{who}:", str(c.get("message") or ""), str(c["field"])) for c in causes]
