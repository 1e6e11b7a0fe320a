"""Pods of jobs that are over, as a manager that keeps their logs shows them."""

from random import Random
from typing import Any

import pytest

from fleetqueue.kube.client import Client
from fleetqueue.kube.transport import Answer, Call, Payload, Stream
from fleetqueue.multikueue.adapters.owners import Owner
from fleetqueue.multikueue.reach.remembered import pods_remembered
from fleetqueue.multikueue.reach.search import Dispatch

Object = dict[str, Any]
PODS = "/api/v1/namespaces/ns/pods"
TF = Owner("kubeflow.org/v1", "TFJob", "x")
TRAIN = Owner("trainer.kubeflow.org/v1alpha1", "TrainJob", "x")
ALONE = Owner("v1", "Pod", "x")


class Manager:
    """Shows its pods to those alone who say that they want logs."""

    def __init__(self, answers: dict[str, Object]) -> None:
        self._answers = answers

    async def request(self, call: Call) -> Answer:
        selector = dict(call.query).get("labelSelector")
        path = f"{call.path}?{selector}" if selector else call.path
        found = self._answers.get(path)
        is_shown = call.headers.get("kubectl-command") == "kubectl logs"
        if found is None or (call.path.startswith(PODS) and not is_shown):
            status = {"kind": "Status", "code": 404, "reason": "NotFound", "message": path}
            return Answer(404, Payload(shared=status))
        return Answer(200, Payload(shared=found))

    async def stream(self, call: Call) -> Stream:
        raise AssertionError

    async def close(self) -> None:
        """Nothing is open."""


def pod(name: str, owner: str = "", uid: str = "u-job", node: str = "there") -> Object:
    group, _, kind = owner.rpartition("/")
    reference = {"apiVersion": f"{group}/v1", "kind": kind, "name": "x", "uid": uid}
    metadata: Object = {"name": name, "namespace": "ns", "uid": f"u-{name}"}
    if owner:
        metadata["ownerReferences"] = [{**reference, "controller": True}]
    return {"metadata": metadata, "spec": {"nodeName": node}}


def job(uid: str = "u-job") -> Object:
    return {"metadata": {"name": "x", "namespace": "ns", "uid": uid}, "spec": {}}


@pytest.mark.parametrize(
    ("owner", "path", "answers", "expected"),
    [
        pytest.param(
            TF,
            "/apis/kubeflow.org/v1/namespaces/ns/tfjobs/x",
            {
                f"{PODS}?training.kubeflow.org/job-name=x": {
                    "items": [
                        pod("x-worker-0", "kubeflow.org/TFJob"),
                        pod("x-chief-0", "kubeflow.org/TFJob"),
                        pod("x-before", "kubeflow.org/TFJob", uid="another"),
                        pod("x-master-0", "kubeflow.org/PyTorchJob"),
                    ]
                }
            },
            ["x-chief-0", "x-worker-0"],
            id="its own pods, and none of a namesake",
        ),
        pytest.param(
            TRAIN,
            "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/x",
            {
                f"{PODS}?jobset.sigs.k8s.io/jobset-name=x": {
                    "items": [pod("x-node-0-0", "batch/Job", uid="a"), pod("w", node="")]
                }
            },
            ["x-node-0-0"],
            id="those that others made for it, and none that waits",
        ),
        pytest.param(ALONE, f"{PODS}/x", {}, ["x"], id="a pod is its own"),
    ],
)
async def test_pods_of_a_job_that_is_over_are_found(
    owner: Owner, path: str, answers: dict[str, Object], expected: list[str]
) -> None:
    mine = pod("x") if owner is ALONE else job()
    plain = _PlainPods({path: mine, **answers})
    found = await pods_remembered(
        Client(plain, random=Random(1), namespace="ns"), "ns", Dispatch("one", (owner,))
    )
    assert [each["metadata"]["name"] for each in found] == expected


class _PlainPods(Manager):
    """A pod that is a job itself is also there for everybody."""

    async def request(self, call: Call) -> Answer:
        if call.path == f"{PODS}/x" and not call.headers:
            return Answer(200, Payload(shared=pod("x", node="")))
        return await super().request(call)


async def test_a_manager_that_keeps_nothing_has_none() -> None:
    client = Client(Manager({}), random=Random(1), namespace="ns")
    assert await pods_remembered(client, "ns", Dispatch("one", (TF, ALONE))) == []
