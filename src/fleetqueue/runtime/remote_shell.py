"""What launchers run in place of ssh: `remote_shell.py [options] host command...` runs the command
in the pod of that host, with its own streams, signals and exit code as those of the command.

Run as a program of its own in a pod. Uses the standard library.
"""

import contextlib
import json
import os
import selectors
import signal
import socket
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SOCKET = "FLEETQUEUE_REMOTE_SHELL"
"""The variable that says where the runtime listens."""
KEY = "FLEETQUEUE_REMOTE_SHELL_KEY"
"""The variable that says which pod asks."""
NO_EXIT_CODE = 255
"""What ssh exits with where the command did not run, or its end is unknown."""

# From the program: what it wants, input (an empty piece is the end of it), a signal.
HELLO, INPUT, SIGNAL = b"h", b"i", b"s"
# To the program: output, that one piece of input may be sent, the exit code, why there is none.
OUTPUT, ERROR_OUTPUT, MORE, EXIT, PROBLEM = b"1", b"2", b"m", b"x", b"p"
HEAD = struct.Struct(">cI")
PIECE_BYTES_MAX = 64 * 1024

_OPTIONS_WITH_VALUE = "bceilmopBDEFIJLOPQRSwW"
_PASSED_ON = (
    signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2,
)  # fmt: skip


class UsageError(Exception):
    """The arguments or the environment do not say what to do."""


@dataclass(frozen=True)
class Request:
    """What ssh would have been asked."""

    host: str
    command: str
    has_input: bool


def main(arguments: Sequence[str]) -> int:
    try:
        request = read_arguments(arguments)
        connection = _connect()
    except (UsageError, OSError) as problem:
        return _give_up(str(problem))
    with connection:
        connection.setblocking(False)
        return Session(connection, request).run()


def read_arguments(arguments: Sequence[str]) -> Request:
    """As ssh reads them: options may stand before and after the host, not after the command."""
    rest = list(arguments)
    options = _take_options(rest)
    if not rest:
        raise UsageError("no host is named: usage: remote-shell [options] host command...")
    host = rest.pop(0).rpartition("@")[2]
    options += _take_options(rest)
    return Request(host, " ".join(rest), has_input=not set(options) & set("nf"))


def frame(kind: bytes, data: bytes = b"") -> bytes:
    return HEAD.pack(kind, len(data)) + data


class Session:
    """One command in another pod. Nothing here waits for one side while the other has news."""

    def __init__(self, connection: socket.socket, request: Request) -> None:
        self._connection = connection
        self._request = request
        self._received = bytearray()
        self._pending = bytearray()
        self._selector = selectors.PollSelector()
        self._code: int | None = None

    def run(self) -> int:
        self._watch_signals()
        self._watch(self._connection.fileno(), selectors.EVENT_READ, self._exchange)
        hello = {
            "key": os.environ.get(KEY, ""),
            "host": self._request.host,
            "command": self._request.command,
            "input": self._request.has_input,
        }
        self._send(frame(HELLO, json.dumps(hello).encode()))
        while self._code is None:
            for key, events in self._selector.select():
                key.data(events)
        return self._code

    def _watch(self, descriptor: int, events: int, then: object) -> None:
        self._selector.register(descriptor, events, then)

    def _watch_signals(self) -> None:
        reads, writes = os.pipe()
        os.set_blocking(reads, False)
        os.set_blocking(writes, False)
        signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
        for number in _PASSED_ON:
            signal.signal(number, lambda *_: None)
        self._watch(reads, selectors.EVENT_READ, lambda _: self._pass_on(os.read(reads, 64)))

    def _pass_on(self, numbers: bytes) -> None:
        for number in numbers:
            self._send(frame(SIGNAL, bytes((number,))))

    # The connection

    def _send(self, data: bytes) -> None:
        self._pending += data
        wanted = selectors.EVENT_READ | selectors.EVENT_WRITE
        self._selector.modify(self._connection.fileno(), wanted, self._exchange)

    def _exchange(self, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                self._flush()
            if events & selectors.EVENT_READ:
                data = self._connection.recv(PIECE_BYTES_MAX)
                if not data:
                    raise ConnectionError("it was closed")
                self._received += data
        except BlockingIOError:
            return
        except OSError as problem:
            self._code = _give_up(f"connection to {self._request.host} lost: {problem}")
            return
        for kind, payload in take_frames(self._received):
            self._take(kind, payload)

    def _flush(self) -> None:
        try:
            sent = self._connection.send(self._pending)
        except (BrokenPipeError, ConnectionResetError):
            # The command ended without the rest of its input; its exit code is still to be read.
            sent = len(self._pending)
        del self._pending[:sent]
        if not self._pending:
            self._selector.modify(self._connection.fileno(), selectors.EVENT_READ, self._exchange)

    def _take(self, kind: bytes, data: bytes) -> None:
        if kind in (OUTPUT, ERROR_OUTPUT):
            _write(1 if kind == OUTPUT else 2, data)
        elif kind == MORE:
            self._watch(0, selectors.EVENT_READ, lambda _: self._read_input())
        elif kind == EXIT:
            self._code = int(data)
        elif kind == PROBLEM:
            self._code = _give_up(data.decode(errors="replace"))

    def _read_input(self) -> None:
        """One piece at a time, when it is asked for: signals must not queue behind input."""
        self._selector.unregister(0)
        try:
            data = os.read(0, PIECE_BYTES_MAX)
        except OSError:
            data = b""
        self._send(frame(INPUT, data))


def take_frames(received: bytearray) -> Iterator[tuple[bytes, bytes]]:
    """Takes those that are complete from the front."""
    while len(received) >= HEAD.size:
        kind, length = HEAD.unpack_from(received)
        end = HEAD.size + length
        if len(received) < end:
            return
        data = bytes(received[HEAD.size : end])
        del received[:end]
        yield kind, data


@contextlib.contextmanager
def short_name(path: str) -> Iterator[str]:
    """Another path of a socket: those of data directories may be too long for one."""
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{os.path.basename(path)}"
    finally:
        os.close(folder)


def _take_options(words: list[str]) -> str:
    """Removes options from the front; their letters."""
    letters = ""
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "--":
            break
        for at, letter in enumerate(word[1:], 1):
            letters += letter
            if letter in _OPTIONS_WITH_VALUE:
                del words[: 1 if at == len(word) - 1 else 0]
                break
    return letters


def _connect() -> socket.socket:
    path = os.environ.get(SOCKET)
    if not path:
        raise UsageError(f"{SOCKET} is not set: only pods of an MPI job can reach others")
    connection = socket.socket(socket.AF_UNIX)
    with short_name(path) as name:
        connection.connect(name)
    return connection


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _give_up(why: str) -> int:
    print(f"remote-shell: {why}", file=sys.stderr, flush=True)
    return NO_EXIT_CODE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
