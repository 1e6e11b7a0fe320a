"""A cluster with pods before a queue that really admits; the test plays the kubelet."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from tests.support import kueue as kueue_objects
from tests.support.queued import Queued

from fleetqueue import kueue
from fleetqueue.admission.parts import Admission
from fleetqueue.api.crds import all_crds
from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.embedded.webhooks import DeclaredHook
from fleetqueue.kube import subresources
from fleetqueue.kube.frame import Operator, controller_of
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.webhook_rules import Webhook
from fleetqueue.runtime.kinds import POD
from fleetqueue.testing import Fleet

K = "kueue.x-k8s.io"
FRAMEWORKS = (
    "batch/job",
    "pod",
    "deployment",
    "statefulset",
    "leaderworkerset.x-k8s.io/leaderworkerset",
)
CONFIG = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
waitForPodsReady: {{timeout: 1h}}
integrations:
  frameworks: [{frameworks}]
{more}
"""


class QueuedPods(Queued):
    """Its queue is `main`, of the ClusterQueue `queue`."""

    manager: Manager
    admission: Admission

    async def pod(self, name: str) -> Object:
        return await self.read(POD, name)

    async def admitted(self) -> list[str]:
        found = await self.workloads()
        live = [each for each in found if not status_of.is_finished(each)]
        return [each["metadata"]["name"] for each in live if status_of.is_admitted(each)]

    async def run(self, *names: str, phase: str = "Running") -> None:
        """What a scheduler and a kubelet do with pods that nothing holds."""
        for name in names:
            pod = await self.pod(name)
            if not pod["spec"].get("nodeName"):
                await subresources.bind(self.client, name, "one", "default")
            at = self.fleet.clock.now().isoformat().replace("+00:00", "Z")
            ready = str(phase == "Running")
            told = {"type": "Ready", "status": ready, "reason": "Test", "lastTransitionTime": at}
            status = {"phase": phase, "conditions": [told]}
            await self.client.patch(POD, name, {"status": status}, "default", subresource="status")
        await self.fleet.settle()


async def start(
    fleet: Fleet,
    quota: str = "4",
    *,
    frameworks: Iterable[str] = FRAMEWORKS,
    config: str = "",
    gates: Mapping[str, bool] | None = None,
    groups: Iterable[str] = (),
    operators: Iterable[Operator] = (),
    others: Iterable[Webhook] = (),
    name: str = "one",
) -> QueuedPods:
    cluster = await fleet.add_cluster(name)
    wanted = (K, *groups)
    for crd in definitions(*wanted):
        await cluster.client.create(crd)
    await fleet.settle()
    text = CONFIG.format(frameworks=", ".join(frameworks), more=config)
    options = kueue.read_options(text, gates)
    core = cluster.instance.core
    for webhook in (*others, *kueue.webhooks(options)):
        core.hooks.add(DeclaredHook(webhook, core, cluster.instance.gate))

    def is_served(kind: Resource) -> bool:
        return kind.group in ("", "apps", "batch", *wanted)

    def install(manager: Manager) -> None:
        here.manager = manager
        here.admission = kueue.install(manager, options, is_served)
        for operator in operators:
            manager.add(controller_of(operator)(manager.cluster))

    here = QueuedPods(fleet, cluster)
    fleet.run_all(install, on=cluster)
    for obj in (
        kueue_objects.flavor(),
        kueue_objects.cluster_queue(quota=quota),
        kueue_objects.local_queue(),
    ):
        await here.create(obj)
    return here


@cache
def definitions(*groups: str) -> list[Object]:
    return [crd for group in groups for crd in all_crds(group)]


def pod(name: str, cpu: str = "1", **more: Any) -> Object:
    """A pod of the queue; `labels` and `annotations` without Kueue's prefix."""
    labels = {"queue-name": "main", **more.pop("labels", {})}
    annotations = more.pop("annotations", {})
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {f"{K}/{key}": value for key, value in labels.items() if value},
            "annotations": {f"{K}/{key}": value for key, value in annotations.items()},
            **more.pop("metadata", {}),
        },
        "spec": {"restartPolicy": "Never", "containers": [container], **more},
    }


def member(name: str, total: int = 3, group: str = "grp", cpu: str = "1", **more: Any) -> Object:
    annotations = {"pod-group-total-count": str(total), **more.pop("annotations", {})}
    labels = {"pod-group-name": group, **more.pop("labels", {})}
    return pod(name, cpu, annotations=annotations, labels=labels, **more)


def gates_of(found: Object) -> list[str]:
    return [each["name"].removeprefix(f"{K}/") for each in found["spec"].get("schedulingGates", [])]
