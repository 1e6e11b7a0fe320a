"""Controllers and their manager: who wakes whom, how a reconcile ends, how things stop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from fleetqueue.api.kueue.v1beta2.local_queue import LocalQueue, LocalQueueStatus
from fleetqueue.api.kueue.v1beta2.workload import Workload
from fleetqueue.api.meta import Key
from fleetqueue.base.backoff import Backoff
from fleetqueue.base.virtual_time import idle
from fleetqueue.errors import ClusterError, Problem
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, GiveUp, Result, Watch, owned, owners
from fleetqueue.kube.errors import Forbidden
from fleetqueue.kube.frame import Operator, controller_of
from fleetqueue.kube.leader import LeaderElector, LeadershipLost
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.plan import Look, Plan
from fleetqueue.kube.resources import CONFIG_MAPS, PODS, Resource

QUEUES = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team/localqueues"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team/workloads"
VERSION = "kueue.x-k8s.io/v1beta2"


def queue(name: str = "main") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team"}
    spec = {"clusterQueue": "research"}
    return {"apiVersion": VERSION, "kind": "LocalQueue", "metadata": metadata, "spec": spec}


def workload(name: str, queue_name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team"}
    spec = {"queueName": queue_name, "podSets": []}
    return {"apiVersion": VERSION, "kind": "Workload", "metadata": metadata, "spec": spec}


class Counting(Controller[LocalQueue]):
    """Writes the number of a queue's workloads into its status."""

    watches = (
        Watch(Workload, wakes=lambda w: [Key(w.metadata.namespace, w.spec.queue_name or "")]),
    )
    backoff = Backoff(1.0, 60.0)

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.seen: list[str] = []
        self.gone_keys: list[Key] = []
        self.ends: list[Any] = []

    async def reconcile(self, queue: LocalQueue) -> Result:
        self.seen.append(queue.metadata.name)
        if self.ends:
            end = self.ends.pop(0)
            if isinstance(end, Exception):
                raise end
            return end  # type: ignore[no-any-return]
        mine = [
            each
            for each in self.cluster.cached_all(Workload, queue.metadata.namespace)
            if each.spec is not None and each.spec.queue_name == queue.metadata.name
        ]
        await self.cluster.apply_status(queue, LocalQueueStatus(pending_workloads=len(mine)))
        return DONE

    async def gone(self, key: Key) -> Result:
        self.gone_keys.append(key)
        return DONE


@asynccontextmanager
async def running(
    cluster: Cluster, *controllers: Controller[Any], **options: Any
) -> AsyncIterator[Manager]:
    manager = Manager(cluster, random=Random(1), **options)
    for controller in controllers:
        manager.add(controller)
    task = asyncio.ensure_future(manager.run())
    try:
        await manager.wait_ready()
        await idle()
        yield manager
    finally:
        manager.stop()
        with suppress(LeadershipLost):
            await task


async def test_a_controller_of_a_type_knows_its_kind() -> None:
    assert Counting.kind is LocalQueue


async def test_reconciles_what_is_there_and_writes_a_status(cluster: Cluster, memory: Any) -> None:
    memory.put(f"{QUEUES}/main", queue())
    memory.put(f"{WORKLOADS}/w", workload("w", "main"))

    async with running(cluster, Counting(cluster)):
        status = memory.objects[f"{QUEUES}/main"]["status"]

    assert status["pendingWorkloads"] == 1
    assert memory.writes[-1].path == f"{QUEUES}/main/status"
    assert memory.writes[-1].query["force"] == ["true"]


async def test_a_write_that_changes_nothing_is_not_sent(cluster: Cluster, memory: Any) -> None:
    memory.put(f"{QUEUES}/main", queue())
    memory.put(f"{WORKLOADS}/w", workload("w", "main"))
    controller = Counting(cluster)

    async with running(cluster, controller):
        memory.put(f"{QUEUES}/main", memory.objects[f"{QUEUES}/main"])
        await idle()

    assert len(controller.seen) >= 2
    assert len(memory.writes) == 1


async def test_another_kind_wakes_the_keys_it_names_before_and_after(
    cluster: Cluster, memory: Any
) -> None:
    for name in ("one", "two"):
        memory.put(f"{QUEUES}/{name}", queue(name))
    memory.put(f"{WORKLOADS}/w", workload("w", "one"))
    controller = Counting(cluster)

    async with running(cluster, controller):
        controller.seen.clear()
        memory.put(f"{WORKLOADS}/w", workload("w", "two"))
        await idle()

        assert sorted(set(controller.seen)) == ["one", "two"]
        held = memory.objects
        assert held[f"{QUEUES}/one"]["status"].get("pendingWorkloads", 0) == 0
        assert held[f"{QUEUES}/two"]["status"]["pendingWorkloads"] == 1


