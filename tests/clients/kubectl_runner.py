"""Plays scenarios with kubectl against one server, and makes what it prints comparable."""

import os
import shlex
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

import yaml

from clients.kubectl_normal import normal
from clients.kubectl_scenarios import Scenario, Step
from clients.namespaces import make_namespace
from support.server import Server


@dataclass(frozen=True)
class Result:
    """What a command did, comparable between servers."""

    code: int
    out: str
    err: str

    def text(self) -> str:
        return f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Kubectl:
    """kubectl with a home of its own, for one server."""

    def __init__(self, binary: Path, server: Server, home: Path) -> None:
        self._binary = str(binary)
        self._server = server
        self._home = home

    def play(self, scenario: Scenario, namespace: str) -> list[Result]:
        make_namespace(self._server, namespace)
        folder = self._home / namespace
        folder.mkdir(parents=True)
        self._write_kubeconfig(folder, namespace)
        for name, text in scenario.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("$NS", namespace))
        if scenario.crds:
            (folder / "crds.yaml").write_text("---\n".join(map(_definitions, scenario.crds)))
        return [self._play(step, folder, namespace) for step in scenario.steps]

    def _play(self, step: Step, folder: Path, namespace: str) -> Result:
        process = self._start(step, step.run, folder, namespace)
        out: list[str] = []
        err: list[str] = []
        printed = threading.Event()
        readers = [
            threading.Thread(target=self._read, args=(process, process.stdout, out, step, printed)),
            threading.Thread(target=self._read, args=(process, process.stderr, err, None, printed)),
        ]
        for reader in readers:
            reader.start()
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin:
            process.stdin.write(step.stdin.replace("$NS", namespace))
        if step.meanwhile:
            printed.wait(step.seconds)
            for line in step.meanwhile:
                self._start(Step(line), line, folder, namespace).communicate()
        self._wait(process, step.seconds)
        for reader in readers:
            reader.join()
        if step.save:
            (folder / step.save).write_text("".join(out))
        names = {
            self._server.url: "<server>",
            self._server.url.removeprefix("https://"): "<server>",
            str(folder): "<folder>",
            namespace: "<namespace>",
        }
        code = 0 if step.lines else process.returncode
        return Result(code, *(normal("".join(lines), step, names) for lines in (out, err)))

    def _start(
        self, step: Step, line: str, folder: Path, namespace: str
    ) -> "subprocess.Popen[str]":
        arguments = shlex.split(line.replace("$NS", namespace))
        environment = {
            "HOME": str(self._home),
            "KUBECONFIG": str(folder / ".kubeconfig"),
            "PATH": os.environ["PATH"],
            "TMPDIR": str(folder),
            "TZ": "UTC",
            **step.environment,
        }
        return subprocess.Popen(
            [self._binary, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @staticmethod
    def _read(
        process: "subprocess.Popen[str]",
        stream: IO[str],
        lines: list[str],
        step: Step | None,
        printed: threading.Event,
    ) -> None:
        with stream:
            for line in stream:
                lines.append(line)
                printed.set()
                if step is not None and step.lines and len(lines) == step.lines:
                    process.send_signal(signal.SIGTERM)
        printed.set()

    @staticmethod
    def _wait(process: "subprocess.Popen[str]", seconds: float) -> None:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _write_kubeconfig(self, folder: Path, namespace: str) -> None:
        """The administrator's, with the namespace of the scenario; tokens work on top of it."""
        authority = folder / "ca.crt"
        authority.write_bytes(Path(self._server.authority).read_bytes())
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "local",
                    "cluster": {
                        "server": self._server.url,
                        "certificate-authority": str(authority),
                    },
                }
            ],
            "users": [{"name": "admin", "user": {"token": self._server.token}}],
            "contexts": [
                {
                    "name": "local",
                    "context": {"cluster": "local", "user": "admin", "namespace": namespace},
                }
            ],
            "current-context": "local",
        }
        (folder / ".kubeconfig").write_text(yaml.safe_dump(config))


@cache
def _definitions(group: str) -> str:
    command = [sys.executable, "-m", "fleetqueue", "crds", "--group", group]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
