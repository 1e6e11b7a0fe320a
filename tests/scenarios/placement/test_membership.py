"""A member joins the fleet, keeps in touch, and leaves it."""

from datetime import timedelta
from itertools import pairwise
from random import Random

import pytest
from tests.support import placing

from fleetqueue.api.fleet import labels
from fleetqueue.api.times import parse_time
from fleetqueue.errors import Refused
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import conditions
from fleetqueue.fleet.hub.membership import ROLE_BINDINGS, ROLES
from fleetqueue.fleet.member import agent
from fleetqueue.fleet.member.joined import Membership
from fleetqueue.fleet.settings import HubSettings, MemberSettings
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import NAMESPACES, Object
from fleetqueue.metrics.registry import Metrics
from fleetqueue.testing import Fleet, config_map, namespace

ONE = "cluster-1"
HOME = f"fleet-member-{ONE}"
NORMAL, WARNING = "Normal", "Warning"


async def member_of(world: placing.World, name: str = ONE) -> Object:
    return await world.hub.get(kinds.MEMBER_CLUSTER, name)


async def internal_of(world: placing.World, name: str = ONE) -> Object:
    return await world.hub.get(kinds.INTERNAL_MEMBER_CLUSTER, name, f"fleet-member-{name}")


def told(held: list[Object], type: str) -> tuple[str, str, str, int]:
    found = conditions.find(held, type)
    assert found is not None
    return found["status"], found["reason"], found["message"], found["observedGeneration"]


async def change(world: placing.World, name: str = ONE, **spec: object) -> None:
    await world.hub.client.patch(kinds.MEMBER_CLUSTER, name, {"spec": spec})
    await world.settle()


async def remove(world: placing.World, name: str = ONE) -> None:
    await world.hub.client.delete(kinds.MEMBER_CLUSTER, name)
    await world.settle()


def work(name: str, home: str = HOME, finalizer: str = labels.WORK_FINALIZER) -> Object:
    return {
        "apiVersion": kinds.WORK.api_version,
        "kind": "Work",
        "metadata": {"name": name, "namespace": home, "finalizers": [finalizer]},
        "spec": {"workload": {"manifests": []}},
    }


@pytest.mark.rule("MC-1", "MC-6", "MC-7", "MC-8")
async def test_a_member_joins(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])

    member = await member_of(world)
    assert set(member["metadata"]["finalizers"]) == {
        labels.MEMBER_CLUSTER_FINALIZER,
        labels.CLUSTER_PROFILE_FINALIZER,
    }
    assert member["metadata"]["labels"] == {labels.MEMBER_NAME: ONE}
    held, generation = member["status"]["conditions"], member["metadata"]["generation"]
    text = "Member cluster is ready to join the fleet"
    assert told(held, "ReadyToJoin") == ("True", "MemberClusterReadyToJoin", text, generation)
    text = "Member cluster has successfully joined the fleet"
    assert told(held, "Joined") == ("True", "MemberClusterJoined", text, generation)
    (status,) = member["status"]["agentStatus"]
    assert status["type"] == "MemberAgent"
    assert [each["observedGeneration"] for each in status["conditions"]] == [generation] * 2


@pytest.mark.rule("MC-2", "MC-3", "MC-4", "MC-5")
async def test_it_has_all_that_its_agent_works_through(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])

    member = await member_of(world)
    home = await world.hub.get(NAMESPACES, HOME)
    assert home["metadata"]["labels"][labels.IS_FLEET_RESOURCE] == "true"
    role = await world.hub.get(ROLES, f"fleet-role-{ONE}", HOME)
    events = ["get", "list", "update", "patch", "watch", "create"]
    assert [(rule["apiGroups"], rule["resources"], rule["verbs"]) for rule in role["rules"]] == [
        (["cluster.kubernetes-fleet.io"], ["*"], ["*"]),
        (["placement.kubernetes-fleet.io"], ["*"], ["*"]),
        (["networking.fleet.azure.com"], ["*"], ["*"]),
        ([""], ["events"], events),
    ]
    binding = await world.hub.get(ROLE_BINDINGS, f"fleet-rolebinding-{ONE}", HOME)
    assert binding["roleRef"]["name"] == f"fleet-role-{ONE}"
    assert binding["subjects"] == [member["spec"]["identity"]]
    internal = await internal_of(world)
    assert internal["spec"] == {"state": "Join", "heartbeatPeriodSeconds": 15}
    for owned in (home, internal):
        (owner,) = owned["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (member["metadata"]["uid"], True)


@pytest.mark.rule("MC-8", "IMC-3")
async def test_joining_is_told_by_events(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])
    await world.passes(seconds=1)

    assert await world.hub.events(ONE) == [
        (NORMAL, "NamespaceCreated", "Namespace was created"),
        (NORMAL, "RoleCreated", "role was created"),
        (NORMAL, "RoleBindingCreated", "role binding was created"),
        (NORMAL, "InternalMemberClusterCreated", "Internal member cluster was created"),
        (NORMAL, "MemberClusterReadyToJoin", "member cluster ready to join"),
        (WARNING, "MemberClusterJoinStateUnknown", "member cluster join state unknown"),
        (NORMAL, "InternalMemberClusterHealthy", "internal member cluster healthy"),
        (NORMAL, "InternalMemberClusterJoined", "internal member cluster joined"),
        (NORMAL, "MemberClusterJoined", "member cluster joined"),
    ]


