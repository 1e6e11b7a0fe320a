"""Names in the kernel that one process of the machine can hold: they go with the process, whatever
ends it.
"""

import contextlib
import socket
import sys


def claim(name: str) -> socket.socket | None:
    """Held until it is closed; None where another process has it. Only Linux has such names: on
    other systems everybody gets what they ask for.
    """
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    if not sys.platform.startswith("linux"):
        return made
    try:
        made.bind(f"\0{name}")
    except OSError:
        with contextlib.suppress(OSError):
            made.close()
        return None
    return made
