"""The manager of a fleet is a hub, and its workers are members that it places objects on."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from live.fleet_members import Member, Members
from support.local_fleet import LocalFleet
from support.server import wait_until

Object = dict[str, Any]
CLUSTERS = "/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters"
PLACEMENTS = "/apis/placement.kubernetes-fleet.io/v1beta1/clusterresourceplacements"
ONE, TWO = "worker-1", "worker-2"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFleet]:
    made = LocalFleet(tmp_path_factory.mktemp("fleet") / "dir")
    made.up("--workers", "2", "--simulate", "--gpus", "2")
    yield made
    made.down()


@pytest.fixture
def members(fleet: LocalFleet) -> Members:
    return Members(fleet)


def member(hub: Member, name: str) -> Object | None:
    status, found = hub.send("GET", f"{CLUSTERS}/{name}")
    return found if status == 200 else None


def is_joined(hub: Member, name: str) -> bool:
    found = member(hub, name)
    held = ((found or {}).get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Joined" and each["status"] == "True" for each in held)


def answers(cluster: Member, path: str, code: int) -> bool:
    return bool(cluster.send("GET", path)[0] == code)


def heartbeat(hub: Member, name: str) -> str:
    found = member(hub, name)
    assert found is not None
    return str(found["status"]["agentStatus"][0]["lastReceivedHeartbeat"])


def joined(members: Members, *names: str) -> None:
    for name in names:
        wait_until(f"{name} has joined", partial(is_joined, members.manager, name))


@pytest.mark.rule("MC-1", "IMC-1", "KJ-8")
def test_the_workers_are_members_and_tell_what_they_have(members: Members) -> None:
    joined(members, ONE, TWO)

    found = member(members.manager, ONE)
    assert found is not None
    usage = found["status"]["resourceUsage"]
    assert usage["allocatable"] == {"cpu": "9", "memory": "36Gi", "nvidia.com/gpu": "2"}
    values = {name: each["value"] for name, each in found["status"]["properties"].items()}
    assert values["kubernetes-fleet.io/node-count"] == "1"
    assert values["k8s.io/cluster-entrypoint"] == members.by_name[ONE].server.url
    assert values["fleetqueue.io/pending-workloads"] == "0"
    path = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/fleet-system/clusterprofiles"
    status, profiles = members.manager.send("GET", path)
    assert (status, len(profiles["items"])) == (200, 2)


@pytest.mark.rule("MC-3", "MC-4")
def test_an_agent_may_touch_its_own_namespace_and_nothing_else(members: Members) -> None:
    joined(members, ONE)
    account = f"system:serviceaccount:fleet-system:fleet-member-agent-{ONE}"

    def may(verb: str, group: str, resource: str, namespace: str) -> bool:
        asked = {"verb": verb, "group": group, "resource": resource, "namespace": namespace}
        review = {"spec": {"user": account, "resourceAttributes": asked}}
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        status, answer = members.manager.send("POST", path, review)
        assert status == 201
        return bool(answer["status"]["allowed"])

    placement = "placement.kubernetes-fleet.io"
    assert may("update", placement, "works", f"fleet-member-{ONE}")
    assert not may("get", placement, "works", f"fleet-member-{TWO}")
    assert not may("get", placement, "clusterresourceplacements", "")
    assert not may("get", "", "secrets", f"fleet-member-{ONE}")
    assert not may("get", "", "secrets", "fleet-system")


def test_what_the_hub_places_is_on_the_members(members: Members) -> None:
    joined(members, ONE, TWO)
    hub = members.manager
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}
    assert hub.send("POST", "/api/v1/namespaces", space)[0] == 201
    settings = {"metadata": {"name": "settings"}, "data": {"color": "red"}}
    assert hub.send("POST", "/api/v1/namespaces/web/configmaps", settings)[0] == 201
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "web"}
    placement = {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": "web"},
        "spec": {"resourceSelectors": [selector], "policy": {"placementType": "PickAll"}},
    }
    assert hub.send("POST", PLACEMENTS, placement)[0] == 201

    path = "/api/v1/namespaces/web/configmaps/settings"
    for worker in members.workers:
        wait_until("it is placed", partial(answers, worker, path, 200))
    assert hub.send("DELETE", f"{PLACEMENTS}/web")[0] == 200
    for worker in members.workers:
        wait_until("it is gone", partial(answers, worker, path, 404))


@pytest.mark.rule("MC-10", "MC-12")
def test_a_member_leaves_joins_again_and_is_forgotten(fleet: LocalFleet) -> None:
    hub = Members(fleet).manager
    joined(Members(fleet), ONE, TWO)
    where = ("--dir", str(fleet.path))
    own = ("--kubeconfig", str(fleet.kubeconfig))
    said = fleet.command("leave", TWO, "--fleet", *where, *own)
    secret = "/api/v1/namespaces/fleet-system/secrets/hub-kubeconfig-secret"
    assert Members(fleet).by_name[TWO].send("GET", secret)[0] == 404
    assert f"removed: MemberCluster/{TWO}\n" in said
    assert member(hub, TWO) is None
    assert f'no member "{TWO}"' in fleet.command("leave", TWO, "--fleet", *where, code=1)
    before = heartbeat(hub, ONE)

    # What people took out of the fleet stays outside, and the others go on.
    fleet.down()
    fleet.up()
    hub = Members(fleet).manager
    wait_until("it goes on", lambda: heartbeat(hub, ONE) > before)
    assert member(hub, TWO) is None

    worker = ("--kubeconfig", str(fleet.kubeconfig), "--context", TWO)
    said = fleet.command("join", "--fleet", "--label", "region=east", *worker, *where)
    assert f"joined: MemberCluster/{TWO}\n" in said
    joined(Members(fleet), TWO)
    found = member(hub, TWO)
    assert found is not None
    assert found["metadata"]["labels"]["region"] == "east"

    fleet.down()
    fleet.up("--workers", "1")
    hub = Members(fleet).manager
    joined(Members(fleet), ONE)
    wait_until("it is forgotten", lambda: member(hub, TWO) is None)


def test_bare_clusters_are_no_members(tmp_path_factory: pytest.TempPathFactory) -> None:
    made = LocalFleet(tmp_path_factory.mktemp("bare") / "dir")
    made.up("--workers", "1", "--simulate", "--bare")
    try:
        status, found = Members(made).manager.send("GET", CLUSTERS)
        assert (status, found["items"]) == (200, [])
    finally:
        made.down()
