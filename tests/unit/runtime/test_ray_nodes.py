"""Nodes of Ray that share one machine."""

import pytest

from fleetqueue.runtime.ports import JobPorts, PodPorts
from fleetqueue.runtime.ray_nodes import place_ray

pytestmark = pytest.mark.rule("jobs C.12")
ANY = (
    "--node-ip-address=127.1.0.5 --node-manager-port=0 --object-manager-port=0"
    " --min-worker-port=0 --max-worker-port=0"
)


def place(*argv: str) -> tuple[str, ...]:
    return place_ray(argv, "127.1.0.5", PodPorts(JobPorts(lambda asked: asked + 1), "r-head"))


def test_a_head_is_told_its_address_and_ports() -> None:
    (script,) = place("ulimit -n 65536; ray start --head  --block && echo done")
    assert script == (
        f"ulimit -n 65536; ray start {ANY} --dashboard-agent-listen-port=52366"
        " --metrics-export-port=8081 --port=6380 --ray-client-server-port=10002"
        " --dashboard-port=8266 --head  --block && echo done"
    )


def test_what_is_told_already_stays() -> None:
    argv = (
        "ray",
        "start",
        "--address=h:6379",
        "--node-ip-address=1.2.3.4",
        "--min-worker-port",
        "9",
    )
    assert place(*argv) == (
        *argv,
        "--node-manager-port=0",
        "--object-manager-port=0",
        "--max-worker-port=0",
        "--dashboard-agent-listen-port=52366",
        "--metrics-export-port=8081",
    )


@pytest.mark.parametrize("text", ["ray status", "my-ray start", "echo x", "array start"])
def test_other_commands_stay(text: str) -> None:
    assert place("sh", "-c", text) == ("sh", "-c", text)