async def test_an_exception_is_tried_again_later_and_later(
    cluster: Cluster, memory: Any, clock: Any
) -> None:
    memory.put(f"{QUEUES}/main", queue())
    controller = Counting(cluster)
    controller.ends = [ValueError("a bug"), ValueError("a bug"), ValueError("a bug"), DONE]

    async with running(cluster, controller):
        for seconds, times in ((0.9, 1), (1, 2), (2, 3), (4, 4), (3600, 4)):
            await asyncio.sleep(seconds)
            assert len(controller.seen) == times


async def test_a_result_with_a_delay_looks_again(cluster: Cluster, memory: Any, clock: Any) -> None:
    memory.put(f"{QUEUES}/main", queue())
    controller = Counting(cluster)
    controller.ends = [Result(after=timedelta(minutes=5)), DONE]

    async with running(cluster, controller):
        assert len(controller.seen) == 1
        await asyncio.sleep(299)
        assert len(controller.seen) == 1
        await asyncio.sleep(2)
        assert len(controller.seen) == 2


async def test_giving_up_lasts_until_the_object_changes(cluster: Cluster, memory: Any) -> None:
    memory.put(f"{QUEUES}/main", queue())
    controller = Counting(cluster)
    controller.ends = [GiveUp(Problem('LocalQueue "main"', "is hopeless")), DONE]

    async with running(cluster, controller):
        await asyncio.sleep(36000)
        assert len(controller.seen) == 1

        memory.put(f"{QUEUES}/main", queue())
        await idle()
        assert len(controller.seen) == 2


async def test_an_object_that_is_no_more_ends_in_gone(cluster: Cluster, memory: Any) -> None:
    memory.put(f"{QUEUES}/main", queue())
    controller = Counting(cluster)

    async with running(cluster, controller):
        memory.remove(f"{QUEUES}/main")
        await idle()

    assert controller.gone_keys == [Key("team", "main")]


async def test_a_conflict_is_just_tried_again(cluster: Cluster, memory: Any, refuse: Any) -> None:
    memory.put(f"{QUEUES}/main", queue())
    memory.put(f"{WORKLOADS}/w", workload("w", "main"))
    memory.failures.append(refuse(409, "Conflict"))

    async with running(cluster, Counting(cluster)):
        await asyncio.sleep(5)

    assert memory.objects[f"{QUEUES}/main"]["status"]["pendingWorkloads"] == 1
    assert len(memory.writes) == 2


