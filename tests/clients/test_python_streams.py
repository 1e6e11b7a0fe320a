"""The Python client and kr8s reach into running pods, as the Kubeflow SDK does for logs."""

import gc
import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import kr8s
import kubernetes
import pytest
from kr8s._async_utils import as_sync_func
from kr8s.objects import Pod
from kubernetes.stream import portforward, stream

from support.ours import start_ours
from support.server import Server, wait_until

pytestmark = [
    pytest.mark.rule("jobs C.9"),
    pytest.mark.rule("jobs E.5"),
    # Both clients leave sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SERVER = """
import http.server, os
server = http.server.HTTPServer((os.environ["POD_IP"], 8080), http.server.SimpleHTTPRequestHandler)
print("listening", flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = start_ours(tmp_path_factory.mktemp("ours"), flags=())
    yield server
    server.stop()


@pytest.fixture
def core(ours: Server) -> Iterator[Any]:
    """A new one for each test: connecting changes a client for good."""
    client = kubernetes.config.new_client_from_config(str(ours.kubeconfig))
    with client:
        core = kubernetes.client.CoreV1Api(client)
        if not core.list_namespaced_pod("default", field_selector="metadata.name=web").items:
            address = {"fieldRef": {"fieldPath": "status.podIP"}}
            create(core, "web", "python3", "-u", "-c", SERVER, env={"POD_IP": address})
        read = core.read_namespaced_pod_log
        wait_until("its log", lambda: _phase(core) == "Running" and read("web", "default") != "")
        yield core
    gc.collect()


def create(core: Any, name: str, *command: str, env: dict[str, Any] | None = None) -> None:
    container = {
        "name": "node",
        "image": "python:3",
        "command": list(command),
        "env": [{"name": name, "valueFrom": source} for name, source in (env or {}).items()],
    }
    pod = {
        "metadata": {"name": name},
        "spec": {"containers": [container], "restartPolicy": "Never"},
    }
    core.create_namespaced_pod("default", pod)


def _phase(core: Any, name: str = "web") -> str:
    phase: str = core.read_namespaced_pod(name, "default").status.phase
    return phase


def test_a_followed_log_comes_line_by_line_and_ends(core: Any) -> None:
    script = "for i in 1 2 3; do echo step $i; sleep 0.3; done"
    create(core, "steps", "sh", "-c", script)
    wait_until("its start", lambda: _phase(core, "steps") in ("Running", "Succeeded"))
    follow = kubernetes.watch.Watch().stream(
        core.read_namespaced_pod_log, name="steps", namespace="default", container="node"
    )
    assert list(follow) == ["step 1", "step 2", "step 3"]


def test_a_command_and_its_outcome(core: Any) -> None:
    script = "read x; echo got $x; echo bad >&2; exit 7"
    session = stream(
        core.connect_get_namespaced_pod_exec, "web", "default", command=["sh", "-c", script],
        stdin=True, stdout=True, stderr=True, tty=False, _preload_content=False,
    )  # fmt: skip
    session.write_stdin("words\n")
    session.run_forever(timeout=30)
    assert session.read_stdout() == "got words\n"
    assert session.read_stderr() == "bad\n"
    assert session.returncode == 7
    session.close()


def test_a_command_by_its_output_alone(core: Any) -> None:
    said = stream(
        core.connect_get_namespaced_pod_exec, "web", "default",
        command=["echo", json.dumps({"a": 1})], stdin=False, stdout=True, stderr=True, tty=False,
    )  # fmt: skip
    assert "a" in said


def test_ports_are_forwarded(core: Any) -> None:
    forward = portforward(
        core.connect_get_namespaced_pod_portforward, "web", "default", ports="8080,9"
    )
    connection = forward.socket(8080)
    connection.setblocking(True)
    connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
    assert connection.recv(15) == b"HTTP/1.0 200 OK"
    refused = forward.socket(9)
    refused.setblocking(True)
    assert refused.recv(1) == b""
    assert "error forwarding port 9 to pod web" in forward.error(9)
    while connection.recv(65536):
        pass
    forward.close()


def test_kr8s_reaches_into_a_pod(core: Any, ours: Server) -> None:
    api = kr8s.api(kubeconfig=str(ours.kubeconfig))
    pod = Pod.get("web", namespace="default", api=api)
    assert next(iter(pod.logs())) == "listening"
    assert pod.exec(["sh", "-c", "echo from kr8s"]).stdout == b"from kr8s\n"
    with pod.portforward(8080) as port, _open(f"http://127.0.0.1:{port}/") as response:
        assert response.status == 200
    # kr8s leaves its connections to the end of the process, which would be a warning here.
    as_sync_func(api._session.aclose)()


def _open(url: str) -> Any:
    return urllib.request.urlopen(url, timeout=30)
