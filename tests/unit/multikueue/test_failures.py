"""How long a connection may take, when it is tried again, and how its failures are told."""

import errno
import os
from datetime import UTC, datetime

import pytest

from fleetqueue.kube.errors import Forbidden, KubeError, NotFound, Unauthorized, Unreachable
from fleetqueue.multikueue import failures, kinds
from fleetqueue.runtime.kinds import JOB

SERVER = "https://worker1:6443"


@pytest.mark.rule("CONN-3")
@pytest.mark.rule("multikueue 0.2")
def test_attempts_grow_rarer() -> None:
    waits = [failures.retry_seconds(n) for n in range(1, 10)]
    assert waits == [5, 10, 20, 40, 80, 160, 320, 320, 320]


@pytest.mark.rule("CONN-2")
def test_opening_is_given_more_time_after_each_failure() -> None:
    limits = [failures.opening_seconds(n) / 60 for n in range(6)]
    assert limits == [1, 2, 4, 8, 10, 10]


@pytest.mark.rule("CONN-3")
@pytest.mark.rule("MKC-5")
def test_a_message_tells_of_failed_attempts() -> None:
    at = datetime(2026, 1, 1, 12, 0, 5, 700_000, tzinfo=UTC)
    told = "why; connection attempts: 2, next connection attempt: 2026-01-01T12:00:05Z"
    assert failures.with_attempts("why", 2, at) == told
    assert failures.with_attempts("why", 0, None) == "why"


def refused(number: int = errno.ECONNREFUSED) -> Unreachable:
    error = Unreachable("GET /api: cannot connect", sent=False)
    error.__cause__ = OSError(number, os.strerror(number))
    return error


def wrapped() -> Unreachable:
    """As the HTTP library has it: its own error around that of the system."""

    class ConnectorError(OSError):
        os_error = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    error = Unreachable("GET /api: cannot connect", sent=False)
    error.__cause__ = ConnectorError(1, "Cannot connect to host worker1:6443")
    return error


# fmt: off
CALLS = {
    "nobody listens":    (refused(), SERVER, 'Get "https://worker1:6443/api": '
                          "dial tcp worker1:6443: connect: connection refused"),
    "no way there":      (refused(errno.EHOSTUNREACH), "https://10.0.0.1", 'Get '
                          '"https://10.0.0.1/api": dial tcp 10.0.0.1:443: connect: '
                          "no route to host"),
    "the newer form":    (refused(), "https://[fd00::1]:6443", 'Get "https://[fd00::1]:6443/api": '
                          "dial tcp [fd00::1]:6443: connect: connection refused"),
    "inside a library":  (wrapped(), SERVER, 'Get "https://worker1:6443/api": '
                          "dial tcp worker1:6443: connect: connection refused"),
    "a bad token":       (Unauthorized({"message": "Unauthorized", "code": 401}), SERVER,
                          "the server has asked for the client to provide credentials"),
    "no answer":         (Unreachable("GET /api: no answer in time"), SERVER,
                          "GET /api: no answer in time"),
}
# fmt: on


@pytest.mark.rule("CONN-3")
@pytest.mark.parametrize(("error", "server", "text"), CALLS.values(), ids=CALLS)
def test_how_a_first_call_that_failed_is_told(error: KubeError, server: str, text: str) -> None:
    assert failures.of_call(error, server, "/api") == text


@pytest.mark.rule("SETUP-2")
def test_how_a_watch_that_failed_is_told() -> None:
    missing = NotFound({"message": "the server could not find the requested resource"})
    forbidden = Forbidden({"message": "jobs.batch is forbidden"})
    assert failures.of_watch(JOB, missing) == 'no matches for kind "Job" in version "batch/v1"'
    assert failures.of_watch(kinds.WORKLOAD, forbidden) == "jobs.batch is forbidden"
