"""Queues of a manager beside the quota of its workers, as people see them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.admission import kinds
from fleetqueue.api.meta import Key
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import EVENTS, Object, Resource, key_of
from fleetqueue.multikueue.controllers.quota import QuotaController
from fleetqueue.multikueue.quota import CONDITION, SKEW
from fleetqueue.testing import Fleet
from support import offered
from support.kueue import Kueue, admission_check, cluster_queue, conditions_of, flavor, local_queue

CONFIG = Resource(
    "kueue.x-k8s.io", "v1beta2", "multikueueconfigs", "MultiKueueConfig", namespaced=False
)


@dataclass
class PaperWorker:
    """What quota reads of a worker."""

    name: str
    is_connected: bool = True
    objects: dict[Resource, list[Object]] = field(default_factory=dict)

    def follows(self, kind: Resource) -> bool:
        return kind in self.objects

    def queue(self, kind: Resource, key: Key) -> Object | None:
        return next((each for each in self.objects.get(kind, ()) if key_of(each) == key), None)


class PaperWorkers:
    """Workers whose queues the test writes."""

    started_at = datetime(2000, 1, 1, tzinfo=UTC)

    def __init__(self, **cpu: str) -> None:
        self.known: dict[str, PaperWorker] = {}
        self.version = 0
        self.on_change: Any = None
        self.on_state: Any = None
        for name, amount in cpu.items():
            self.known[name] = PaperWorker(name)
            self.set(name, amount)

    def get(self, name: str) -> Any:
        return self.known.get(name)

    def all(self) -> Iterable[Any]:
        return self.known.values()

    def lost_since(self, name: str) -> datetime | None:
        return None

    def listen(self, on_change: Any, on_state: Any) -> None:
        self.on_change, self.on_state = on_change, on_state

    def set(self, name: str, cpu: str | None) -> None:
        """Its queue has so much; None: its LocalQueue is deleted."""
        self.version += 1
        queue = offered.cluster_queue(default=f"cpu={cpu or 0}", generation=self.version)
        queue["metadata"]["resourceVersion"] = str(self.version)
        local = offered.local_queue(name="main", namespace="default")
        known = self.known[name].objects
        known[kinds.LOCAL_QUEUE] = [] if cpu is None else [local]
        if cpu is not None:
            known[kinds.CLUSTER_QUEUE] = [queue]
        if self.on_change is not None:
            changed = (kinds.LOCAL_QUEUE, local) if cpu is None else (kinds.CLUSTER_QUEUE, queue)
            self.on_change(name, *changed)

    def lead(self, name: str, version: str) -> None:
        """It gets a LocalQueue that leads to its queue."""
        local = offered.local_queue(name="main", namespace="default")
        local["metadata"] |= {"generation": 1, "resourceVersion": version, "uid": version}
        self.known[name].objects[kinds.LOCAL_QUEUE] = [local]
        self.on_change(name, kinds.LOCAL_QUEUE, local)

    def unlead(self, name: str) -> None:
        [local] = self.known[name].objects.pop(kinds.LOCAL_QUEUE)
        self.known[name].objects[kinds.LOCAL_QUEUE] = []
        self.on_change(name, kinds.LOCAL_QUEUE, local)

    def come_back(self, name: str) -> None:
        """All that it has is told again, as it was."""
        for kind, objects in self.known[name].objects.items():
            for each in objects:
                self.on_change(name, kind, each)
        self.connect(name, is_connected=True)

    def connect(self, name: str, is_connected: bool) -> None:
        self.known[name].is_connected = is_connected
        self.on_state(name)


def config(management: str | None = "Automated", clusters: Sequence[str] = ("w1", "w2")) -> Object:
    spec: Object = {"clusters": list(clusters)}
    if management:
        spec["quotaManagement"] = management
    kind = {"apiVersion": CONFIG.api_version, "kind": CONFIG.kind}
    return {**kind, "metadata": {"name": "config"}, "spec": spec}


def check() -> Object:
    made = admission_check("multikueue", "kueue.x-k8s.io/multikueue")
    parameters = {"apiGroup": CONFIG.group, "kind": CONFIG.kind, "name": "config"}
    made["spec"]["parameters"] = parameters
    return made


@dataclass
class Watched:
    """A manager with its workers on paper."""

    fleet: Fleet
    kueue: Kueue
    workers: PaperWorkers
    controller: Any = None

    async def after(self, seconds: float = 1.5) -> None:
        await self.fleet.passes(seconds=seconds)
        await self.fleet.settle()

    async def queue(self) -> Object:
        return await self.kueue.get(kinds.CLUSTER_QUEUE, "queue")

    async def resources(self) -> list[Object]:
        groups = (await self.queue())["spec"]["resourceGroups"]
        return [each for flavor in groups[0]["flavors"] for each in flavor["resources"]]

    async def cpu(self) -> str:
        [found] = await self.resources()
        return str(found["nominalQuota"])

    async def told(self, type: str) -> tuple[str, str] | None:
        found = conditions_of(await self.queue()).get(type)
        return None if found is None else found[:2]

    async def conf(self, **spec: Any) -> None:
        await self.kueue.patch(CONFIG, "config", {"spec": spec})
        await self.after()


async def start(
    fleet: Fleet,
    workers: PaperWorkers,
    *,
    is_on: bool = True,
    management: str | None = "Automated",
    checks: Sequence[str] = ("multikueue",),
    cpu: str = "1",
    batch_seconds: float = 1.0,
    **limits: Any,
) -> Watched:
    kueue = await Kueue.start(fleet)
    made = Watched(fleet, kueue, workers)
    gates = replace(offered.SETTINGS.gates, quota_automation=is_on)
    settings = replace(offered.SETTINGS, gates=gates, batch_seconds=batch_seconds)

    def install(manager: Manager) -> None:
        made.controller = QuotaController(manager.cluster, workers, settings)
        made.controller.follow(manager.add(made.controller))

    fleet.run_all(install, on=kueue.cluster)
    strategy = {"admissionChecks": [{"name": each} for each in checks]} if checks else None
    await kueue.create(
        flavor(),
        config(management),
        check(),
        cluster_queue(quota=cpu, limits=limits, admissionChecksStrategy=strategy, cohortName="all"),
        local_queue(),
    )
    await made.after(3)
    return made


@pytest.mark.rule("QA-7")
@pytest.mark.rule("QA-5")
@pytest.mark.rule("S003-9")
async def test_the_quota_follows_the_workers(fleet: Fleet) -> None:
    workers = PaperWorkers(w1="10", w2="10")
    made = await start(fleet, workers)
    assert await made.cpu() == "20"
    assert await made.told(CONDITION) == ("True", "QuotaAutomated")

    workers.set("w2", "5")
    await made.after()
    assert await made.cpu() == "15"

    workers.set("w2", None)
    await made.after()
    assert await made.cpu() == "10"


@pytest.mark.rule("QA-4")
async def test_a_worker_that_is_lost_is_not_counted_until_it_is_back(fleet: Fleet) -> None:
    workers = PaperWorkers(w1="10", w2="7")
    made = await start(fleet, workers)

    workers.connect("w2", is_connected=False)
    await made.after()
    assert await made.cpu() == "10"

    workers.connect("w2", is_connected=True)
    await made.after()
    assert await made.cpu() == "17"


@pytest.mark.rule("QA-6")
async def test_going_back_to_manual_leaves_the_quota_in_place(fleet: Fleet) -> None:
    workers = PaperWorkers(w1="10", w2="7")
    made = await start(fleet, workers)

    await made.conf(quotaManagement="Manual")
    workers.set("w2", "1")
    await made.after()

    assert await made.cpu() == "17"
    assert await made.told(CONDITION) == ("False", "NotRequested")
    assert await made.told("Active") is not None


@pytest.mark.rule("QA-5")
async def test_a_change_of_the_queue_itself_is_put_right(fleet: Fleet) -> None:
    made = await start(fleet, PaperWorkers(w1="10", w2="7"))

    spec = cluster_queue(quota="99")["spec"]["resourceGroups"]
    await made.kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"resourceGroups": spec}})
    await made.after()

    assert await made.cpu() == "17"


@pytest.mark.rule("QA-5")
async def test_a_worker_that_is_configured_later_is_counted(fleet: Fleet) -> None:
    made = await start(fleet, PaperWorkers(w1="10", w2="7", w3="3"))

    await made.conf(clusters=["w1", "w2", "w3"])

    assert await made.cpu() == "20"


@pytest.mark.rule("QA-5")
async def test_without_local_queues_here_nothing_is_counted(fleet: Fleet) -> None:
    made = await start(fleet, PaperWorkers(w1="10", w2="7"))

    await made.kueue.delete(kinds.LOCAL_QUEUE, "main")
    await made.after()

    assert await made.cpu() == "0"


@pytest.mark.rule("QA-2")
async def test_a_queue_that_is_none_of_ours_says_nothing(fleet: Fleet) -> None:
    made = await start(fleet, PaperWorkers(w1="10"), checks=[])
    assert await made.told(CONDITION) is None
    assert await made.told(SKEW) is None
    assert await made.cpu() == "1"


@pytest.mark.rule("QA-2")
async def test_the_condition_goes_with_the_check(fleet: Fleet) -> None:
    made = await start(fleet, PaperWorkers(w1="10", w2="10"))

    await made.kueue.patch(
        kinds.CLUSTER_QUEUE, "queue", {"spec": {"admissionChecksStrategy": None}}
    )
    await made.after()

    assert await made.told(CONDITION) is None


@pytest.mark.rule("QA-2")
@pytest.mark.rule("QA-6")
async def test_a_missing_configuration_is_told_and_the_queue_is_left_alone(fleet: Fleet) -> None:
    made = await start(fleet, PaperWorkers(w1="10", w2="10"))
    active = conditions_of(await made.queue())["Active"]

    await made.kueue.delete(CONFIG, "config")
    await made.after()

    assert await made.told(CONDITION) == ("False", "UnsupportedConfiguration")
    assert conditions_of(await made.queue())["Active"] == active
    assert await made.cpu() == "20"


@pytest.mark.rule("QA-1")
@pytest.mark.rule("LIM-6")
async def test_with_the_gate_off_the_field_is_ignored(fleet: Fleet) -> None:
    made = await start(fleet, PaperWorkers(w1="10", w2="10"), is_on=False)

    assert await made.cpu() == "1"
    assert await made.told(CONDITION) is None


@pytest.mark.rule("IMP-22")
async def test_limits_that_are_dropped_are_told_in_a_warning(fleet: Fleet) -> None:
    made = await start(fleet, PaperWorkers(w1="10", w2="7"), borrowingLimit="3")

    assert await made.resources() == [{"name": "cpu", "nominalQuota": "17"}]
    found = (await made.kueue.client.list(EVENTS, "default")).items
    [told] = [each for each in found if each["reason"] == "QuotaLimitsRemoved"]
    assert told["type"] == "Warning"
    assert told["involvedObject"]["name"] == "queue"
    assert told["message"].endswith("removed: borrowingLimit of cpu in flavor default")


async def test_a_queue_that_came_again_is_counted_after_its_worker_was_lost(fleet: Fleet) -> None:
    workers = PaperWorkers(w1="10", w2="10")
    made = await start(fleet, workers)
    workers.lead("w1", "100")
    workers.come_back("w1")
    workers.unlead("w1")
    await made.after()
    assert await made.cpu() == "10"

    workers.lead("w1", "200")
    await made.after()

    assert await made.cpu() == "20"


async def test_what_was_seen_of_queues_goes_with_them_and_with_their_worker(fleet: Fleet) -> None:
    workers = PaperWorkers(w1="10", w2="10")
    made = await start(fleet, workers)
    workers.come_back("w1")
    workers.come_back("w2")
    seen = made.controller._seen
    assert {name: len(each) for name, each in seen.items()} == {"w1": 2, "w2": 2}

    workers.unlead("w1")
    assert len(seen["w1"]) == 1
    workers.known["w2"].objects[kinds.LOCAL_QUEUE] = []
    workers.come_back("w2")
    assert len(seen["w2"]) == 1
    del workers.known["w1"]
    workers.on_state("w1")
    assert "w1" not in seen


@pytest.mark.rule("QA-4")
async def test_nothing_is_written_where_nothing_changed(fleet: Fleet) -> None:
    workers = PaperWorkers(w1="10", w2="10")
    made = await start(fleet, workers)
    version = (await made.queue())["metadata"]["resourceVersion"]

    workers.set("w1", "10")
    workers.connect("w2", is_connected=True)
    await made.after(10)

    assert (await made.queue())["metadata"]["resourceVersion"] == version


@pytest.mark.rule("LIM-5")
@pytest.mark.parametrize("is_on", [True, False])
async def test_quotas_far_apart_are_told_until_they_are_not(fleet: Fleet, is_on: bool) -> None:
    workers = PaperWorkers(w1="10", w2="10")
    made = await start(fleet, workers, management=None, is_on=is_on, cpu="100")
    assert await made.told(SKEW) == ("True", "FarAboveWorkers")

    workers.set("w1", "70")
    await made.after()

    assert await made.told(SKEW) is None
    assert await made.cpu() == "100"


@pytest.mark.rule("LIM-5")
async def test_while_a_worker_is_away_nobody_judges(fleet: Fleet) -> None:
    workers = PaperWorkers(w1="10", w2="90")
    made = await start(fleet, workers, management=None, cpu="100")

    workers.connect("w2", is_connected=False)
    await made.after()
    assert await made.told(SKEW) is None

    workers.known["w1"].objects.clear()
    workers.connect("w2", is_connected=True)
    await made.after()
    assert await made.told(SKEW) is None


@pytest.mark.rule("LIM-5")
async def test_what_there_is_here_and_there_can_be_measured(fleet: Fleet) -> None:
    made = await start(fleet, PaperWorkers(w1="10", w2="500m"), management=None, cpu="12")

    assert sorted(made.controller.readings()) == [
        ("fleetqueue_manager_quota", ("queue", "cpu"), 12.0),
        ("fleetqueue_worker_quota", ("queue", "w1", "cpu"), 10.0),
        ("fleetqueue_worker_quota", ("queue", "w2", "cpu"), 0.5),
    ]


@pytest.mark.rule("HAR-31")
@pytest.mark.rule("QA-5")
async def test_changes_are_gathered_for_as_long_as_is_asked_for(fleet: Fleet) -> None:
    watched = await start(fleet, PaperWorkers(w1="4", w2="8"), batch_seconds=10.0)
    await watched.after(12)
    assert await watched.cpu() == "12"

    watched.workers.set("w1", "5")
    await watched.after(8)
    assert await watched.cpu() == "12"
    await watched.after(4)
    assert await watched.cpu() == "13"
