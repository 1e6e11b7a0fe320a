"""How the server tells the shepherd to start something, and the streams that go with that."""

import os

from fleetqueue.runtime.processes import Command
from fleetqueue.runtime.shepherd.channel import Message
from fleetqueue.runtime.streams import DescriptorStreams


def start_order(
    id: str, command: Command, *, container: str = "", log: str = "", record: str = ""
) -> Message:
    limits = command.limits
    return {
        "do": "start",
        "id": id,
        "container": container,
        "argv": list(command.argv),
        "env": dict(command.env),
        "cwd": str(command.cwd),
        "hostname": command.hostname,
        "mounts": [[str(m.source), m.target, m.is_read_only] for m in command.mounts],
        "memory": limits.memory_bytes,
        "cpu": limits.cpu_millis,
        "files": limits.open_files,
        "user": command.user,
        "group": command.group,
        "log": log,
        "record": record,
    }


def connect(command: Command) -> tuple[dict[str, int], DescriptorStreams]:
    """The streams of an executed process: what it is given, and our ends of them."""
    if command.tty:
        master, slave = os.openpty()
        return {"tty": slave}, DescriptorStreams({master: 1}, terminal=master)
    given: dict[str, int] = {}
    kept: int | None = None
    if command.stdin:
        given["stdin"], kept = os.pipe()
    outputs: dict[int, int] = {}
    for number, role in enumerate(("stdout", "stderr"), 1):
        read, given[role] = os.pipe()
        outputs[read] = number
    return given, DescriptorStreams(outputs, input=kept)
