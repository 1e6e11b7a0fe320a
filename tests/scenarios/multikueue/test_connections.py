"""Workers are connected, lost and found again; one worker's trouble is nobody else's."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.support import dispatching
from tests.support.dispatching import NOBODY, SPACE, SYSTEM, Dispatching
from tests.support.links import Link

from fleetqueue import kueue
from fleetqueue.api.crds import all_crds
from fleetqueue.api.kueue import labels
from fleetqueue.api.meta import Key
from fleetqueue.apiserver.access.users import User
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.errors import KubeError, Unreachable
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import CRDS
from fleetqueue.kube.transport import Call
from fleetqueue.kueue import KueueOptions
from fleetqueue.multikueue import kinds
from fleetqueue.multikueue.connection import Connection
from fleetqueue.multikueue.connections import Connections, install_connections
from fleetqueue.multikueue.session import Connect
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.runtime.kinds import JOB, JOB_SET
from fleetqueue.testing import Fleet, named
from fleetqueue.testing.faults import CALM, STORM

CONNECTED = ("True", "Active", "Connected")
BEARER = User(
    f"system:serviceaccount:{SYSTEM}:mksa-sa",
    groups=("system:serviceaccounts", "system:authenticated"),
)
REFUSED = (
    'failed to get server groups: Get "https://127.0.0.1:1/api": '
    "dial tcp 127.0.0.1:1: connect: connection refused; connection attempts: {}, "
    "next connection attempt: {}"
)


async def joined(fleet: Fleet, *names: str, **options: Any) -> Dispatching:
    world = await dispatching.start(fleet, **options)
    await world.join(*names)
    return world


def worker(world: Dispatching, name: str = "worker1") -> Connection:
    found = world.connections.get(name)
    assert found is not None
    return found


async def failure(world: Dispatching, name: str = "worker1") -> str:
    """The message of the condition, which tells that the connection failed."""
    told = await world.activity(name)
    assert told is not None
    assert told[:2] == ("False", "ClientConnectionFailed")
    return told[2]


def copy(name: str, origin: str = "multikueue", space: str = "default") -> dict[str, Any]:
    marks = {labels.MULTIKUEUE_ORIGIN: origin} if origin else {}
    return named("Workload", dispatching.API, name, space, labels=marks, spec={"podSets": POD_SETS})


TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
POD_SETS = [{"name": "main", "count": 1, "template": TEMPLATE}]


# Connecting


@pytest.mark.rule("CONN-4", "SETUP-1", "ROLE-2", "S003-4", "S003-7")
async def test_workers_are_connected_by_their_secrets(fleet: Fleet) -> None:
    world = await joined(fleet)
    await world.set_up()

    assert await world.activity("worker1") == CONNECTED
    assert await world.activity("worker2") == CONNECTED
    assert await world.check_activity() == ("True", "Active", "The admission check is active")
    assert worker(world).is_connected
    assert worker(world).lost_since is None


@pytest.mark.rule("CONN-1")
@pytest.mark.rule("ROLE-7")
async def test_only_what_has_our_origin_is_watched(fleet: Fleet) -> None:
    world = await joined(fleet, "worker1")
    watches = [call for call in world.links["worker1"].calls if _is_watch(call)]

    assert {call.path for call in watches} == {
        "/apis/kueue.x-k8s.io/v1beta2/workloads",
        "/apis/batch/v1/jobs",
    }
    for call in watches:
        assert ("labelSelector", "kueue.x-k8s.io/multikueue-origin=multikueue") in call.query
        assert ("allowWatchBookmarks", "true") in call.query


@pytest.mark.rule("CONN-1")
async def test_what_is_there_is_told_when_everything_is_known_and_then_what_changes(
    fleet: Fleet,
) -> None:
    world = await dispatching.start(fleet)
    heard: list[str] = []
    world.connections.listen(
        lambda name, kind, obj: heard.append(f"{name} {kind.kind} {obj['metadata']['name']}"),
        lambda name: heard.append(f"{name} {worker(world, name).is_connected}"),
    )
    there = world.workers["worker1"].client
    await there.create(copy("ours"))
    await there.create(copy("others", "another"))
    await there.create(copy("nobodys", ""))
    await world.join("worker1")

    assert heard == ["worker1 Workload ours", "worker1 True"]
    heard.clear()
    await there.patch(kinds.WORKLOAD, "ours", {"metadata": {"labels": {"a": "b"}}}, "default")
    await there.delete(kinds.WORKLOAD, "ours", "default")
    await world.settle()
    assert set(heard) == {"worker1 Workload ours"}
    assert worker(world).copies() == []


@pytest.mark.rule("CONN-3")
async def test_a_worker_that_stays_lost_is_told_once_and_its_cluster_of_every_attempt(
    fleet: Fleet,
) -> None:
    world = await joined(fleet, "worker1")
    heard: list[str] = []
    world.connections.listen(
        lambda name, kind, obj: None,
        lambda name: heard.append(f"{name} {worker(world, name).is_connected}"),
    )
    world.cut("worker1")
    attempts = set()
    for _ in range(30):
        await world.passes(seconds=10)
        attempts.add((await failure(world)).partition("; ")[2])
    assert heard == ["worker1 False"]
    assert len(attempts) > 3

    world.restore("worker1")
    await world.passes(minutes=10)
    assert heard == ["worker1 False", "worker1 True"]


@pytest.mark.rule("SETUP-2")
async def test_a_kind_that_a_worker_lacks_keeps_it_from_being_used(fleet: Fleet) -> None:
    world = await joined(fleet, "worker1", install=_with_job_sets)
    message = await failure(world)
    wanted = 'no matches for kind "JobSet" in version "jobset.x-k8s.io/v1alpha2"; connection'
    assert message.startswith(wanted)


@pytest.mark.rule("IMP-6")
async def test_a_kind_that_a_worker_lacks_is_not_sent_there_where_that_is_asked_for(
    fleet: Fleet,
) -> None:
    world = await dispatching.start(
        fleet, install=_with_job_sets, settings={"tolerates_missing_kinds": True}
    )
    states: list[str] = []
    world.connections.listen(lambda name, kind, obj: None, states.append)
    await world.join("worker1")

    assert await world.activity("worker1") == CONNECTED
    assert worker(world).follows(JOB)
    assert not worker(world).follows(JOB_SET)
    assert worker(world).missing == {
        JOB_SET: 'no matches for kind "JobSet" in version "jobset.x-k8s.io/v1alpha2"'
    }
    lacks = ("fleetqueue_worker_missing_kind", ("worker1", "jobsets.jobset.x-k8s.io"), 1.0)
    assert lacks in list(world.connections.readings())

    states.clear()
    await world.workers["worker1"].client.create(_crd("JobSet"))
    await world.passes(minutes=1)
    assert worker(world).follows(JOB_SET)
    assert worker(world).missing == {}
    assert states == ["worker1"]


@pytest.mark.rule("IMP-6")
async def test_a_worker_without_workloads_is_never_used(fleet: Fleet) -> None:
    world = await dispatching.start(fleet, settings={"tolerates_missing_kinds": True})
    there = world.workers["worker1"].client
    await there.delete(CRDS, "workloads.kueue.x-k8s.io")
    await world.join("worker1")
    wanted = 'no matches for kind "Workload" in version "kueue.x-k8s.io/v1beta2"; connection'
    assert (await failure(world)).startswith(wanted)


@pytest.mark.rule("LIM-1")
@pytest.mark.rule("ROLE-5")
async def test_a_manager_is_not_its_own_worker(fleet: Fleet) -> None:
    world = await dispatching.start(fleet)
    world.links["worker1"].cluster = world.manager.cluster
    await world.join("worker1", "worker2")

    text = "this cluster is the manager itself, which cannot be its own worker; connection attempt"
    assert (await failure(world)).startswith(text)
    assert await world.activity("worker2") == CONNECTED


@pytest.mark.rule("HAR-12")
@pytest.mark.rule("RBAC-2")
@pytest.mark.rule("LIM-1")
async def test_no_more_rights_are_needed_than_the_guides_give(fleet: Fleet) -> None:
    world = await dispatching.start(fleet, gates={"MultiKueueManagerQuotaAutomation": True})
    there = world.workers["worker1"]
    for obj in _least_rights():
        await there.client.create(obj)
    world.links["worker1"].user = BEARER
    await world.join("worker1")

    assert await world.activity("worker1") == CONNECTED
    one = worker(world)
    assert one.queues(kinds.CLUSTER_QUEUE) == []
    made = await one.create(copy("a"))
    body = {"spec": {"priority": 7}}
    await one.patch(kinds.WORKLOAD, Key("default", "a"), body)
    assert (await one.read(kinds.WORKLOAD, Key("default", "a")) or {})["spec"]["priority"] == 7
    await one.delete(made, kinds.WORKLOAD, None)
    assert one.copies() == []


@pytest.mark.rule("SETUP-2")
async def test_a_worker_that_does_not_let_us_look_is_not_used(fleet: Fleet) -> None:
    world = await dispatching.start(fleet)
    world.links["worker1"].user = BEARER
    await world.join("worker1")
    message = await failure(world)
    assert message.startswith('workloads.kueue.x-k8s.io is forbidden: User "system:serviceaccount')


# Losing and finding


@pytest.mark.rule("CONN-3")
@pytest.mark.rule("CONN-8")
async def test_attempts_grow_rarer_and_are_told(fleet: Fleet) -> None:
    world = await joined(fleet)
    connected_until = fleet.clock.now()
    await world.write_secret("worker1", server=NOBODY)
    since = worker(world).lost_since
    assert since is not None
    assert since - connected_until < timedelta(seconds=1)

    for attempts, seconds in enumerate((5, 10, 20, 40, 80, 160, 320, 320), start=1):
        message = await failure(world)
        at = worker(world).next_at
        assert at is not None
        assert message == REFUSED.format(attempts, at.strftime("%Y-%m-%dT%H:%M:%SZ"))
        left = at - fleet.clock.now()
        assert 0 < left.total_seconds() <= seconds
        await world.manager.patch(kinds.CLUSTER, "worker1", {"metadata": {"labels": {"a": "b"}}})
        await world.passes(seconds=left.total_seconds() / 2)
        assert await failure(world) == message
        await world.passes(seconds=left.total_seconds() / 2 + 5)

    await world.write_secret("worker1", server="https://127.0.0.1:2")
    assert "connection attempts: 1, " in await failure(world)
    assert worker(world).lost_since == since
    assert await world.activity("worker2") == CONNECTED


@pytest.mark.rule("HAR-14")
@pytest.mark.rule("CRED-2")
@pytest.mark.rule("CONN-4")
async def test_a_secret_that_points_nowhere_and_back(fleet: Fleet) -> None:
    world = await joined(fleet)
    await world.set_up()
    await world.write_secret("worker1", server=NOBODY)
    assert (await failure(world)).startswith(REFUSED.split("{}")[0])
    told = ("True", "SomeActiveClusters", "Inactive clusters: [worker1]")
    assert await world.check_activity() == told

    await world.passes(minutes=30)
    before = fleet.clock.now()
    await world.write_secret("worker1")
    assert await world.activity("worker1") == CONNECTED
    assert fleet.clock.now() - before < timedelta(seconds=10)
    assert worker(world).failures == 0
    assert await world.check_activity() == ("True", "Active", "The admission check is active")


@pytest.mark.rule("CRED-2")
async def test_a_secret_that_says_the_same_disturbs_nobody(fleet: Fleet) -> None:
    world = await joined(fleet)
    before = len(world.links["worker1"].calls)
    mark = {"metadata": {"labels": {"a": "b"}}}
    await world.manager.client.patch(kinds.SECRET, "worker1-secret", mark, SYSTEM)
    await world.settle()
    assert len(world.links["worker1"].calls) == before


@pytest.mark.rule("CONN-5")
async def test_connections_that_break_are_made_again_at_once(fleet: Fleet) -> None:
    world = await joined(fleet)
    await world.passes(minutes=1)
    states: list[bool] = []
    world.connections.listen(
        lambda name, kind, obj: None, lambda name: states.append(worker(world).is_connected)
    )
    before = len(world.links["worker1"].calls)
    world.links["worker1"].reset()
    await world.settle()

    assert states == [False, True]
    again = world.links["worker1"].calls[before:]
    assert [call.path for call in again].count("/api") == 1
    assert await world.activity("worker1") == CONNECTED
    assert worker(world).lost_since is None


async def test_a_watch_that_ends_and_goes_on_is_no_loss(fleet: Fleet) -> None:
    world = await joined(fleet)
    await world.passes(minutes=1)
    states: list[str] = []
    world.connections.listen(lambda name, kind, obj: None, states.append)
    world.links["worker1"].drop_watches()
    await world.workers["worker1"].client.create(copy("later"))
    await world.passes(seconds=5)

    assert states == []
    assert [each["metadata"]["name"] for each in worker(world).copies()] == ["later"]


@pytest.mark.rule("CONN-5")
@pytest.mark.rule("CONN-3")
async def test_a_worker_that_is_gone_is_tried_at_once_and_then_by_the_clock(fleet: Fleet) -> None:
    world = await joined(fleet)
    await world.passes(minutes=1)
    world.cut("worker1")
    await world.settle()
    assert "connection refused; connection attempts: 1, " in await failure(world)

    world.restore("worker1")
    await world.passes(seconds=10)
    assert await world.activity("worker1") == CONNECTED


@pytest.mark.rule("CONN-2")
async def test_a_worker_that_never_answers_is_given_up_after_a_while(fleet: Fleet) -> None:
    world = await dispatching.start(fleet)
    world.links["worker1"].hang_watches()
    began = fleet.clock.now()
    await world.join("worker1")
    assert fleet.clock.now() - began >= timedelta(minutes=1)
    text = "watch establishment timed out; connection attempts: 1, next connection attempt: "
    assert (await failure(world)).startswith(text)

    await world.passes(seconds=6)
    second = fleet.clock.now()
    assert second - began >= timedelta(minutes=3)
    assert "attempts: 2" in await failure(world)


@pytest.mark.rule("CONN-6")
async def test_a_worker_that_hangs_delays_none_of_the_others(fleet: Fleet) -> None:
    world = await dispatching.start(fleet)
    world.hang("worker1")
    client = world.manager.client
    for name in world.workers:
        await client.create(dispatching.kubeconfig_secret(name))
        await client.create(dispatching.cluster(name))
    await fleet.passes(seconds=1)

    assert await world.activity("worker2") == CONNECTED
    assert await world.activity("worker1") is None
    await client.delete(kinds.CLUSTER, "worker2")
    await fleet.passes(seconds=1)
    assert world.connections.get("worker2") is None


@pytest.mark.rule("E18")
async def test_a_connection_that_hangs_is_noticed(fleet: Fleet) -> None:
    world = await joined(fleet)
    await world.passes(minutes=5)
    world.hang("worker1")
    since = fleet.clock.now()
    await fleet.passes(seconds=30)

    assert not worker(world).is_connected
    lost_since = worker(world).lost_since
    assert lost_since is not None
    assert timedelta() < lost_since - since < timedelta(seconds=25)
    await fleet.passes(seconds=15)
    text = 'failed to get server groups: Get "https://worker1:6443/api": context deadline exceeded'
    assert (await failure(world)).startswith(text)
    world.restore("worker1")
    await fleet.passes(seconds=10)
    assert await world.activity("worker1") == CONNECTED


async def test_a_write_that_is_not_answered_ends_the_connection(fleet: Fleet) -> None:
    world = await joined(fleet)
    world.hang("worker1")
    began = fleet.clock.now()
    with pytest.raises(Unreachable):
        await worker(world).create(copy("a"))
    assert fleet.clock.now() - began <= timedelta(seconds=10)
    assert not worker(world).is_connected

    with pytest.raises(Unreachable, match="is not connected"):
        await worker(world).create(copy("b"))


async def test_a_token_that_is_no_longer_taken_ends_the_connection(fleet: Fleet) -> None:
    world = await joined(fleet)
    world.links["worker1"].token = "another"
    await world.passes(seconds=15)
    told = "failed to get server groups: the server has asked for the client to provide credentials"
    assert (await failure(world)).startswith(f"{told}; connection attempts: ")

    await world.write_secret("worker1", token="another")
    assert await world.activity("worker1") == CONNECTED


@pytest.mark.rule("CONN-8")
async def test_a_restart_counts_from_anew_how_long_a_worker_is_lost(fleet: Fleet) -> None:
    world = await joined(fleet)
    world.cut("worker1")
    await world.passes(minutes=10)
    before = worker(world).lost_since
    assert world.manager.restart is not None
    await world.manager.restart()
    await world.settle()

    after = worker(world).lost_since
    assert before is not None
    assert after is not None
    assert after - before >= timedelta(minutes=10)
    assert worker(world, "worker2").is_connected


@pytest.mark.rule("CONN-9")
@pytest.mark.rule("IMP-3")
async def test_a_cluster_that_is_deleted_is_forgotten_but_not_when(fleet: Fleet) -> None:
    world = await joined(fleet)
    await world.passes(minutes=5)
    await world.manager.delete(kinds.CLUSTER, "worker1")
    deleted_at = fleet.clock.now()

    assert world.connections.get("worker1") is None
    since = world.connections.lost_since("worker1")
    assert since is not None
    assert deleted_at - since < timedelta(seconds=2)
    calls = len(world.links["worker1"].calls)
    await world.passes(minutes=20)
    assert world.connections.lost_since("worker1") == since
    assert len(world.links["worker1"].calls) == calls

    assert world.manager.restart is not None
    restarted_at = fleet.clock.now()
    await world.manager.restart()
    await world.passes(minutes=5)
    after = world.connections.lost_since("worker1")
    assert after is not None
    assert after - restarted_at < timedelta(seconds=1)
    await world.manager.create(dispatching.cluster("worker1"))
    assert world.connections.lost_since("worker1") is None


# Writing


async def test_a_write_is_known_at_once(fleet: Fleet) -> None:
    world = await joined(fleet)
    one, key = worker(world), Key("default", "a")
    made = await one.create(copy("a"))
    assert one.copy(key) is not None
    applied = {**copy("a"), "spec": {"priority": 3}}
    await one.patch(kinds.WORKLOAD, key, applied, type=PatchType.APPLY, manager="somebody")
    found = one.copy(key)
    assert found is not None
    assert found["spec"]["priority"] == 3
    await one.delete(made, kinds.WORKLOAD, "Background")
    assert one.copy(key) is None
    await one.delete(made, kinds.WORKLOAD, "Background")
    assert await one.read(kinds.WORKLOAD, key) is None


async def test_what_has_another_origin_is_read_but_never_kept(fleet: Fleet) -> None:
    world = await joined(fleet)
    one, key = worker(world), Key("default", "a")
    await one.create(copy("a", "another"))
    assert one.copy(key) is None
    assert await one.read(kinds.WORKLOAD, key) is not None


async def test_mirrors_are_found_by_their_workload(fleet: Fleet) -> None:
    world = await joined(fleet)
    marks = {labels.MULTIKUEUE_ORIGIN: "multikueue", labels.PREBUILT_WORKLOAD_NAME: "w"}
    await worker(world).create(copy("w"))
    job = dispatching.job("j")
    job["metadata"]["labels"] |= marks
    await worker(world).create(job)
    [found] = worker(world).mirrors_of(JOB, Key("default", "w"))
    assert found["metadata"]["name"] == "j"
    assert worker(world).mirrors_of(JOB, Key("default", "v")) == []


def _is_watch(call: Call) -> bool:
    return ("watch", "true") in call.query


def _with_job_sets(
    manager: Manager, options: KueueOptions, settings: DispatchSettings, connect: Connect
) -> Connections:
    kueue.install(manager, options)
    followed = {JOB: lambda mirror: (), JOB_SET: lambda mirror: ()}
    return install_connections(manager, settings, followed, connect)


def _crd(kind: str) -> dict[str, Any]:
    return next(crd for crd in all_crds() if crd["spec"]["names"]["kind"] == kind)


def _least_rights() -> list[dict[str, Any]]:
    """What a harness of others gives a manager, and no more."""
    whole = ["create", "update", "patch", "delete", "get", "list", "watch"]
    kueue_group, look = "kueue.x-k8s.io", ["get", "list", "watch"]
    rules = [
        _rule(kueue_group, ["workloads"], whole),
        _rule(kueue_group, ["workloads/status"], ["get", "patch", "update"]),
        _rule(kueue_group, ["clusterqueues", "localqueues"], look),
        _rule("batch", ["jobs"], whole),
        _rule("batch", ["jobs/status"], ["get"]),
    ]
    api = "rbac.authorization.k8s.io/v1"
    account = {"kind": "ServiceAccount", "name": "mksa-sa", "namespace": SYSTEM}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    return [
        named("ClusterRole", api, "mksa-role", rules=rules),
        named(
            "ClusterRoleBinding",
            api,
            "mksa-crb",
            roleRef={**reference, "name": "mksa-role"},
            subjects=[account],
        ),
    ]


def _rule(group: str, resources: list[str], verbs: list[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


def _older_crds() -> list[dict[str, Any]]:
    """Kueue's kinds as an old installation has them."""
    made = []
    for name in ("Workload", "ClusterQueue", "LocalQueue"):
        crd = _crd(name)
        [version] = [each for each in crd["spec"]["versions"] if each["name"] == "v1beta1"]
        spec = {**crd["spec"], "versions": [{**version, "storage": True}]}
        spec.pop("conversion", None)
        made.append({**crd, "spec": spec})
    return made


