"""The part of the demo that runs jobs: a PyTorchJob and a TrainJob, of two processes each."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from fleetqueue.kube import subresources
from fleetqueue.kube.client import Client
from fleetqueue.kube.resources import Object, Resource

PODS = Resource("", "v1", "pods", "Pod")
PYTORCH_JOBS = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")
TRAIN_JOBS = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob")
COMMAND = ["python3", str(Path(__file__).parent / "meeting.py")]
PATIENCE_SECONDS = 60.0


def pytorch_job() -> Object:
    container = {"name": "pytorch", "image": "python:3", "command": COMMAND}
    replica = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": PYTORCH_JOBS.api_version,
        "kind": PYTORCH_JOBS.kind,
        "metadata": {"name": "torch", "namespace": "default"},
        "spec": {"pytorchReplicaSpecs": {"Master": replica, "Worker": replica}},
    }


def train_job() -> Object:
    trainer = {"numNodes": 2, "image": "python:3", "command": COMMAND}
    return {
        "apiVersion": TRAIN_JOBS.api_version,
        "kind": TRAIN_JOBS.kind,
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer},
    }


async def run(client: Client, say: Callable[[str], None]) -> None:
    for kind, job, done in (
        (PYTORCH_JOBS, pytorch_job(), "Succeeded"),
        (TRAIN_JOBS, train_job(), "Complete"),
    ):
        name = job["metadata"]["name"]
        await client.create(job)
        say(f"  created the {kind.kind} {name}: two nodes, each a process of this machine")
        async with asyncio.timeout(PATIENCE_SECONDS):
            await _until(client, kind, name, done)
        say(f"  the {kind.kind} {name} is {done}; its logs:")
        for pod in await _pods(client, name):
            text = await _logs(client, pod)
            say(f"    {pod}: {text.strip()}")


async def _until(client: Client, kind: Resource, name: str, wanted: str) -> None:
    async for event in client.watch(kind, namespace="default"):
        status = event.object.get("status") or {}
        for condition in status.get("conditions") or ():
            if condition["type"] == "Failed" and condition["status"] == "True":
                raise SystemExit(f"{kind.kind} {name} failed: {condition['message']}")
            if condition["type"] == wanted and condition["status"] == "True":
                return


async def _pods(client: Client, job: str) -> list[str]:
    found = await client.list(PODS, namespace="default")
    names = [str(pod["metadata"]["name"]) for pod in found.items]
    return [name for name in names if name.startswith(f"{job}-")]


async def _logs(client: Client, pod: str) -> str:
    pieces = [piece async for piece in subresources.logs(client, pod, "default")]
    return b"".join(pieces).decode()
