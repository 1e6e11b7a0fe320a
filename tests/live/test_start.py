"""A cluster that says that it is ready has everything that it is born with."""

from pathlib import Path

import pytest

from fleetqueue.runtime.operators.training_runtimes import runtimes
from support.ours import start_ours

pytestmark = [pytest.mark.rule("jobs D.9"), pytest.mark.rule("jobs E.2")]


def test_a_cluster_that_is_ready_has_all_training_runtimes(tmp_path: Path) -> None:
    server = start_ours(tmp_path, flags=())
    try:
        with server.client() as client:
            listed = client.send(
                "GET", "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"
            )
            ready = client.send("GET", "/readyz?verbose")
    finally:
        server.stop()
    assert listed.status == 200, listed.body
    found = {each["metadata"]["name"] for each in listed.json["items"]}
    assert found == {each["metadata"]["name"] for each in runtimes()}
    assert "[+]cluster ok" in ready.body.decode()


def test_nobody_else_may_read_what_pods_mount(tmp_path: Path) -> None:
    """Secrets and tokens are files there."""
    home = tmp_path / "shared"
    home.mkdir(mode=0o755)
    server = start_ours(home, flags=())
    server.stop()
    [runtime] = home.rglob("runtime")
    assert runtime.stat().st_mode & 0o077 == 0