@pytest.mark.rule("MC-7", "MC-8")
async def test_a_member_whose_agent_is_silent_is_not_known_to_have_joined(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[])
    await world.hub.create(placing.member_cluster(ONE))
    await world.settle()

    member = await member_of(world)
    text = f"Member cluster {ONE} has not reported all the expected agents, expected 1, got 0"
    assert told(member["status"]["conditions"], "Joined")[:3] == (
        "Unknown", "MemberClusterJoinStateUnknown", text,
    )  # fmt: skip


@pytest.mark.rule("MC-7")
async def test_with_networking_all_three_agents_are_expected(fleet: Fleet) -> None:
    settings = HubSettings(networking_agents_enabled=True)
    world = await placing.start(fleet, members=[ONE], settings=settings)

    member = await member_of(world)
    text = f"Member cluster {ONE} has not reported all the expected agents, expected 3, got 1"
    assert told(member["status"]["conditions"], "Joined")[2] == text


@pytest.mark.rule("MC-1", "MC-2", "MC-3", "MC-8")
async def test_what_somebody_broke_is_mended(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])
    client = world.hub.client
    wrong = {"metadata": {"labels": {labels.MEMBER_NAME: "another"}}}
    await client.patch(kinds.MEMBER_CLUSTER, ONE, wrong)
    await client.patch(NAMESPACES, HOME, {"metadata": {"labels": {labels.IS_FLEET_RESOURCE: None}}})
    await client.patch(ROLES, f"fleet-role-{ONE}", {"rules": []}, HOME)
    await client.delete(ROLE_BINDINGS, f"fleet-rolebinding-{ONE}", HOME)
    await world.passes(seconds=1)

    member = await member_of(world)
    assert member["metadata"]["labels"] == {labels.MEMBER_NAME: ONE}
    home = await world.hub.get(NAMESPACES, HOME)
    assert home["metadata"]["labels"][labels.IS_FLEET_RESOURCE] == "true"
    assert len((await world.hub.get(ROLES, f"fleet-role-{ONE}", HOME))["rules"]) == 4
    assert await world.hub.find(ROLE_BINDINGS, f"fleet-rolebinding-{ONE}", HOME)
    events = await world.hub.events(ONE)
    assert (NORMAL, "NamespacePatched", "Namespace was patched") in events
    assert (NORMAL, "RoleUpdated", "role was updated") in events


@pytest.mark.rule("MC-4", "MC-5", "MC-8")
async def test_another_identity_and_another_period_are_taken_up(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])

    await change(world, identity={"kind": "User", "name": "mia"}, heartbeatPeriodSeconds=30)

    binding = await world.hub.get(ROLE_BINDINGS, f"fleet-rolebinding-{ONE}", HOME)
    (subject,) = binding["subjects"]
    assert (subject["kind"], subject["name"]) == ("User", "mia")
    assert subject["apiGroup"] == "rbac.authorization.k8s.io"
    assert (await internal_of(world))["spec"]["heartbeatPeriodSeconds"] == 30
    await world.passes(seconds=1)
    events = await world.hub.events(ONE)
    assert (NORMAL, "RoleBindingUpdated", "role binding was updated") in events
    text = "internal member cluster spec updated"
    assert (NORMAL, "InternalMemberClusterSpecUpdated", text) in events


@pytest.mark.rule("IMC-1")
async def test_heartbeats_come_with_their_period_a_little_early_or_late(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])
    heard = set()
    for _ in range(120):
        (status,) = (await internal_of(world))["status"]["agentStatus"]
        heard.add(parse_time(status["lastReceivedHeartbeat"]))
        await world.fleet.passes(seconds=1)

    moments = sorted(heard)
    gaps = [after - before for before, after in pairwise(moments)]
    assert 7 <= len(gaps) <= 8
    # Times are told in whole seconds, so that a second more or less says nothing.
    assert all(timedelta(seconds=13) < gap < timedelta(seconds=17) for gap in gaps)


