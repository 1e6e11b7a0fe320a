"""Jobs whose templates ask for places: what is made of them gets there, and is not refused."""

from collections import Counter
from typing import Any

import pytest
from tests.support import job_sets, kueue
from tests.support.queued_pods import FRAMEWORKS, K, QueuedPods, gates_of, pod, start

from fleetqueue.admission import kinds
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import job as job_controller
from fleetqueue.runtime.operators import job_set, job_set_webhook
from fleetqueue.testing import Fleet

pytestmark = [pytest.mark.rule("jobs A.8"), pytest.mark.rule("kueue 8.2")]

RACK, HOST = "cloud/rack", "kubernetes.io/hostname"
QUEUE = {f"{K}/queue-name": "racks"}


async def racks(fleet: Fleet, nodes: dict[str, str], **more: Any) -> QueuedPods:
    """`nodes` and their racks; each has room for three pods."""
    here = await start(fleet, **more)
    for name, rack in nodes.items():
        labels = {HOST: name, RACK: rack, "pool": "tas"}
        metadata = {"name": name, "labels": labels}
        await here.client.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        conditions = [{"type": "Ready", "status": "True"}]
        status = {"allocatable": {"cpu": "3", "pods": "10"}, "conditions": conditions}
        await here.client.patch(kinds.NODE, name, {"status": status}, subresource="status")
        await here.client.patch(kinds.NODE, name, {"spec": {"taints": None}})
    levels = {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOST}]}
    tree = {"apiVersion": kueue.API, "kind": "Topology", "metadata": {"name": "tree"}}
    for obj in (
        {**tree, "spec": levels},
        kueue.flavor("placed", nodeLabels={"pool": "tas"}, topologyName="tree"),
        kueue.cluster_queue("placed", {"placed": {"cpu": "100"}}),
        kueue.local_queue("racks", "placed"),
    ):
        await here.create(obj)
    return here


def template(**annotations: str) -> Object:
    """Keys without their prefix, with underscores."""
    named = {f"{K}/podset-{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {"metadata": {"annotations": named}, "spec": pod("x")["spec"]}


async def hosts(here: QueuedPods) -> dict[str, int]:
    """How many pods go where; all may."""
    found = await here.pods()
    assert [gates_of(each) for each in found] == [[]] * len(found)
    return dict(sorted(Counter(each["spec"]["nodeSelector"][HOST] for each in found).items()))


async def test_a_job_of_slices_gets_its_pods(fleet: Fleet) -> None:
    operators = [job_controller.job_operator()]
    here = await racks(fleet, {"a": "r1", "b": "r1"}, operators=operators)
    spec = {
        "parallelism": 4,
        "completions": 4,
        "template": template(slice_required_topology=HOST, slice_size="2"),
    }
    metadata = {"name": "sliced", "namespace": "default", "labels": QUEUE}
    await here.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
    assert len(await here.admitted()) == 1
    assert await hosts(here) == {"a": 2, "b": 2}


@pytest.mark.rule("jobs A.11")
async def test_the_pod_sets_of_a_group_get_their_jobs_and_pods(fleet: Fleet) -> None:
    here = await racks(
        fleet,
        {"a": "r1", "b": "r1", "c": "r2"},
        frameworks=(*FRAMEWORKS, "jobset.x-k8s.io/jobset"),
        groups=[job_sets.GROUP],
        operators=[job_controller.job_operator(), job_set.OPERATOR],
        others=[job_set_webhook.WEBHOOK],
    )
    asking = template(required_topology=RACK, group_name="together")
    made = job_sets.job_set(
        job_sets.replicated("driver", pod=asking),
        job_sets.replicated("worker", 2, pods=2, pod=asking),
    )
    made["metadata"] = {"name": "train", "namespace": "default", "labels": QUEUE}
    await here.create(made)
    assert len(await here.admitted()) == 1
    found = await hosts(here)
    assert sum(found.values()) == 5
    assert found.keys() == {"a", "b"}
