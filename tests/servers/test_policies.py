"""The policy of `fleetqueue install --mutating-admission-policy` on a kube-apiserver that enforces
such policies: names of workers that anybody wrote are no obstacle to the choice of one.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fleetqueue import attached
from fleetqueue.api.crds import all_crds
from fleetqueue.api.kueue import policies
from fleetqueue.base.clock import SystemClock
from fleetqueue.kube.client import Client
from fleetqueue.kube.connect import connect
from fleetqueue.kube.errors import Invalid, KubeError
from fleetqueue.multikueue.kinds import WORKLOAD
from support.reference import start_reference

Object = dict[str, Any]
FLAGS = (
    "--feature-gates=MutatingAdmissionPolicy=true",
    f"--runtime-config={policies.API_GROUP}/v1beta1=true",
)
SECONDS_MAX = 60.0
NAMES = ["worker1", "worker2"]
TIME = "2026-01-01T00:00:00Z"

pytestmark = pytest.mark.rule("DISP-33", "I15")


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    server = start_reference(tmp_path / "server", controllers=False, flags=FLAGS)
    try:
        made = connect(
            server.kubeconfig, "", clock=SystemClock(), random=random.Random(1), field_manager="us"
        )
        for crd in all_crds("kueue.x-k8s.io"):
            if crd["spec"]["names"]["kind"] == WORKLOAD.kind:
                await made.create(without_conversion(crd))
        await until(lambda: made.discovery.resource(WORKLOAD.api_version, WORKLOAD.kind))
        await until(lambda: made.list(WORKLOAD, "default"))
        yield made
        await made.close()
    finally:
        server.stop()


def without_conversion(crd: Object) -> Object:
    """Nobody is there who could be asked."""
    spec = {name: value for name, value in crd["spec"].items() if name != "conversion"}
    versions = [{**each, "served": each["name"] == "v1beta2"} for each in spec["versions"]]
    return {**crd, "spec": {**spec, "versions": versions}}


async def until(ask: Any) -> Any:
    """What it answers as soon as the server does not refuse it."""
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            try:
                return await ask()
            except KubeError:
                await asyncio.sleep(0.1)


def workload(name: str) -> Object:
    container = {"name": "c", "image": "i"}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    pod_set = {"name": "main", "count": 1, "template": template}
    return {
        "apiVersion": WORKLOAD.api_version,
        "kind": WORKLOAD.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"queueName": "q", "podSets": [pod_set]},
    }


async def write(client: Client, name: str, manager: str, **status: Any) -> Object:
    """By server-side apply, as a controller that owns nothing else."""
    identity = {"apiVersion": WORKLOAD.api_version, "kind": WORKLOAD.kind}
    body = {**identity, "metadata": {"name": name, "namespace": "default"}, "status": status}
    return await client.apply(body, force=True, subresource="status", field_manager=manager)


def evicted(word: str) -> list[Object]:
    said = {"reason": "Preempted", "message": "", "lastTransitionTime": TIME}
    return [{"type": "Evicted", "status": word, **said}]


async def nominated(client: Client, name: str) -> None:
    await client.create(workload(name))
    await write(client, name, "somebody-else", nominatedClusterNames=NAMES)


def names_in(obj: Object) -> list[str]:
    return list(obj["status"].get("nominatedClusterNames") or ())


async def test_names_that_anybody_wrote_go_when_a_worker_is_chosen(client: Client) -> None:
    await nominated(client, "before")
    with pytest.raises(Invalid, match="clusterName and nominatedClusterNames are mutually excl"):
        await write(client, "before", "kueue-admission", clusterName="worker1")

    assert await attached.policy_version(client) == "v1beta1"
    for obj in policies.objects("v1beta1"):
        await client.create(obj)
    chosen = await until(lambda: write(client, "before", "kueue-admission", clusterName="worker1"))
    assert chosen["status"]["clusterName"] == "worker1"
    assert names_in(chosen) == []

    await nominated(client, "evicted")
    waiting = await write(client, "evicted", "kueue-admission", conditions=evicted("False"))
    assert names_in(waiting) == NAMES
    gone = await write(client, "evicted", "kueue-admission", conditions=evicted("True"))
    assert names_in(gone) == []

    again = await write(client, "evicted", "somebody-else", nominatedClusterNames=NAMES[:1])
    assert names_in(again) == NAMES[:1]
    more = await write(client, "evicted", "somebody-else", nominatedClusterNames=NAMES)
    assert names_in(more) == NAMES