@pytest.mark.rule("IMC-1", "IMC-3")
async def test_a_member_whose_server_does_not_answer_is_unhealthy(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])
    await world.members[ONE].cluster.kill()
    await fleet.passes(seconds=60)

    (status,) = (await internal_of(world))["status"]["agentStatus"]
    text = "health probe failed with status code 0"
    assert told(status["conditions"], "Healthy") == (
        "False", "InternalMemberClusterUnhealthy", text, 1,
    )  # fmt: skip
    assert told(status["conditions"], "Joined")[0] == "True"
    warning = (WARNING, "InternalMemberClusterUnhealthy", "internal member cluster unhealthy")
    assert (await world.hub.events(ONE)).count(warning) == 1

    await world.members[ONE].cluster.start()
    await world.passes(seconds=60)

    (status,) = (await member_of(world))["status"]["agentStatus"]
    assert told(status["conditions"], "Healthy")[:2] == ("True", "InternalMemberClusterHealthy")


@pytest.mark.rule("MC-10", "MC-12", "IMC-2")
async def test_a_member_that_is_deleted_leaves_nothing_behind_on_the_hub(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])
    await world.hub.create(work("leftover", finalizer="example.org/forgotten"))
    await world.settle()

    await remove(world)
    await world.passes(seconds=5)

    assert await world.hub.find(kinds.MEMBER_CLUSTER, ONE) is None
    assert await world.hub.find(NAMESPACES, HOME) is None
    assert await world.hub.all(kinds.INTERNAL_MEMBER_CLUSTER) == []
    events = await world.hub.events(ONE)
    assert (NORMAL, "MemberClusterJoined", "member cluster left") in events


@pytest.mark.rule("MC-13")
async def test_what_was_placed_on_it_stays(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])
    await world.members[ONE].create(namespace("apps"), config_map("kept", namespace="apps"))

    await remove(world)
    await world.passes(seconds=5)

    assert [each["metadata"]["name"] for each in await world.members[ONE].all(NAMESPACES)].count(
        "apps"
    ) == 1


@pytest.mark.rule("MC-10")
async def test_a_deletion_waits_for_the_agent(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[])
    await world.hub.create(placing.member_cluster(ONE))
    await world.settle()

    await remove(world)
    await world.passes(minutes=10)

    assert (await internal_of(world))["spec"]["state"] == "Leave"
    assert await world.hub.find(kinds.MEMBER_CLUSTER, ONE) is not None


@pytest.mark.rule("MC-11")
@pytest.mark.rule("kubefleet 12.2")
async def test_a_dead_agent_is_not_waited_for_for_ever(fleet: Fleet) -> None:
    settings = HubSettings(force_delete_seconds=60.0)
    world = await placing.start(fleet, members=[], settings=settings)
    await world.hub.create(placing.member_cluster(ONE))
    await world.settle()
    await world.hub.create(work("undelivered"))

    await remove(world)
    await world.passes(seconds=50)
    assert await world.hub.find(kinds.MEMBER_CLUSTER, ONE) is not None
    await world.passes(seconds=15)

    assert await world.hub.find(kinds.MEMBER_CLUSTER, ONE) is None
    assert await world.hub.find(NAMESPACES, HOME) is None


@pytest.mark.rule("MC-10")
async def test_without_the_object_of_its_agent_nobody_is_waited_for(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[])
    await world.hub.create(placing.member_cluster(ONE))
    await world.settle()
    gone = (kinds.INTERNAL_MEMBER_CLUSTER, ONE, HOME)
    await world.hub.client.delete(kinds.MEMBER_CLUSTER, ONE)
    await world.hub.client.delete(*gone)
    await world.settle()
    await world.passes(seconds=5)

    assert await world.hub.find(kinds.MEMBER_CLUSTER, ONE) is None


@pytest.mark.rule("MC-9")
async def test_a_namespace_that_goes_slowly_is_waited_for(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])
    held = config_map("held", namespace=HOME)
    held["metadata"]["finalizers"] = ["example.org/held"]
    await world.hub.create(held)

    await remove(world)
    await world.passes(seconds=30)
    member = await member_of(world)
    assert labels.MEMBER_CLUSTER_FINALIZER in member["metadata"]["finalizers"]

    patch = {"metadata": {"finalizers": None}}
    kind = await world.hub.client.discovery.resource("v1", "ConfigMap")
    await world.hub.client.patch(kind, "held", patch, HOME)
    await world.passes(seconds=5)
    assert await world.hub.find(kinds.MEMBER_CLUSTER, ONE) is None


