"""What caches hold of objects."""

from random import Random
from typing import Any

import pytest

from fleetqueue.api.kueue import admission_status
from fleetqueue.api.meta import Key
from fleetqueue.base.clock import SystemClock
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import CONFIG_MAPS


def config_map() -> dict[str, Any]:
    metadata = {
        "name": "a",
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "1",
        "managedFields": [{"manager": "somebody", "fieldsV1": {"f:data": {}}}],
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}


async def test_caches_leave_out_what_nobody_needs(memory_client: Client) -> None:
    cluster = Cluster(
        memory_client, clock=SystemClock(), random=Random(1), strip=admission_status.lean
    )
    informer = cluster.informer(CONFIG_MAPS)

    informer.accept(config_map())

    held = informer.store.get(Key("ns", "a"))
    assert held["data"] == {"a": "b"}
    assert "managedFields" not in held["metadata"]


@pytest.mark.rule("DISP-32")
@pytest.mark.parametrize("status", [{}, {"nominatedClusterNames": ["west"]}])
def test_who_nominated_workers_stays_known(status: dict[str, Any]) -> None:
    held = admission_status.lean({**config_map(), "status": status})
    assert ("managedFields" in held["metadata"]) is bool(status)
