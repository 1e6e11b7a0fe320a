"""Who waits in which place, and why, for those who may know."""

from typing import Any

import pytest

from fleetqueue.admission.settings import AdmissionSettings
from fleetqueue.apiserver.access.users import User
from fleetqueue.testing import Fleet
from support.kueue import NAMESPACE, Kueue, cluster_queue, flavor, local_queue, workload
from support.looking import GROUP, OWN, Looking

pytestmark = pytest.mark.rule("kueue 11.1")


async def looking(fleet: Fleet, settings: AdmissionSettings | None = None) -> Looking:
    kueue = await Kueue.start(fleet, settings)
    await kueue.create(flavor(), cluster_queue(quota="3"), local_queue())
    return Looking(kueue)


def of_local(name: str, version: str = "v1beta2") -> str:
    return f"{GROUP}/{version}/namespaces/{NAMESPACE}/localqueues/{name}/pendingworkloads"


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
async def test_v1_a_workload_is_listed_while_it_waits(fleet: Fleet, version: str) -> None:
    seen = await looking(fleet)
    await seen.kueue.create(workload("first", cpu="3"))
    assert await seen.pending(version=version) == []

    await seen.kueue.create(workload("second", cpu="3"))
    [item] = await seen.pending(version=version)
    assert item["metadata"]["name"] == "second"

    await seen.kueue.finish("first")
    assert await seen.pending(version=version) == []


async def test_v2_order_places_priorities_and_owners_are_shown(fleet: Fleet) -> None:
    seen = await looking(fleet)
    await seen.kueue.create(local_queue("other"), workload("holder", cpu="3"))
    map_ = {"apiVersion": "v1", "kind": "ConfigMap"}
    made = await seen.kueue.client.create(
        {**map_, "metadata": {"name": "owner", "namespace": NAMESPACE}}
    )
    plain = {**map_, "name": "owner", "uid": made["metadata"]["uid"]}
    for name, queue, priority in (("low", "main", 1), ("high", "other", 9), ("mid", "main", 5)):
        made = workload(name, cpu="3", queue=queue, priority=priority)
        made["metadata"]["ownerReferences"] = [{**plain, "controller": True}]
        await seen.kueue.create(made)

    found = await seen.read(f"{GROUP}/v1beta2/clusterqueues/queue/pendingworkloads")

    assert found["kind"] == "PendingWorkloadsSummary"
    assert found["apiVersion"] == "visibility.kueue.x-k8s.io/v1beta2"
    assert found["metadata"] == {}
    told = [
        (
            each["metadata"]["name"],
            each["priority"],
            each["localQueueName"],
            each["positionInClusterQueue"],
            each["positionInLocalQueue"],
        )
        for each in found["items"]
    ]
    assert told == [("high", 9, "other", 0, 0), ("mid", 5, "main", 1, 0), ("low", 1, "main", 2, 1)]
    metadata = found["items"][0]["metadata"]
    assert set(metadata) == {"name", "namespace", "creationTimestamp", "ownerReferences"}
    assert metadata["ownerReferences"] == [plain]


async def test_v3_a_local_queue_shows_its_own_and_counts_all(fleet: Fleet) -> None:
    seen = await looking(fleet)
    await seen.kueue.create(local_queue("other"), workload("holder", cpu="3"))
    for name, queue in (("first", "main"), ("second", "other"), ("third", "other")):
        await fleet.passes(seconds=1)
        await seen.kueue.create(workload(name, cpu="3", queue=queue))

    items = (await seen.read(of_local("other")))["items"]

    assert [each["metadata"]["name"] for each in items] == ["second", "third"]
    assert [each["positionInClusterQueue"] for each in items] == [1, 2]
    assert [each["positionInLocalQueue"] for each in items] == [0, 1]


