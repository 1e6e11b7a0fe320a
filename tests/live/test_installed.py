"""The controllers as a Deployment of the cluster whose jobs they queue, as on a real cluster: found
by the names that Kueue's has, asked by the API server behind their Service.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from live import objects
from live.conftest import Live
from live.queues import offer, queued, succeeded, told
from support.ports import free_port

pytestmark = pytest.mark.rule("HAR-1", "HAR-2", "kueue 10.4", "kueue 10.5")
SYSTEM = "kueue-system"
NAME = "kueue-controller-manager"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """A cluster that queues nothing by itself, until somebody installs what does."""
    made = Live(tmp_path / "cluster", "--no-queues")
    try:
        _install(made, tmp_path)
        yield made
    finally:
        made.server.stop()


def _install(live: Live, directory: Path) -> None:
    configuration = directory / "configuration.yaml"
    configuration.write_text(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\n"
        "kind: Configuration\n"
        "metrics: {bindAddress: '0'}\n"
        f"health: {{healthProbeBindAddress: ':{free_port()}'}}\n"
        f"visibilityServer: {{bindPort: {free_port()}}}\n"
        f"webhook: {{port: {free_port()}}}\n"
    )
    kubeconfig = ["--kubeconfig", str(live.directory / "kubeconfig")]
    said = ["--config", str(configuration), "--image", "python:3"]
    command = [sys.executable, "-m", "fleetqueue", "install", *kubeconfig, *said]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def test_the_controllers_run_in_the_cluster_that_they_serve(live: Live) -> None:
    live.namespace = SYSTEM

    def is_available() -> bool:
        told = live.get("Deployment", NAME).get("status") or {}
        return told.get("availableReplicas") == 1

    live.until("the Deployment is available", is_available)
    [pod] = live.all("Pod")
    [container] = pod["status"]["containerStatuses"]
    assert (container["name"], container["restartCount"]) == ("manager", 0)
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{SYSTEM}/endpointslices"
    status, found = live.send(
        "GET", f"{slices}?labelSelector=kubernetes.io/service-name=kueue-webhook-service"
    )
    assert status == 200
    addresses = [
        each for one in found["items"] for at in one["endpoints"] for each in at["addresses"]
    ]
    assert addresses == [pod["status"]["podIP"]]
    lease = "/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases/c1f6bfd2.kueue.x-k8s.io"
    status, held = live.send("GET", lease)
    assert status == 200
    assert held["spec"]["holderIdentity"].startswith(f"{pod['metadata']['name']}_")
    flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor"}
    tried = {**flavor, "metadata": {"generateName": "tried-"}}
    assert live.send("POST", f"{live.path('ResourceFlavor')}?dryRun=All", tried)[0] == 201

    live.use("team")
    queue = offer(live, "one", "100m")
    live.create(queued(objects.job(("true",)), "small", queue))
    succeeded(live, "small")
    _waits_are_seen(live, queue)


def _waits_are_seen(live: Live, queue: str) -> None:
    """What the controllers serve beside the API server is asked through it."""
    live.create(queued(objects.job(("true",)), "large", queue, cpu="1"))
    live.until("it waits", lambda: told(live, "large", "QuotaReserved"))
    cluster_queue = live.get("LocalQueue", queue)["spec"]["clusterQueue"]
    for version in ("v1beta2", "v1beta1"):
        base = f"/apis/visibility.kueue.x-k8s.io/{version}"
        _, service = live.send("GET", f"{API_SERVICES}/{version}.visibility.kueue.x-k8s.io")
        [condition] = service["status"]["conditions"]
        assert (condition["reason"], condition["message"]) == ("Passed", "all checks passed")
        status, found = live.send("GET", f"{base}/clusterqueues/{cluster_queue}/pendingworkloads")
        assert status == 200, found
        assert [each["metadata"]["namespace"] for each in found["items"]] == ["team"]
        status, missing = live.send("GET", f"{base}/clusterqueues/none/pendingworkloads")
        assert (status, missing["reason"]) == (404, "NotFound")
    status, document = live.send("GET", "/openapi/v2")
    assert status == 200
    assert f"{base}/clusterqueues/{{name}}/pendingworkloads" in document["paths"]
