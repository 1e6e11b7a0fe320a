"""Why a server cannot be reached, in words."""

import errno
import socket
import ssl

import pytest

from fleetqueue.kube.connections import why


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 1)"),
            "Connection refused",
        ),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "Name or service not"),
        (OSError("Multiple exceptions: a, b"), "Multiple exceptions: a, b"),
        (TimeoutError(), "TimeoutError"),
        (ssl.SSLCertVerificationError(1, "self-signed certificate"), "self-signed certificate"),
        (UnicodeError("label too long"), "label too long"),
    ],
)
def test_the_reason_is_the_one_that_people_know(error: OSError | UnicodeError, text: str) -> None:
    assert text in why(error)
    assert "Connect call" not in why(error)
