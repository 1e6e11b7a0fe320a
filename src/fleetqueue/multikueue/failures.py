"""Failures of a connection: how they are told, how long each attempt may take, and how long after
one the next follows. The words are those that people's scripts know.
"""

import os
import socket
import ssl
from datetime import datetime
from urllib.parse import urlsplit

from fleetqueue.api.times import format_time
from fleetqueue.base.backoff import Backoff
from fleetqueue.kube.errors import KubeError, NotFound, Unauthorized, Unreachable
from fleetqueue.kube.resources import Resource

RETRY = Backoff(5.0, 320.0)
OPENING = Backoff(60.0, 600.0)
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Failed(KubeError):
    """A connection could not be made, or is lost; the text is that of the condition."""


def retry_seconds(failures: int) -> float:
    """How long after the n-th failure in a row."""
    assert failures > 0
    return RETRY.plain_delay(failures - 1)


def opening_seconds(failures: int) -> float:
    """How long watches may take to open, after so many failures in a row."""
    return OPENING.plain_delay(failures)


def with_attempts(message: str, failures: int, next_at: datetime | None) -> str:
    if not failures or next_at is None:
        return message
    moment = format_time(next_at)
    return f"{message}; connection attempts: {failures}, next connection attempt: {moment}"


def of_call(error: KubeError, server: str, path: str) -> str:
    if isinstance(error, Unauthorized):
        return "the server has asked for the client to provide credentials"
    if isinstance(error, Unreachable) and (cause := _system_error(error)) is not None:
        return f'Get "{server}{path}": {_of_system(cause, server)}'
    return str(error)


def of_watch(kind: Resource, error: KubeError) -> str:
    if isinstance(error, NotFound):
        return f'no matches for kind "{kind.kind}" in version "{kind.api_version}"'
    return str(error)


def _system_error(error: BaseException) -> OSError | None:
    """The system's own word, below those of the libraries."""
    cause = error.__cause__
    while cause is not None:
        for name in ("os_error", "certificate_error"):
            cause = getattr(cause, name, cause)
        if isinstance(cause, OSError) and (cause.errno or isinstance(cause, ssl.SSLError)):
            return cause
        cause = cause.__cause__
    return None


def _of_system(cause: OSError, server: str) -> str:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError):
        return f"tls: {(cause.reason or str(cause)).replace('_', ' ').lower()}"
    if isinstance(cause, socket.gaierror):
        return f"dial tcp: lookup {urlsplit(server).hostname}: no such host"
    return f"dial tcp {_address(server)}: connect: {os.strerror(cause.errno or 0).lower()}"


def _address(server: str) -> str:
    parts = urlsplit(server)
    host = parts.hostname or ""
    port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 443)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
