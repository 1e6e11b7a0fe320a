"""The `docker` that the suites of Kueue find: what they do to a node of kind is done to an embedded
cluster.

They know one thing to do: the API server of a cluster moves to an address where nobody reaches it,
and back. Ours is stopped and started again.
"""

import json
import socketserver
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

HIDDEN = "--bind-address=127.0.0.1"
_PROGRAM = """#!{python}
import json, socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({socket!r})
    connection.sendall(json.dumps(sys.argv[1:]).encode() + b"\\n")
    sys.exit(connection.makefile().read() or 0)
"""


class Docker(AbstractContextManager["Docker"]):
    """A program in `directory`, and who answers it: `reach` makes the API server that runs on a
    node of kind reachable, or not.
    """

    def __init__(self, directory: Path, reach: Mapping[str, Callable[[bool], None]]) -> None:
        self.directory = directory
        self._reach = reach
        directory.mkdir()
        place = directory / "socket"
        program = directory / "docker"
        program.write_text(_PROGRAM.format(python=sys.executable, socket=str(place)))
        program.chmod(0o755)
        asked = self

        class Conversation(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(asked._do(json.loads(self.rfile.readline())).encode())

        self._server = socketserver.UnixStreamServer(str(place), Conversation)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _do(self, words: list[Any]) -> str:
        """Why it could not be done."""
        verb, node, *command = words
        if verb != "exec" or node not in self._reach or HIDDEN not in " ".join(command):
            return f"not known here: docker {' '.join(words)}"
        is_taken_back = command[-1].split("'")[1].endswith("/d")
        self._reach[node](is_taken_back)
        return ""
