"""A cluster with queues whose pods are simulated, its dashboard, and a browser."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fleetqueue.app import ServeOptions, serving
from fleetqueue.base.clock import SystemClock
from fleetqueue.dashboard.running import DashboardOptions, showing
from fleetqueue.embedded.live import LiveOptions
from fleetqueue.kube.client import Client
from fleetqueue.kube.connect import connect
from fleetqueue.kueue import read_options
from fleetqueue.runtime.nodes import NodeSpec
from support.browser import Tab, browsing
from support.kueue import cluster_queue, cohort, flavor, local_queue

Object = dict[str, Any]
MARKUP = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


@dataclass
class Shown:
    """What the tests look at."""

    client: Client
    kubeconfig: Path
    url: str
    tab: Tab

    async def open(self, path: str) -> None:
        await self.tab.open(self.url.rstrip("/") + path)

    async def job(self, name: str, cpu: str) -> None:
        """One that runs until the test ends."""
        await self.client.create(job(name, cpu))


@pytest.fixture
async def shown(tmp_path: Path) -> AsyncIterator[Shown]:
    node = NodeSpec("node", mode="simulated", capacity={"cpu": "64", "memory": "64Gi"})
    live = LiveOptions(tmp_path, [node], True, kueue=read_options())
    options = ServeOptions(tmp_path, durability="memory", live=live)
    async with serving(options) as running, browsing() as tab:
        client = connect(running.kubeconfig, clock=SystemClock(), random=Random(1))
        try:
            queue = cluster_queue("research", "3", cohortName="lab")
            for obj in (flavor(), cohort("lab"), queue, local_queue("main", "research")):
                await client.create(obj)
            async with showing(DashboardOptions(running.kubeconfig)) as url:
                yield Shown(client, running.kubeconfig, url, tab)
        finally:
            await client.close()


def job(name: str, cpu: str) -> Object:
    runs_on = {"pod-complete.stage.kwok.x-k8s.io/delay": "3600s", "note": MARKUP}
    container = {
        "name": "main",
        "image": "host",
        "command": ["sleep", "3600"],
        "env": [{"name": "HF_TOKEN", "value": "hf_secret"}, {"name": "NOTE", "value": MARKUP}],
        "resources": {"requests": {"cpu": cpu}},
    }
    spec = {"restartPolicy": "Never", "containers": [container]}
    template = {"metadata": {"annotations": runs_on}, "spec": spec}
    labels = {"kueue.x-k8s.io/queue-name": "main"}
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"suspend": True, "template": template},
    }