async def test_v4_an_administrator_is_told_of_unknown_queues(fleet: Fleet) -> None:
    seen = await looking(fleet)
    await seen.make_roles()
    user = await seen.bind("ada", "kueue-batch-admin-role")
    await seen.kueue.create(local_queue("halted", stopPolicy="Hold"))

    for path, kind, name in (
        (f"{GROUP}/v1beta2/clusterqueues/nowhere/pendingworkloads", "clusterqueue", "nowhere"),
        (of_local("nowhere"), "localqueue", "nowhere"),
        (of_local("halted"), "localqueue", "halted"),
    ):
        response = await seen.ask(path, user)
        assert response.status == 404
        found = response.decoded()
        assert found["reason"] == "NotFound"
        assert found["message"] == f'{kind}.visibility.kueue.x-k8s.io "{name}" not found'
    assert (await seen.ask(of_local("main"), user)).status == 200


async def test_nobody_waits_in_a_local_queue_that_leads_nowhere(fleet: Fleet) -> None:
    seen = await looking(fleet)
    await seen.kueue.create(local_queue("early", queue="later"), workload("eager", queue="early"))
    assert (await seen.read(of_local("early")))["items"] == []


async def test_v5_whoever_has_no_role_is_refused(fleet: Fleet) -> None:
    seen = await looking(fleet)
    nobody = User("eve", groups=("system:authenticated",))

    response = await seen.ask(f"{GROUP}/v1beta2/clusterqueues/queue/pendingworkloads", nobody)

    assert response.status == 403
    assert response.decoded()["message"] == (
        'clusterqueues.visibility.kueue.x-k8s.io "queue" is forbidden: User "eve" cannot get '
        'resource "clusterqueues/pendingworkloads" in API group "visibility.kueue.x-k8s.io" at '
        "the cluster scope"
    )
    assert (await seen.ask(of_local("main"), nobody)).status == 403


@pytest.mark.rule("kueue 10.4")
async def test_a_user_of_queues_sees_local_queues_alone(fleet: Fleet) -> None:
    seen = await looking(fleet)
    await seen.make_roles()
    user = await seen.bind("bob", "kueue-batch-user-role")

    assert (await seen.ask(of_local("main"), user)).status == 200
    path = f"{GROUP}/v1beta2/clusterqueues/queue/pendingworkloads"
    assert (await seen.ask(path, user)).status == 403


async def test_v6_all_references_in_openapi_lead_somewhere(fleet: Fleet) -> None:
    seen = await looking(fleet)

    whole = await seen.read("/openapi/v2")
    names = {each.removeprefix("#/definitions/") for each in references(whole)}
    assert names <= set(whole["definitions"])
    path = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/{name}/pendingworkloads"
    assert path in whole["paths"]

    index = await seen.read("/openapi/v3")
    for version in ("v1beta1", "v1beta2"):
        name = f"apis/visibility.kueue.x-k8s.io/{version}"
        document = await seen.read(index["paths"][name]["serverRelativeURL"].split("?")[0])
        assert document["info"]["title"] == "Kueue visibility-server"
        for each in references(document):
            assert each.removeprefix("#/components/schemas/") in document["components"]["schemas"]


def references(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*(references(each) for each in value)) if value else set()
    if not isinstance(value, dict):
        return set()
    own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
    return own.union(*(references(each) for each in value.values()))


async def test_the_group_is_discovered(fleet: Fleet) -> None:
    seen = await looking(fleet)

    groups = {each["name"]: each for each in (await seen.read("/apis"))["groups"]}
    found = groups["visibility.kueue.x-k8s.io"]
    assert found["preferredVersion"]["version"] == "v1beta2"
    listed = await seen.read(f"{GROUP}/v1beta2")
    assert [
        (each["name"], each["namespaced"], each["kind"], each["verbs"])
        for each in listed["resources"]
    ] == [
        ("clusterqueues", False, "ClusterQueue", []),
        ("clusterqueues/pendingworkloads", False, "PendingWorkloadsSummary", ["get"]),
        ("localqueues", True, "LocalQueue", []),
        ("localqueues/pendingworkloads", True, "PendingWorkloadsSummary", ["get"]),
    ]
    assert (await seen.ask(f"{GROUP}/v1beta9")).status == 404