@pytest.mark.rule("S000-3")
async def test_a_worker_of_an_older_level_is_spoken_to_in_its_own_version(fleet: Fleet) -> None:
    world = await dispatching.start(fleet, workers=())
    old = await fleet.add_cluster("old")
    for crd in _older_crds():
        await old.client.create(crd)
    await fleet.settle()
    world.links["old"] = Link(old, dispatching.TOKEN + "old")
    await world.join("old")
    assert await world.activity("old") == CONNECTED

    one, key = worker(world, "old"), Key("default", "a")
    body = copy("a")
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
    body["spec"] |= {"priorityClassRef": reference, "priority": 5}
    made = await one.create(body)
    assert made["apiVersion"] == dispatching.API
    older = replace(kinds.WORKLOAD, version="v1beta1")
    there = await old.client.get(older, "a", "default")
    assert there["spec"]["priorityClassName"] == "high"

    patch = {"status": {"conditions": [_condition("QuotaReserved", fleet)]}}
    await old.client.patch(older, "a", patch, "default", subresource="status")
    await world.settle()
    found = one.copy(key)
    assert found is not None
    assert found["spec"]["priorityClassRef"] == reference
    assert [each["type"] for each in found["status"]["conditions"]] == ["QuotaReserved"]
    await one.patch(kinds.WORKLOAD, key, {"spec": {"priority": 7}})
    assert (one.copy(key) or {})["spec"]["priority"] == 7
    await one.delete(made, kinds.WORKLOAD, None)
    assert await one.read(kinds.WORKLOAD, key) is None


def _condition(type: str, fleet: Fleet) -> dict[str, Any]:
    now = fleet.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "type": type, "status": "True", "reason": "x", "message": "", "lastTransitionTime": now,
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
async def test_a_storm_leaves_the_caches_as_the_workers_are(seed: int) -> None:
    async with Fleet(seed) as fleet:
        config = "multiKueue: {gcInterval: 0s}"
        world = await joined(fleet, workers=("worker1",), config=config)
        there = world.workers["worker1"]
        there.cluster.set_weather(STORM)
        for number in range(30):
            await fleet.passes(seconds=20)
            if number % 3:
                await there.client.create(copy(f"a{number}"))
            else:
                with suppress(KubeError):
                    await worker(world).create(copy(f"b{number}"))
            if number % 5 == 4:
                await there.client.delete(kinds.WORKLOAD, f"a{number - (number % 3 == 0)}", SPACE)
            if number % 10 == 9:
                world.links["worker1"].reset()
        there.cluster.set_weather(CALM)
        await world.passes(minutes=10)

        assert await world.activity("worker1") == CONNECTED
        held = {each["metadata"]["name"] for each in worker(world).copies()}
        assert held == set(await there.names(kinds.WORKLOAD))
        assert len(held) > 10
