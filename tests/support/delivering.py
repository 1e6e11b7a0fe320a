"""A hub that only keeps Works, and one member with its agent: Works are made by hand, as the hub's
controllers would make them.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from random import Random
from typing import Any

from tests.support import placing
from tests.support.placing import Side, World

from fleetqueue.api.crds import all_crds
from fleetqueue.api.fleet import naming
from fleetqueue.apiserver.access.users import User
from fleetqueue.fleet import kinds
from fleetqueue.fleet.member import parts as member_parts
from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.transport import Answer, Call, Stream, Transport
from fleetqueue.testing import Fleet, namespace

MEMBER = "cluster-1"
HOME = naming.member_namespace(MEMBER)
JOBS = Resource("batch", "v1", "jobs", "Job")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
AGENT = User("agent", groups=("system:authenticated",))
AWARE = MemberSettings(MEMBER)
COMPATIBLE = MemberSettings(MEMBER, is_job_aware=False)
BUSY = MemberSettings(MEMBER, steps_at_once=0)
"""What belongs together is written together from the first on."""


class Seen:
    """Every state of the objects of one kind, as a watch brings them."""

    def __init__(self, side: Side, kind: Resource, space: str) -> None:
        self.states: list[tuple[str, Object]] = []
        self._task = asyncio.create_task(self._watch(side, kind, space))

    async def _watch(self, side: Side, kind: Resource, space: str) -> None:
        async with aclosing(side.client.watch(kind, space, allow_bookmarks=False)) as events:
            async for event in events:
                self.states.append((event.type, event.object))

    async def stop(self) -> list[tuple[str, Object]]:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        return self.states


class Gate:
    """Where all writes of the agent pass: once it closes, the agent stands still after the write
    that it has just made, as if it had been killed there.
    """

    def __init__(self) -> None:
        self._left: int | None = None
        self.is_closed = False
        self.calls: Counter[str] = Counter()
        """By resource."""

    def close_after(self, writes: int) -> None:
        self._left = writes

    def open(self) -> None:
        self._left, self.is_closed = None, False

    def put_before(self, client: Client) -> None:
        client.transport.transport = Gated(client.transport.transport, self)

    async def passed(self, call: Call) -> None:
        self.calls.update({"appliedworks", "configmaps", "works"} & set(call.path.split("/")))
        is_heartbeat = "internalmemberclusters" in call.path or "events" in call.path
        if call.method == "GET" or is_heartbeat or self._left is None:
            return
        self._left -= 1
        if self._left < 0:
            self.is_closed = True
            await asyncio.Event().wait()


class Gated:
    """A transport behind a gate."""

    def __init__(self, inner: Transport, gate: Gate) -> None:
        self._inner, self._gate = inner, gate

    async def request(self, call: Call) -> Answer:
        answer = await self._inner.request(call)
        await self._gate.passed(call)
        return answer

    async def stream(self, call: Call) -> Stream:
        return await self._inner.stream(call)

    async def close(self) -> None:
        await self._inner.close()


class Delivery:
    """The two clusters, and what tests ask of the Works between them."""

    def __init__(self, world: World, gate: Gate) -> None:
        self.world = world
        self.gate = gate
        self.hub: Side = world.hub
        self.member: Side = world.members[MEMBER]

    async def send(self, *manifests: Object, name: str = "w", **spec: Any) -> Object:
        """A new Work, and what became of it at once."""
        await self.hub.create(work(*manifests, name=name, **spec))
        await self.world.settle()
        return await self.work(name)

    async def change(self, *manifests: Object, name: str = "w", **spec: Any) -> Object:
        body = {"spec": {"workload": {"manifests": list(manifests)}, **spec}}
        await self.hub.client.patch(kinds.WORK, name, body, HOME)
        await self.world.settle()
        return await self.work(name)

    async def work(self, name: str = "w") -> Object:
        return await self.hub.get(kinds.WORK, name, HOME)

    async def passes(self, seconds: float, name: str = "w") -> Object:
        await self.world.passes(seconds=seconds)
        return await self.work(name)

    async def restart(self) -> None:
        """The agent dies, and starts again with nothing but what is written."""
        self.gate.open()
        assert self.member.restart is not None
        await self.member.restart()

    async def delete(self, name: str = "w") -> None:
        await self.hub.client.delete(kinds.WORK, name, HOME)
        await self.world.settle()


async def start(
    fleet: Fleet,
    settings: MemberSettings = AWARE,
    *,
    rights: Sequence[tuple[str, str, str]] | None = None,
) -> Delivery:
    """`rights`: all that the agent may do on the member: groups, resources and verbs."""
    world = World(fleet, Side(await fleet.add_cluster("hub")), {})
    crds = [each for each in all_crds() if each["spec"]["group"] in placing.GROUPS]
    await world.hub.create(*crds, namespace(HOME), internal_member())
    side = world.members[MEMBER] = Side(await fleet.add_cluster(MEMBER))
    await side.create(*crds, namespace("app"), *_roles(rights or ()))
    delivery = Delivery(world, Gate())
    _run_agent(delivery, settings, None if rights is None else AGENT)
    await world.settle()
    return delivery


def _run_agent(delivery: Delivery, settings: MemberSettings, user: User | None) -> None:
    world, side = delivery.world, delivery.member
    access = {} if user is None else {"user": user}

    def install(manager: Manager) -> None:
        client = side.cluster.connect("work-api-agent", **access)
        source = Random(f"{world.fleet.seed}/{MEMBER}")
        own = Cluster(client, clock=side.cluster.clock, random=source, name=MEMBER)
        for each in (client, manager.cluster.client):
            delivery.gate.put_before(each)
        member_parts.install(manager, own, settings, side.metrics)

    side.restart = world.fleet.run_all(install, world.hub.cluster)


def _roles(rules: Sequence[tuple[str, str, str]]) -> list[Object]:
    made = [
        {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
        for group, resources, verbs in rules
    ]
    group = "rbac.authorization.k8s.io"
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "agent"}
    subject = {"apiGroup": group, "kind": "User", "name": "agent"}
    head = {"apiVersion": f"{group}/v1", "metadata": {"name": "agent"}}
    return [
        {**head, "kind": "ClusterRole", "rules": made},
        {**head, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [subject]},
    ]


def internal_member(state: str = "Join") -> Object:
    return {
        "apiVersion": kinds.INTERNAL_MEMBER_CLUSTER.api_version,
        "kind": "InternalMemberCluster",
        "metadata": {"name": MEMBER, "namespace": HOME},
        "spec": {"state": state, "heartbeatPeriodSeconds": 600},
    }


def work(*manifests: Object, name: str = "w", **spec: Any) -> Object:
    metadata: Object = {"name": name, "namespace": HOME}
    if "annotations" in spec:
        metadata["annotations"] = spec.pop("annotations")
    return {
        "apiVersion": kinds.WORK.api_version,
        "kind": "Work",
        "metadata": metadata,
        "spec": {"workload": {"manifests": list(manifests)}, **spec},
    }


def strategy(**fields: Any) -> Object:
    """`strategy(whenToApply="IfNotDrifted")`, as a Work has it."""
    return {"applyStrategy": fields}


def config_map(name: str = "conf", space: str = "app", **data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": space},
        "data": data,
    }


def job(name: str = "train", *, queue: str = "", **spec: Any) -> Object:
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    containers = [{"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "app", "labels": labels},
        "spec": {
            "suspend": True,
            "template": {"spec": {"containers": containers, "restartPolicy": "Never"}},
            **spec,
        },
    }


def deployment(name: str = "web", replicas: int = 1) -> Object:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "app"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            },
        },
    }


def said(obj: Object) -> list[tuple[str, str, str]]:
    """Type, status and reason of each condition of a Work."""
    found = (obj.get("status") or {}).get("conditions") or []
    return [(each["type"], each["status"], each["reason"]) for each in found]


def entry(obj: Object, index: int = 0) -> Object:
    found: Object = obj["status"]["manifestConditions"][index]
    return found


def of_manifest(obj: Object, index: int = 0) -> list[tuple[str, str, str]]:
    """The same of one of its manifests."""
    found = entry(obj, index)["conditions"]
    return [(each["type"], each["status"], each["reason"]) for each in found]


def message(obj: Object, index: int = 0) -> str:
    """What is said first of a manifest."""
    return str(entry(obj, index)["conditions"][0]["message"])
