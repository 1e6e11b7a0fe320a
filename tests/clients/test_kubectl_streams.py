"""kubectl reaches into running pods: logs, exec, attach, cp, port-forward, over both protocols."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.ours import start_ours
from support.reference import binaries
from support.server import Server, wait_until

pytestmark = [pytest.mark.rule("jobs C.9"), pytest.mark.rule("jobs E.5")]
SECONDS_MAX = 60.0

SERVER = """
import http.server, os, sys, threading
class Echo(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = self.path.encode() * 1000
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer((os.environ["POD_IP"], 8080), Echo)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("hello", flush=True)
print("warning", file=sys.stderr, flush=True)
for line in sys.stdin:
    print("got", line.strip(), flush=True)
"""
AT_TERMINAL = """
tty
while [ "$(stty size)" = "0 0" ]; do :; done
stty size
read x
echo "<$x>"
exit 4
"""
ADDRESS = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}


Done = subprocess.CompletedProcess[str]


class Kubectl:
    """kubectl for one server, over WebSocket or SPDY."""

    def __init__(self, server: Server, protocol: str = "websocket") -> None:
        assert server.kubeconfig is not None
        self._server = server
        self._start = [str(binaries() / "kubectl"), "--namespace", "default"]
        word = "true" if protocol == "websocket" else "false"
        self._env = {
            **os.environ,
            "KUBECONFIG": str(server.kubeconfig),
            "KUBECTL_REMOTE_COMMAND_WEBSOCKETS": word,
            "KUBECTL_PORT_FORWARD_WEBSOCKETS": word,
        }

    def over(self, protocol: str) -> "Kubectl":
        return Kubectl(self._server, protocol)

    def run(self, *words: str, stdin: str = "", code: int = 0) -> Done:
        done = subprocess.run(
            [*self._start, *words],
            env=self._env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        assert done.returncode == code, f"kubectl {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done

    def says(self, *words: str, **more: Any) -> str:
        return self.run(*words, **more).stdout

    def start(self, *words: str, **streams: Any) -> "subprocess.Popen[str]":
        return subprocess.Popen([*self._start, *words], env=self._env, text=True, **streams)

    def create(self, name: str, *containers: dict[str, Any], **spec: Any) -> None:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {
                "terminationGracePeriodSeconds": 0, "containers": list(containers), **spec,
            },
        }  # fmt: skip
        self.run("create", "-f", "-", stdin=yaml.safe_dump(pod))

    def wait_for(self, name: str, phase: str) -> None:
        words = ["wait", f"pod/{name}", f"--for=jsonpath={{.status.phase}}={phase}"]
        self.run(*words, f"--timeout={SECONDS_MAX}s")


def container(name: str, *command: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "python:3", "command": list(command), **more}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = start_ours(tmp_path_factory.mktemp("ours"), flags=())
    yield server
    server.stop()


@pytest.fixture(scope="module")
def kubectl(ours: Server) -> Kubectl:
    """With a pod that runs."""
    kubectl = Kubectl(ours)
    server = ("python3", "-u", "-c", SERVER)
    shared = {"volumeMounts": [{"name": "work", "mountPath": "/marks"}], "workingDir": "/marks"}
    kubectl.create(
        "web",
        container("main", *server, stdin=True, env=[ADDRESS], **shared),
        container("side", "sh", "-c", "echo beside; sleep 1000"),
        volumes=[{"name": "work", "emptyDir": {}}],
    )
    kubectl.wait_for("web", "Running")
    wait_until("its log", lambda: "warning" in kubectl.says("logs", "web", "-c", "main"))
    return kubectl


@pytest.fixture(params=["websocket", "spdy"])
def connected(request: pytest.FixtureRequest, kubectl: Kubectl) -> Kubectl:
    return kubectl.over(request.param)


# Logs


def test_logs_of_one_and_of_all_containers(kubectl: Kubectl) -> None:
    said = kubectl.says("logs", "web", "-c", "main")
    assert sorted(said.splitlines()[:2]) == ["hello", "warning"]
    everything = kubectl.says("logs", "web", "--all-containers", "--prefix")
    assert "[pod/web/side] beside" in everything.splitlines()


def test_a_part_of_a_log(kubectl: Kubectl) -> None:
    assert kubectl.says("logs", "web", "-c", "side", "--tail=1") == "beside\n"
    assert kubectl.says("logs", "web", "-c", "side", "--tail=0") == ""
    assert kubectl.says("logs", "web", "-c", "side", "--limit-bytes=3") == "bes"
    assert kubectl.says("logs", "web", "-c", "side", "--since=1h") == "beside\n"
    assert kubectl.says("logs", "web", "-c", "side", "--since-time=2100-01-01T00:00:00Z") == ""
    stamped = kubectl.says("logs", "web", "-c", "side", "--timestamps")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z beside\n", stamped)


def test_a_followed_log_ends_with_its_container(kubectl: Kubectl) -> None:
    script = "for i in 1 2 3 4; do echo line $i; sleep 0.3; done"
    kubectl.create("short", container("main", "sh", "-c", script), restartPolicy="Never")
    kubectl.wait_for("short", "Running")
    lines = "".join(f"line {number}\n" for number in (1, 2, 3, 4))
    assert kubectl.says("logs", "-f", "short") == lines
    kubectl.wait_for("short", "Succeeded")
    assert kubectl.says("logs", "-f", "short") == lines
    kubectl.run("delete", "pod", "short")
    assert 'pods "short" not found' in kubectl.run("logs", "short", code=1).stderr


def test_the_log_of_the_attempt_before(kubectl: Kubectl) -> None:
    script = "test -e /marks/seen && echo second && exit 0; touch /marks/seen; echo first; exit 3"
    mounted = {"volumeMounts": [{"name": "work", "mountPath": "/marks"}]}
    kubectl.create(
        "twice",
        container("main", "sh", "-c", script, **mounted),
        volumes=[{"name": "work", "emptyDir": {}}],
        restartPolicy="OnFailure",
    )
    kubectl.wait_for("twice", "Succeeded")
    assert kubectl.says("logs", "twice") == "second\n"
    assert kubectl.says("logs", "twice", "--previous") == "first\n"
    refused = kubectl.run("logs", "web", "-c", "main", "--previous", code=1).stderr
    assert refused.strip() == (
        "Error from server (BadRequest): "
        'previous terminated container "main" in pod "web" not found'
    )


# Exec, attach, cp


def test_a_command_in_a_container(connected: Kubectl) -> None:
    script = "echo out; echo err >&2; exit 3"
    done = connected.run("exec", "web", "-c", "main", "--", "sh", "-c", script, code=3)
    assert done.stdout == "out\n"
    assert done.stderr == "err\ncommand terminated with exit code 3\n"


def test_a_command_gets_its_input(connected: Kubectl) -> None:
    text = "line\n" * 100_000
    assert connected.says("exec", "-i", "web", "-c", "main", "--", "cat", stdin=text) == text


def test_a_command_may_leave_its_input_unread(connected: Kubectl) -> None:
    words = ["exec", "-i", "web", "-c", "main", "--", "head", "-n", "1"]
    assert connected.says(*words, stdin="line\n" * 1_000_000) == "line\n"


def test_a_command_that_does_not_exist(connected: Kubectl) -> None:
    refused = connected.run("exec", "web", "-c", "main", "--", "nosuchprogram", code=1).stderr
    assert "error executing command in container" in refused
    assert '"nosuchprogram": executable file not found in $PATH' in refused


def test_a_container_that_does_not_exist(connected: Kubectl) -> None:
    refused = connected.run("exec", "web", "-c", "nosuch", "--", "ls", code=1).stderr
    assert "container nosuch is not valid for pod web" in refused


def test_a_command_at_a_terminal(connected: Kubectl) -> None:
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
    words = ["exec", "-it", "web", "-c", "main", "--", "sh", "-c", AT_TERMINAL]
    kubectl = connected.start(*words, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    os.write(master, b"typed\r")
    assert kubectl.wait(SECONDS_MAX) == 4
    said = _read_all(master).replace("\r", "")
    assert "/dev/pts/" in said
    assert "33 99\n" in said
    assert "<typed>\n" in said


def test_files_are_copied_both_ways(connected: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "there" / "below").mkdir(parents=True)
    data = os.urandom(2_000_000)
    (tmp_path / "there" / "below" / "data").write_bytes(data)
    connected.run("cp", str(tmp_path / "there"), "web:copied", "-c", "main")
    connected.run("cp", "web:copied", str(tmp_path / "back"), "-c", "main")
    connected.run("exec", "web", "-c", "main", "--", "rm", "-r", "copied")
    assert (tmp_path / "back" / "below" / "data").read_bytes() == data


def test_attaching_to_the_main_process(connected: Kubectl) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with connected.start("attach", "-i", "web", "-c", "main", **pipes) as kubectl:
        assert kubectl.stdin is not None
        assert kubectl.stdout is not None
        kubectl.stdin.write("some words\n")
        kubectl.stdin.flush()
        assert kubectl.stdout.readline() == "got some words\n"
        kubectl.kill()
    assert connected.says("logs", "web", "-c", "main", "--tail=1") == "got some words\n"


# Port-forward and proxy


def test_a_port_is_forwarded(connected: Kubectl) -> None:
    with _forwarded(connected, 8080) as url, ThreadPoolExecutor(8) as pool:
        paths = [f"/{number}" for number in range(20)]
        found = list(pool.map(lambda path: _get(url + path), paths))
    assert found == [path.encode() * 1000 for path in paths]


def test_a_port_where_nobody_listens(connected: Kubectl) -> None:
    with _forwarded(connected, 9) as url, pytest.raises(OSError, match=r"."):
        _get(url)


def test_a_request_through_the_proxy(kubectl: Kubectl) -> None:
    path = "/api/v1/namespaces/default/pods/web:8080/proxy/some/path"
    assert kubectl.says("get", "--raw", path) == "/some/path" * 1000
    refused = kubectl.run("get", "--raw", path.replace("8080", "9"), code=1).stderr
    assert "error trying to reach service: dial tcp" in refused


@contextmanager
def _forwarded(kubectl: Kubectl, port: int) -> Iterator[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with kubectl.start("port-forward", "pod/web", f":{port}", **pipes) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", line)
        try:
            assert found, line
            yield f"http://127.0.0.1:{found[1]}"
        finally:
            process.kill()


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=SECONDS_MAX) as response:
        data: bytes = response.read()
        return data


def _read_all(master: int) -> str:
    said = b""
    try:
        while piece := os.read(master, 65536):
            said += piece
    except OSError:
        pass
    os.close(master)
    return said.decode()
