"""controller-runtime and client-go against our server: protobuf bodies, caches, a controller.

The program under `go/` makes the checks; it is built into the cache, outside the repository.
"""

import os
import subprocess
from pathlib import Path

import pytest

from support.server import Server

SOURCE = Path(__file__).parent / "go"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fleetqueue" / "go-client"
CHECKS = 23


@pytest.fixture(scope="module")
def program() -> Path:
    target = CACHE / "clients"
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-o", str(target), "."], cwd=SOURCE, check=True)
    return target


def test_controller_runtime_works_with_our_server(
    program: Path, kubeconfig: Path, ours: Server, namespace: str
) -> None:
    ran = subprocess.run(
        [str(program), namespace],
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    lines = ran.stdout.splitlines()
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
    assert len(lines) == CHECKS
    assert all(line.startswith("ok ") for line in lines)