@pytest.mark.rule("MC-13")
async def test_a_member_that_left_can_join_again(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])
    await remove(world)
    await world.passes(seconds=5)

    await world.hub.create(placing.member_cluster(ONE))
    await world.passes(seconds=5)

    held = (await member_of(world))["status"]["conditions"]
    assert told(held, "Joined")[:2] == ("True", "MemberClusterJoined")


@pytest.mark.rule("MC-9")
async def test_a_namesake_waits_until_the_namespace_of_the_former_is_gone(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[])
    home = namespace(HOME)
    await world.hub.create(home)
    held = config_map("held", namespace=HOME)
    held["metadata"]["finalizers"] = ["example.org/held"]
    await world.hub.create(held)
    await world.hub.client.delete(NAMESPACES, HOME)

    await world.hub.create(placing.member_cluster(ONE))
    await world.passes(seconds=5)
    assert await world.hub.find(kinds.INTERNAL_MEMBER_CLUSTER, ONE, HOME) is None

    kind = await world.hub.client.discovery.resource("v1", "ConfigMap")
    await world.hub.client.patch(kind, "held", {"metadata": {"finalizers": None}}, HOME)
    await world.passes(seconds=5)
    assert await world.hub.find(kinds.INTERNAL_MEMBER_CLUSTER, ONE, HOME) is not None


@pytest.mark.rule("MC-8", "IMC-2", "IMC-3")
async def test_an_agent_that_cannot_leave_says_why_and_tries_again(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[])
    side = placing.Side(await fleet.add_cluster(ONE))
    membership, metrics = Membership(), Metrics()
    refusals = [Refused("the applier is busy")] * 3

    async def leave() -> None:
        if refusals:
            raise refusals.pop()

    def install(manager: Manager) -> None:
        own = Cluster(side.cluster.connect(), clock=fleet.clock, random=Random(0), name=ONE)
        membership.on_leave(leave)
        agent.install(manager, own, MemberSettings(ONE), metrics, membership)

    fleet.run_all(install, world.hub.cluster)
    await world.hub.create(placing.member_cluster(ONE))
    await world.settle()
    assert membership.is_joined
    held = config_map("held", namespace=HOME)
    held["metadata"]["finalizers"] = ["example.org/held"]
    await world.hub.create(held)
    await world.hub.client.delete(kinds.MEMBER_CLUSTER, ONE)
    await fleet.passes(seconds=0.001)

    (status,) = (await internal_of(world))["status"]["agentStatus"]
    reason = "InternalMemberClusterFailedToLeave"
    assert told(status["conditions"], "Joined") == ("Unknown", reason, "the applier is busy", 2)

    await world.passes(seconds=10)
    assert not membership.is_joined
    member = await member_of(world)
    assert told(member["status"]["conditions"], "Joined")[:2] == ("False", "MemberClusterLeft")
    text = "Member cluster is not ready to join the fleet"
    reason = "MemberClusterNotReadyToJoin"
    assert told(member["status"]["conditions"], "ReadyToJoin")[:3] == ("False", reason, text)
    (status,) = member["status"]["agentStatus"]
    assert told(status["conditions"], "Joined")[:3] == ("False", "InternalMemberClusterLeft", "")
    assert b'leave_result_counter{result="success"} 1.0' in metrics.text()


@pytest.mark.rule("kubefleet 10.1")
async def test_joining_and_leaving_are_counted_on_both_sides(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])
    await remove(world)
    await world.passes(seconds=5)

    for metrics in (world.hub.metrics, world.members[ONE].metrics):
        text = metrics.text()
        assert b'join_result_counter{result="success"} 1.0' in text
        assert b'leave_result_counter{result="success"} 1.0' in text


async def test_nothing_is_written_while_nothing_happens(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])
    await world.passes(seconds=2)
    before = await member_of(world)
    await world.passes(seconds=8)

    after = await member_of(world)
    assert before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]


@pytest.mark.rule("IMC-1")
async def test_an_agent_that_starts_again_goes_on(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[ONE])
    restart = world.members[ONE].restart
    assert restart is not None
    await restart()
    await world.passes(seconds=60)

    (status,) = (await member_of(world))["status"]["agentStatus"]
    age = fleet.clock.now() - parse_time(status["lastReceivedHeartbeat"])
    assert age < timedelta(seconds=17)
