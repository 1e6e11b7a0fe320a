"""Objects of apps/v1 for tests, and a kubelet's part: pods that are moved by hand."""

from typing import Any

from fleetqueue.api import times
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.client import Client
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.kinds import POD

EVENT = Resource("", "v1", "events", "Event")
NAMESPACE = "default"


def template(image: str = "one", **labels: str) -> Object:
    return {
        "metadata": {"labels": labels or {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }


def workload(kind: str, name: str = "web", **spec: Any) -> Object:
    """A Deployment, ReplicaSet, StatefulSet or DaemonSet of pods labelled `app: web`."""
    whole = {"selector": {"matchLabels": {"app": "web"}}, "template": template(), **spec}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": whole,
    }


async def pods(client: Client) -> list[Object]:
    found = (await client.list(POD, NAMESPACE)).items
    return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))


async def move(client: Client, pod: Object, phase: str, *, ready: bool, at: Any) -> None:
    """What a kubelet would say of the pod now."""
    moment = times.format_time(at)
    conditions = [{"type": "Ready", "status": str(ready), "lastTransitionTime": moment}]
    patch = {"status": {"phase": phase, "conditions": conditions}}
    await client.patch(
        POD,
        pod["metadata"]["name"],
        patch,
        NAMESPACE,
        type=PatchType.STRATEGIC,
        subresource="status",
    )


async def run_all(client: Client, at: Any) -> None:
    """Every pod that has not ended runs and is ready."""
    for pod in await pods(client):
        if (pod.get("status") or {}).get("phase") in ("Pending", None):
            await move(client, pod, "Running", ready=True, at=at)


async def remove(client: Client, pod: Object) -> None:
    """The end of a pod whose containers have stopped."""
    await client.delete(POD, pod["metadata"]["name"], NAMESPACE, grace_period_seconds=0)


async def events(client: Client, about: str = "") -> list[tuple[str, str]]:
    found = (await client.list(EVENT, NAMESPACE)).items
    return [
        (event["reason"], event["message"])
        for event in sorted(found, key=lambda event: event["metadata"]["name"])
        if not about or event["involvedObject"]["kind"] == about
    ]
