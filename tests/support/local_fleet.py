"""A manager and its workers on this machine, started and asked as a user does it."""

import base64
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from support.server import Server, wait_until

SECONDS_MAX = 120.0


class LocalFleet:
    """What `fleetqueue up --dir DIR` is about."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kubeconfig = path / "kubeconfig"
        self.said = ""
        """At its latest start."""

    def command(self, *words: str, code: int = 0) -> str:
        """Runs `fleetqueue`; what it says, which is on one side only."""
        done = subprocess.run(
            [sys.executable, "-m", "fleetqueue", *words],
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
        )
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        assert "Traceback" not in said
        return said

    def up(self, *options: str, code: int = 0) -> str:
        self.said = self.command("up", "--dir", str(self.path), *options, code=code)
        return self.said

    def down(self) -> str:
        return self.command("down", "--dir", str(self.path))

    @property
    def names(self) -> list[str]:
        return [each["name"] for each in self._read()["contexts"]]

    def server(self, name: str) -> Server:
        """Where its context in the kubeconfig says."""
        config = self._read()
        found = next(each["cluster"] for each in config["clusters"] if each["name"] == name)
        authority = self.path / f"{name}.crt"
        authority.write_bytes(base64.b64decode(found["certificate-authority-data"]))
        token = (self.path / name / "pki" / "admin-token").read_text().strip()
        return Server(name, found["server"], token, str(authority), kubeconfig=self.kubeconfig)

    def pid(self, name: str = "") -> int:
        """Of one cluster, or of the process that runs all."""
        file = self.path / "logs" / f"{name}.pid" if name else self.path / "lock"
        return int(file.read_text())

    def kill(self, name: str = "") -> None:
        """And waits until it is gone."""
        pid = self.pid(name)
        os.kill(pid, signal.SIGKILL)
        wait_until(f"the end of {pid}", lambda: not Path(f"/proc/{pid}").exists())

    def processes(self) -> set[int]:
        """All that belong to it: clusters by their command, pods by their environment."""
        found = set()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                is_zombie = ") Z " in (entry / "stat").read_text()
            except OSError:
                continue
            if not is_zombie and f"{self.path}/".encode() in words.replace(b"\0", b"/"):
                found.add(int(entry.name))
        return found

    def _read(self) -> Any:
        return yaml.safe_load(self.kubeconfig.read_text())