class Slow(Controller[LocalQueue]):
    """Takes its time, and notes when it begins and ends."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    async def reconcile(self, queue: LocalQueue) -> Result:
        self.notes.append(f"begin {queue.metadata.name}")
        await asyncio.sleep(10)
        self.notes.append(f"end {queue.metadata.name}")
        return DONE


async def test_a_stop_lets_workers_finish_what_they_hold_and_no_more(
    cluster: Cluster, memory: Any, clock: Any
) -> None:
    for name in ("a", "b"):
        memory.put(f"{QUEUES}/{name}", queue(name))
    controller = Slow()

    async with running(cluster, controller) as manager:
        manager.stop()
        await asyncio.sleep(11)
        assert not manager.is_ready

    assert controller.notes == ["begin a", "end a"]


async def test_a_worker_that_does_not_finish_is_cancelled(
    cluster: Cluster, memory: Any, clock: Any
) -> None:
    memory.put(f"{QUEUES}/a", queue("a"))
    controller = Slow()

    async with running(cluster, controller, stop_seconds_max=2):
        pass

    assert controller.notes == ["begin a"]


async def test_several_workers_share_the_work(cluster: Cluster, memory: Any) -> None:
    for number in range(4):
        memory.put(f"{QUEUES}/q{number}", queue(f"q{number}"))
    controller = Slow()
    controller.workers = 4

    async with running(cluster, controller):
        assert len(controller.notes) == 4


async def test_a_controller_may_be_added_while_others_work(cluster: Cluster, memory: Any) -> None:
    memory.put(f"{QUEUES}/main", queue())
    first, late = Counting(cluster), Counting(cluster)
    async with running(cluster, first) as manager:
        manager.add(late)
        await idle()
        assert late.seen == []

        await manager.start_added()
        await idle()
        assert late.seen == ["main"]
        assert first.seen == ["main"]


@pytest.mark.rule("kueue 10.1")
@pytest.mark.parametrize(("wanted", "workers"), [(5, 5), (0, 1)])
async def test_so_many_work_as_is_said_and_a_zero_says_nothing(
    cluster: Cluster, wanted: int, workers: int
) -> None:
    manager = Manager(cluster, random=Random(1))
    controller = Counting(cluster)
    manager.add(controller)

    manager.set_workers({"LocalQueue.kueue.x-k8s.io": wanted, "Pod": 3})

    assert controller.workers == workers


@pytest.mark.rule("kueue 10.1")
async def test_caches_that_do_not_fill_in_time_end_the_manager(
    script: Any, client: Any, clock: Any
) -> None:
    script.then(*[Forbidden({"message": "not for you", "code": 403})] * 1000)
    cluster = Cluster(client, clock=clock, random=Random(1), component="tests")
    manager = Manager(cluster, random=Random(1), sync_seconds_max=30.0)
    manager.add(Counting(cluster))
    started = asyncio.get_running_loop().time()

    with pytest.raises(ClusterError, match=r"not full after 30 seconds: .*not for you"):
        await manager.run()

    assert asyncio.get_running_loop().time() - started == 30.0


async def test_a_failing_task_ends_the_manager(cluster: Cluster) -> None:
    async def fail() -> None:
        await asyncio.sleep(3)
        raise OSError("the port is taken")

    manager = Manager(cluster, random=Random(1))
    manager.add_task("server", fail)

    with pytest.raises(OSError, match="taken"):
        await manager.run()


async def test_only_the_leader_reconciles_and_the_next_takes_over(
    cluster: Cluster, memory: Any, memory_client: Any, clock: Any
) -> None:
    memory.put(f"{QUEUES}/main", queue())
    other = Cluster(memory_client, clock=clock, random=Random(2), component="tests")
    first, second = Counting(cluster), Counting(other)

    def elector(identity: str) -> LeaderElector:
        lease = Key("ns", "lock")
        return LeaderElector(memory_client, lease, identity, clock=clock, random=Random(3))

    async with running(other, second, elector=elector("other")) as late:
        await asyncio.sleep(5)
        assert second.seen
        async with running(cluster, first, elector=elector("one")):
            await asyncio.sleep(60)
            assert not first.seen
            late.stop()
            await asyncio.sleep(5)
            assert first.seen


async def test_an_own_write_is_in_the_cache_before_the_watch_brings_it(
    cluster: Cluster, memory: Any
) -> None:
    cluster.informer(CONFIG_MAPS)
    cluster.start()
    await cluster.wait_synced()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}}

    await cluster.client.create(body, resource=CONFIG_MAPS)
    assert cluster.cached(CONFIG_MAPS, "a", "ns") is None
    patched = await cluster.patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, "ns")
    assert cluster.cached(CONFIG_MAPS, "a", "ns") is patched

    sent = len(memory.writes)
    await cluster.patch(CONFIG_MAPS, "a", {"data": {"x": "1", "y": None}}, "ns")
    assert len(memory.writes) == sent

    await cluster.delete(CONFIG_MAPS, "a", "ns")
    assert cluster.cached(CONFIG_MAPS, "a", "ns") is None
    await cluster.stop()


class PodCounter(Controller[dict[str, Any]]):
    """A controller of raw objects."""

    kind = PODS

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def reconcile(self, obj: dict[str, Any]) -> Result:
        self.seen.append(obj["metadata"]["name"])
        return DONE


async def test_a_controller_may_deal_in_raw_objects(cluster: Cluster, memory: Any) -> None:
    memory.put("/api/v1/namespaces/ns/pods/p", {"metadata": {"name": "p", "namespace": "ns"}})
    controller = PodCounter()

    async with running(cluster, controller):
        pass

    assert controller.seen == ["p"]


async def test_what_an_operator_skips_wakes_nobody(cluster: Cluster, memory: Any) -> None:
    seen: list[str] = []

    def decide(look: Look) -> Plan:
        seen.append(look.name)
        return Plan()

    def skips(pod: dict[str, Any]) -> bool:
        return "ours" not in (pod["metadata"].get("labels") or {})

    def put(name: str, **labels: str) -> None:
        metadata = {"name": name, "namespace": "ns", "labels": labels}
        memory.put(f"/api/v1/namespaces/ns/pods/{name}", {"metadata": metadata})

    operator = Operator("of-pods", PODS, decide, skips=skips)
    async with running(cluster, controller_of(operator)(cluster)):
        put("a")
        put("b", ours="yes")
        await idle()
        put("a", other="yes")
        put("b")
        await idle()

    assert seen == ["b", "b"]


OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
JOBS = Resource("batch", "v1", "jobs", "Job")


@pytest.mark.parametrize(
    ("references", "keys"),
    [
        ([OWNER], [Key("ns", "j")]),
        ([{**OWNER, "apiVersion": "batch/v1beta1"}], [Key("ns", "j")]),
        ([{**OWNER, "controller": False}], []),
        ([{**OWNER, "apiVersion": "other/v1"}], []),
        ([{**OWNER, "kind": "CronJob"}], []),
        ([], []),
    ],
)
def test_an_owned_object_wakes_its_controller(references: Any, keys: list[Key]) -> None:
    pod = {"metadata": {"name": "p", "namespace": "ns", "ownerReferences": references}}

    assert owners(pod, JOBS) == keys
    assert list(owned(PODS, JOBS).wakes(pod)) == keys
