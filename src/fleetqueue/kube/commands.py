"""Runs a command in a container of a pod, and joins it with streams of this process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fleetqueue.base import codec
from fleetqueue.kube import websocket
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import BadAnswer, refusal, refusal_from_body
from fleetqueue.kube.resources import PODS
from fleetqueue.kube.transport import Call
from fleetqueue.kube.upgrades import SWITCHING, Upgraded, upgrade
from fleetqueue.kube.websocket import WebSocket

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
INTERNAL = "Internal error occurred: "
STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255


@dataclass(frozen=True, slots=True)
class Command:
    """What runs, where, and with which streams."""

    pod: str
    namespace: str
    argv: Sequence[str]
    container: str = ""
    stdin: bool = False
    tty: bool = False

    def query(self) -> list[tuple[str, str]]:
        flags = {"stdin": self.stdin, "stdout": True, "stderr": not self.tty, "tty": self.tty}
        named = [("container", self.container)] if self.container else []
        words = [("command", word) for word in self.argv]
        return [*words, *named, *((name, "true") for name, is_set in flags.items() if is_set)]


@dataclass(frozen=True, slots=True)
class Streams:
    """What a command is joined with here."""

    write: Callable[[int, bytes], None]
    """Takes what it says, with the number of the stream."""
    inputs: AsyncIterator[bytes] | None = None
    sizes: AsyncIterator[tuple[int, int]] | None = None
    """Of the terminal, in columns and rows."""


async def execute(client: Client, command: Command, streams: Streams) -> int:
    """Until it has ended; its exit code."""
    path = PODS.path(command.namespace, command.pod, "exec")
    call = Call("GET", path, command.query(), websocket.offer((V5, V4)))
    answer = await upgrade(client, call)
    try:
        if answer.status != SWITCHING:
            raise refusal_from_body(answer.status, answer.body, dict(answer.headers))
        return await _converse(answer, streams)
    finally:
        answer.close()


async def _converse(answer: Upgraded, streams: Streams) -> int:
    assert answer.reader is not None
    assert answer.writer is not None
    socket = WebSocket(answer.reader, answer.writer)
    tells_ends = answer.header("sec-websocket-protocol") == V5
    tasks = []
    if streams.inputs is not None:
        tasks.append(asyncio.create_task(_send(socket, streams.inputs, tells_ends)))
    if streams.sizes is not None:
        tasks.append(asyncio.create_task(_resize(socket, streams.sizes)))
    try:
        return await _listen(socket, streams.write)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _listen(socket: WebSocket, write: Callable[[int, bytes], None]) -> int:
    code: int | None = None
    while (message := await socket.receive()) is not None:
        channel, data = message[:1], message[1:]
        if channel == bytes([STATUS]):
            code = exit_code(codec.decode(data))
            break
        if channel in (bytes([STDOUT]), bytes([STDERR])) and data:
            write(channel[0], data)
    if code is None:
        raise BadAnswer("the connection ended before the command did")
    return code


def exit_code(status: Any) -> int:
    """Raises where it never ran."""
    if status.get("status") == "Success":
        return 0
    for cause in (status.get("details") or {}).get("causes") or ():
        if cause.get("reason") == "ExitCode":
            return int(cause["message"])
    message = told_once(str(status.get("message") or ""))
    raise refusal({**status, "message": message, "code": status.get("code") or 500})


def told_once(message: str) -> str:
    """Without the beginning that each server on the way has put before it again."""
    while message.startswith(INTERNAL * 2):
        message = message.removeprefix(INTERNAL)
    return message


async def _send(socket: WebSocket, inputs: AsyncIterator[bytes], tells_ends: bool) -> None:
    async for data in inputs:
        await socket.send(bytes([STDIN]) + data)
    if tells_ends:
        await socket.send(bytes([CLOSE, STDIN]))


async def _resize(socket: WebSocket, sizes: AsyncIterator[tuple[int, int]]) -> None:
    async for columns, rows in sizes:
        size = codec.encode({"Width": columns, "Height": rows})
        await socket.send(bytes([RESIZE]) + size)