async def test_a_page_is_what_was_asked_for(fleet: Fleet) -> None:
    seen = await looking(fleet)
    await seen.kueue.create(workload("holder", cpu="3"))
    for priority, name in enumerate("cba"):
        await seen.kueue.create(workload(name, cpu="3", priority=priority))
    path = f"{GROUP}/v1beta2/clusterqueues/queue/pendingworkloads"

    for query, names in (
        ({}, "abc"),
        ({"limit": "2"}, "ab"),
        ({"offset": "1"}, "bc"),
        ({"offset": "1", "limit": "1"}, "b"),
        ({"limit": "-1"}, ""),
        ({"offset": "-4", "limit": "1"}, "a"),
        ({"offset": "9"}, ""),
        ({"limit": "200000"}, "abc"),
    ):
        found = (await seen.read(path, **query))["items"]
        assert "".join(each["metadata"]["name"] for each in found) == names, query


async def test_only_what_is_queued_is_listed(fleet: Fleet) -> None:
    """Finished, inactive, gated and reserved ones are not; those of an inactive queue are."""
    seen = await looking(fleet)
    gated = workload("gated")
    gated["metadata"]["annotations"] = {"kueue.x-k8s.io/admission-gated-by": "example.com/gate"}
    await seen.kueue.create(workload("holder", cpu="3"), workload("waits", cpu="3"), gated)
    await seen.kueue.create(workload("inactive", active=False), flavor("late"))
    halted = cluster_queue("halted", {"missing": {"cpu": "1"}})
    await seen.kueue.create(halted, local_queue("quiet", "halted"))
    await seen.kueue.create(workload("stays", queue="quiet"))

    assert [each["metadata"]["name"] for each in await seen.pending()] == ["waits"]
    assert [each["metadata"]["name"] for each in await seen.pending("halted")] == ["stays"]


async def test_it_is_only_read(fleet: Fleet) -> None:
    seen = await looking(fleet)
    path = f"{GROUP}/v1beta2/clusterqueues/queue/pendingworkloads"

    assert (await seen.ask(path, method="POST")).status == 405
    assert (await seen.ask(f"{GROUP}/v1beta2/clusterqueues/queue")).status == 404
    assert (await seen.ask(f"{GROUP}/v1beta2/cohorts/x/pendingworkloads")).status == 404


@pytest.mark.rule("kueue 5.9")
async def test_a_workload_is_explained(fleet: Fleet) -> None:
    seen = await looking(fleet)
    await seen.kueue.create(workload("holder", cpu="2"), workload("waits", cpu="2"))

    found = await seen.read(f"{OWN}/namespaces/{NAMESPACE}/workloads/waits/explanation")

    assert found["kind"] == "WorkloadExplanation"
    assert found["metadata"] == {"name": "waits", "namespace": NAMESPACE}
    assert (found["clusterQueueName"], found["localQueueName"]) == ("queue", "main")
    assert (found["decision"], found["reason"]) == ("Wait", "WaitingForQuota")
    assert found["message"] == (await seen.kueue.conditions("waits"))["QuotaReserved"][2]
    [pods] = found["podSets"]
    [considered] = pods["considered"]
    assert (considered["flavor"], considered["mode"]) == ("default", "preemptionMode=NoCandidates")
    [resource] = considered["resources"]
    assert (resource["resource"], resource["needed"], resource["free"]) == ("cpu", "2", "1")
    assert resource["why"] == ("insufficient unused quota for cpu in flavor default, 1 more needed")


async def test_explaining_needs_a_role_and_a_workload(fleet: Fleet) -> None:
    seen = await looking(fleet)
    await seen.make_roles()
    user = await seen.bind("bob", "kueue-batch-user-role")
    path = f"{OWN}/namespaces/{NAMESPACE}/workloads/nothing/explanation"

    assert (await seen.ask(path, User("eve", groups=("system:authenticated",)))).status == 403
    response = await seen.ask(path, user)
    assert response.status == 404
    text = 'workload.visibility.fleetqueue.io "nothing" not found'
    assert response.decoded()["message"] == text
