"""What the process of a fleet becomes once all its clusters serve: they were forked from all that
it had loaded, and to wait for them takes next to nothing of that.

`python -I -S <this file> <what it has to know, as JSON>`
"""

import contextlib
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleetqueue.local_fleet.held import Held
    from fleetqueue.nursery.children import Child, Children

NAME = "fleetqueue"


def become(held: "Held", children: "Children") -> None:
    """The same process, and their parent still. Comes back only where it was told to stop."""
    from fleetqueue.nursery.children import STOPPING

    known = children.children
    for descriptor in (held.descriptor, *(child.channel.fileno() for child in known)):
        os.set_inheritable(descriptor, True)
    facts = {
        "lock": [held.descriptor, str(held.path)],
        "children": [
            [child.name, child.pid, child.channel.fileno(), str(child.output or "")]
            for child in known
        ],
    }
    # Whoever stops it in between is heard afterwards.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    if not children.stops:
        os.execv(sys.executable, [sys.executable, "-I", "-S", __file__, json.dumps(facts)])
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)


def main() -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from fleetqueue.local_fleet.held import Held, Phase
    from fleetqueue.nursery.children import STOPPING, Child, Children

    # For those who look at the processes of a machine.
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(NAME)
    facts = json.loads(sys.argv[1])
    descriptor, path = facts["lock"]
    held = Held(descriptor, Path(path))
    with Children(time.monotonic) as children:
        for name, pid, channel, output in facts["children"]:
            os.set_inheritable(channel, False)
            kept = socket.socket(fileno=channel)
            children.add(Child(name, pid, Path(output) if output else None, kept))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        try:
            children.run(note_end, is_over=lambda: not held.is_in_place())
            if not held.is_in_place():
                _say(sys.stderr.fileno(), f"{held.path.parent} was removed: the fleet ends")
        finally:
            held.tell(Phase.STOPPING)


def note_end(child: "Child") -> None:
    """One that ended by itself may not have come to say why."""
    if not child.exit_code or child.output is None:
        return
    with contextlib.suppress(OSError), child.output.open("ab") as log:
        _say(log.fileno(), child.told_end())


def _say(descriptor: int, text: str) -> None:
    """As the others log."""
    import logging

    from fleetqueue.base.log_lines import LogLines

    record = logging.makeLogRecord(
        {"name": "fleetqueue.local_fleet", "levelname": "ERROR", "msg": text}
    )
    os.write(descriptor, f"{LogLines().format(record)}\n".encode())


if __name__ == "__main__":
    main()
