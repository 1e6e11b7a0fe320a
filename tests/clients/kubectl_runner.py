"""Plays scenarios with kubectl against one server, and makes what it prints comparable."""

import json
import os
import re
import shlex
import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import yaml

from clients.conftest import make_namespace
from clients.kubectl_scenarios import Scenario, Step
from support.server import Server

_REPLACED = [
    (re.compile(pattern), word)
    for pattern, word in (
        (r"[EIW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "<log> "),
        (r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "<jwt>"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "<time>"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \+0000(?: UTC)?", "<time>"),
        (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000", "<time>"),
        (r'(\\?"?resourceVersion\\?"?: ?\\?"?)\d+', r"\1<revision>"),
        (r"/(?:LIVE|MERGED)-\d+/", "/<folder>/"),
        (r"(?:/\S+)?/kubectl-edit-\d+\.yaml", "<edited file>"),
        (r"\b10\.\d+\.\d+\.\d+\b", "<address>"),
        (r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-<suffix>"),
        (r"(?<![\w.-])(?:\d+m)?\d+s\b|<invalid>", "<age>"),
        (r"(?<=\S)  +", "  "),
        (r" +\n", "\n"),
    )
]


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
        process.stdin.write(step.stdin.replace("$NS", namespace))
        process.stdin.close()
        if step.meanwhile:
            printed.wait(step.seconds)
            for line in step.meanwhile:
                self._start(Step(line), line, folder, namespace).communicate()
        self._wait(process, step.seconds)
        for reader in readers:
            reader.join()
        if step.save:
            (folder / step.save).write_text("".join(out))
        code = 0 if step.lines else process.returncode
        return Result(
            code,
            self._normal("".join(out), step, folder, namespace),
            self._normal("".join(err), step, folder, namespace),
        )

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

    def _normal(self, text: str, step: Step, folder: Path, namespace: str) -> str:
        if step.facts:
            return ""
        text = text.replace(self._server.url, "<server>").replace(str(folder), "<folder>")
        address = self._server.url.removeprefix("https://")
        text = text.replace(address, "<server>").replace(namespace, "<namespace>")
        for pattern, word in _REPLACED:
            text = pattern.sub(word, text)
        lines = [_sorted_json(line) for line in text.splitlines()]
        if step.ignore:
            lines = [line for line in lines if not re.search(step.ignore, line)]
        return "\n".join(sorted(lines) if step.unordered else lines)

    def _write_kubeconfig(self, folder: Path, namespace: str) -> None:
        """The administrator's, with the namespace of the scenario; tokens work on top of it."""
        authority = Path(self._server.authority)
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


def _sorted_json(line: str) -> str:
    """An answer that kubectl passes on as it came; the order of its fields means nothing."""
    if not line.startswith('{"'):
        return line
    try:
        return json.dumps(json.loads(line), indent=1, sort_keys=True)
    except ValueError:
        return line
