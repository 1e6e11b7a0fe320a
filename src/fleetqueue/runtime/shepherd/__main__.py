"""Starts the shepherd: `python -I -S <this file> <descriptor of its socket> <settings as JSON>`."""

import contextlib
import json
import os
import resource
import socket
import sys


def main() -> None:
    sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3)))
    from fleetqueue.runtime.shepherd import kernel
    from fleetqueue.runtime.shepherd.channel import Channel
    from fleetqueue.runtime.shepherd.loop import Shepherd

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    kernel.become_subreaper()
    descriptor = int(sys.argv[1])
    settings = json.loads(sys.argv[2])
    # The lock is held, and not looked at: the next server waits until this process is gone.
    for kept in (descriptor, settings["lock"]):
        os.set_inheritable(kept, False)
    Shepherd(Channel(socket.socket(fileno=descriptor)), settings).run()


if __name__ == "__main__":
    main()
