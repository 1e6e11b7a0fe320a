"""Dispatchers at work between a manager and its workers."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.support import dispatching
from tests.support import kueue as objects
from tests.support.dispatching import CLUSTER_QUEUE, CONFIG, Dispatching, job
from tests.support.shared_world import with_labels

from fleetqueue import kueue
from fleetqueue.kube.client import Client
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object
from fleetqueue.kueue import KueueOptions
from fleetqueue.metrics.registry import Metrics
from fleetqueue.multikueue import kinds, parts
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet

INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
BEST_FIT = "fleetqueue.dev/dispatcher-best-fit"
EXTERNAL = "example.com/dispatcher"


class Counting:
    """Installs all of dispatching, and keeps what it counts."""

    def __init__(self) -> None:
        self.metrics = Metrics()

    def install(
        self,
        manager: Manager,
        options: KueueOptions,
        settings: DispatchSettings,
        connect: Callable[[Access], Client],
    ) -> Any:
        self.metrics = kueue.install(manager, options).metrics
        return parts.install(manager, settings, connect, self.metrics, lambda kind: True)

    def copies_made(self) -> dict[str, int]:
        """By worker."""
        name = "multikueue_workloads_dispatched"
        [found] = [each for each in self.metrics.families() if each.name == name]
        return {each.labels["cluster"]: int(each.value) for each in found.samples}


async def world(
    fleet: Fleet,
    dispatcher: str,
    cpu: Mapping[str, str],
    *,
    step: int | None = None,
    counting: Counting | None = None,
    **more: Any,
) -> Dispatching:
    """A manager with room for everything, and workers with so much each, in this order."""
    config = f"multiKueue:\n  dispatcherName: {dispatcher}\n"
    if step is not None:
        config += f"  incrementalDispatcherConfig: {{stepSize: {step}}}\n"
    install = (counting or Counting()).install
    made = await dispatching.start(fleet, install=install, workers=list(cpu), config=config, **more)
    await made.join()
    await made.set_up(quota="100", worker_quota=dict(cpu))
    return made


async def status(made: Dispatching) -> Object:
    [found] = await made.manager.workloads()
    return found["status"]


async def copies(made: Dispatching) -> list[str]:
    """The workers that have one."""
    return [name for name, side in made.workers.items() if await side.workloads()]


@pytest.mark.rule("DISP-23")
async def test_a_round_gets_no_longer_by_what_else_is_written(fleet: Fleet) -> None:
    cpu = {"worker1": "0", "worker2": "4"}
    async with await world(fleet, INCREMENTAL, cpu, step=1) as made:
        for side in (made.manager, *made.workers.values()):
            for name, value in (("high", 100), ("low", 10)):
                await side.client.create(objects.priority_class(name, value))
        await made.manager.create(with_labels(job("sample"), priority_class="low"))
        await made.passes(seconds=200)
        marks = {"kueue.x-k8s.io/priority-class": "high"}
        await made.manager.patch(JOB, "sample", {"metadata": {"labels": marks}})
        await made.passes(seconds=90)
        assert (await status(made))["nominatedClusterNames"] == ["worker1"]
        await made.passes(seconds=30)

        assert (await status(made))["clusterName"] == "worker2"


@pytest.mark.rule("DISP-20")
@pytest.mark.rule("DISP-23")
@pytest.mark.rule("DISP-26")
async def test_incremental_goes_on_to_the_next_worker_after_five_minutes(fleet: Fleet) -> None:
    cpu = {"worker1": "0", "worker2": "4"}
    async with await world(fleet, INCREMENTAL, cpu, step=1) as made:
        await made.manager.create(job("sample"))
        await made.passes(seconds=290)
        assert (await status(made))["nominatedClusterNames"] == ["worker1"]
        assert await copies(made) == ["worker1"]

        await made.passes(seconds=30)

        assert (await status(made))["clusterName"] == "worker2"
        assert await copies(made) == ["worker2"]


@pytest.mark.rule("DISP-21")
@pytest.mark.rule("S003-26")
async def test_incremental_nominates_in_the_order_of_the_configuration(fleet: Fleet) -> None:
    cpu = {"zulu": "0", "alpha": "0", "mike": "0", "bravo": "0"}
    async with await world(fleet, INCREMENTAL, cpu) as made:
        await made.manager.create(job("sample"))
        await made.passes(seconds=5)

        assert (await status(made))["nominatedClusterNames"] == ["zulu", "alpha", "mike"]
        assert await copies(made) == ["zulu", "alpha", "mike"]


@pytest.mark.rule("IMP-4")
@pytest.mark.rule("DISP-25")
async def test_a_restart_of_the_manager_does_not_shorten_a_round(fleet: Fleet) -> None:
    cpu = {"worker1": "0", "worker2": "0"}
    async with await world(fleet, INCREMENTAL, cpu, step=1) as made:
        await made.manager.create(job("sample"))
        await made.passes(seconds=200)
        assert made.manager.restart is not None
        await made.manager.restart()

        await made.passes(seconds=90)
        assert (await status(made))["nominatedClusterNames"] == ["worker1"]

        await made.passes(seconds=30)
        assert (await status(made))["nominatedClusterNames"] == ["worker1", "worker2"]


@pytest.mark.rule("DISP-30")
@pytest.mark.rule("DISP-31")
@pytest.mark.rule("DISP-32")
@pytest.mark.rule("IMP-5")
@pytest.mark.rule("S003-28")
async def test_another_controller_nominates_under_its_own_name(fleet: Fleet) -> None:
    cpu = {"worker1": "0", "worker2": "0"}
    async with await world(fleet, EXTERNAL, cpu) as made:
        await made.manager.create(job("sample"))
        await made.passes(seconds=60)
        assert await copies(made) == []

        for names in (["worker1"], ["worker1", "worker2"], ["worker2"]):
            await nominate(made, names)
            assert await copies(made) == names

        queue = {"spec": dispatching.worker_queues("4")[-2]["spec"]}
        await made.workers["worker2"].client.patch(kinds.CLUSTER_QUEUE, CLUSTER_QUEUE, queue)
        await made.passes(seconds=5)

        told = await status(made)
        assert told["clusterName"] == "worker2"
        assert not told.get("nominatedClusterNames")
        assert told["admissionChecks"][0]["state"] == "Ready"
        assert (await made.manager.get(JOB, "sample"))["spec"]["suspend"] is False


async def nominate(made: Dispatching, names: list[str]) -> None:
    [found] = await made.manager.workloads()
    key = {"name": found["metadata"]["name"], "namespace": found["metadata"]["namespace"]}
    body = {
        "apiVersion": found["apiVersion"],
        "kind": found["kind"],
        "metadata": key,
        "status": {"nominatedClusterNames": names},
    }
    await made.manager.client.apply(
        body, subresource="status", field_manager="example-dispatcher", force=True
    )
    await made.passes(seconds=3)


async def test_best_fit_makes_one_copy_where_there_is_room(fleet: Fleet) -> None:
    cpu = {"worker1": "1", "worker2": "64", "worker3": "2"}
    counting = Counting()
    async with await world(fleet, BEST_FIT, cpu, counting=counting) as made:
        await made.manager.create(job("sample", cpu="2"))
        await made.passes(seconds=5)

        assert (await status(made))["clusterName"] == "worker2"
        assert counting.copies_made() == {"worker2": 1}


async def test_best_fit_spills_over_at_once_when_a_worker_says_no(fleet: Fleet) -> None:
    """What is in use is known a second late, so the second job is refused first."""
    counting = Counting()
    async with await world(
        fleet, BEST_FIT, {"worker1": "4", "worker2": "2"}, counting=counting
    ) as made:
        await made.manager.create(job("first", cpu="4"))
        await made.manager.create(job("second", cpu="2"))
        await made.passes(seconds=3)

        found = {each["status"].get("clusterName") for each in await made.manager.workloads()}
        assert found == {"worker1", "worker2"}
        assert sum(counting.copies_made().values()) <= 3


async def test_best_fit_waits_in_every_queue_when_nobody_has_room(fleet: Fleet) -> None:
    async with await world(fleet, BEST_FIT, {"worker1": "2", "worker2": "2"}) as made:
        await made.manager.create(job("one", cpu="2", run_seconds="60"))
        await made.manager.create(job("two", cpu="2"))
        await made.manager.create(job("three", cpu="2"))
        await made.passes(seconds=20)
        waiting = [each for each in await made.manager.workloads()
                   if not each["status"].get("clusterName")]  # fmt: skip
        assert [sorted(each["status"]["nominatedClusterNames"]) for each in waiting] == [
            ["worker1", "worker2"]
        ]

        await made.passes(seconds=60)

        found = [each["status"].get("clusterName") for each in await made.manager.workloads()]
        assert None not in found


async def test_a_job_goes_only_where_its_selector_lets_it(fleet: Fleet) -> None:
    async with await world(fleet, "", {"worker1": "64", "worker2": "4"}) as made:
        labels = {"metadata": {"labels": {"region": "eu"}}}
        await made.manager.client.patch(kinds.CLUSTER, "worker2", labels)
        selected = job("sample")
        selected["metadata"]["annotations"] = {"fleetqueue.dev/cluster-selector": "region=eu"}
        await made.manager.create(selected)
        await made.passes(seconds=5)

        assert (await status(made))["clusterName"] == "worker2"


@pytest.mark.rule("QA-3")
@pytest.mark.rule("QA-7")
async def test_quota_follows_workers_over_real_connections(fleet: Fleet) -> None:
    """I10 of the reference scenarios."""
    on = {"MultiKueueManagerQuotaAutomation": True}
    async with await world(fleet, "", {"worker1": "10", "worker2": "10"}, gates=on) as made:
        automated = {"spec": {"quotaManagement": "Automated"}}
        await made.manager.client.patch(kinds.CONFIG, CONFIG, automated)
        await made.passes(seconds=3)
        assert await quota(made) == "20"

        queue = {"spec": dispatching.worker_queues("5")[-2]["spec"]}
        await made.workers["worker2"].client.patch(kinds.CLUSTER_QUEUE, CLUSTER_QUEUE, queue)
        await made.passes(seconds=3)
        assert await quota(made) == "15"

        await made.workers["worker2"].client.delete(
            kinds.LOCAL_QUEUE, dispatching.LOCAL_QUEUE, dispatching.SPACE
        )
        await made.passes(seconds=3)
        assert await quota(made) == "10"


async def quota(made: Dispatching) -> str:
    found = await made.manager.get(kinds.CLUSTER_QUEUE, CLUSTER_QUEUE)
    [flavor] = found["spec"]["resourceGroups"][0]["flavors"]
    return str(flavor["resources"][0]["nominalQuota"])


@pytest.mark.rule("OP-5")
@pytest.mark.rule("OP-8")
@pytest.mark.rule("S003-21")
async def test_one_worker_preempts_and_the_job_on_the_other_keeps_running(fleet: Fleet) -> None:
    on = {"MultiKueueOrchestratedPreemption": True}
    gates = "featureGates: {MultiKueueOrchestratedPreemption: true}\n"
    cpu = {"worker1": "2", "worker2": "2"}
    async with await world(fleet, "", cpu, gates=on, worker_config=gates) as made:
        rules = {"spec": {"preemption": {"withinClusterQueue": "LowerPriority"}}}
        for side in made.workers.values():
            await side.client.patch(kinds.CLUSTER_QUEUE, CLUSTER_QUEUE, rules)
        for side in (made.manager, *made.workers.values()):
            await side.create(objects.priority_class("high", 100))
        await made.manager.create(job("low-1", cpu="2"), job("low-2", cpu="2"))
        await made.passes(seconds=5)
        high = job("high", cpu="2")
        high["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"

        await made.manager.create(high)
        await made.passes(seconds=30)

        found = {each["metadata"]["ownerReferences"][0]["name"]: each["status"]
                 for each in await made.manager.workloads()}  # fmt: skip
        assert found["high"].get("clusterName") in cpu
        put_out = [name for name in found if found[name].get("schedulingStats")]
        assert len(put_out) == 1
