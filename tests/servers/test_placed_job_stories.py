"""Jobs that a hub leaves to its members, and members that networking agents serve, on real API
servers: beside each kube-apiserver runs Kubernetes' own Job controller.
"""

import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from fleetqueue.api.fleet import labels
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import membership
from fleetqueue.fleet.webhooks.hub_objects import SERVICE_EXPORT
from fleetqueue.kube.resources import CRDS, Resource
from support import placement_fleet
from support.placement_fleet import MERGE, NAMESPACES, PODS, Fleet, Side
from support.placement_stories import (
    PLACEMENT,
    QUICKLY,
    has_joined,
    is_available,
    noted,
    place,
)
from support.ports import free_port

Object = dict[str, Any]
MEMBER = "cluster-1"
HOME = "training"
JOBS = Resource("batch", "v1", "jobs", "Job")
NAMESPACED = kinds.NAMESPACED.placement
JOB = {"group": "batch", "version": "v1", "kind": "Job"}
PROBED = free_port()
FLAGS = (
    "--leave-jobs-to-members",
    "--networking-agents-enabled",
    "--hub-api-qps=200",
    "--max-concurrent-cluster-placement=50",
    "--rate-limiter-max-delay=30s",
    "--leader-elect",
    "--enable-pprof",
)
MEMBER_FLAGS = (
    "--leader-elect",
    "--hub-api-qps=50",
    "--member-api-qps=100",
    f"--health-probe-bind-address=127.0.0.1:{PROBED}",
)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chosen = metafunc.config.getoption("--servers").split(",")
    names = [name for name in ("kube-apiserver",) if name in chosen]
    metafunc.parametrize("fleet", names, indirect=True, scope="module")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    made = placement_fleet.start(
        tmp_path_factory.mktemp("fleet"), [MEMBER], FLAGS, controllers=("job-controller",)
    )
    try:
        made.join(MEMBER, *MEMBER_FLAGS)
        made.until("its agent's object", lambda: report_networking(made.hub))
        made.until("the member joins", lambda: has_joined(made, MEMBER))
        made.hub.create(NAMESPACES, {"metadata": {"name": HOME}})
        place(made, "home", HOME, scope="NamespaceOnly")
        is_available(made, PLACEMENT, "home", "", 1)
        yield made
    finally:
        made.stop()


def job(name: str, namespace: str = HOME) -> Object:
    pods = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}
    metadata = {"name": name, "namespace": namespace}
    return {"metadata": metadata, "spec": {"backoffLimit": 0, "template": {"spec": pods}}}


def pods_of(side: Side, name: str, namespace: str = HOME) -> list[Object]:
    return [
        pod
        for pod in side.all(PODS, namespace)
        if (pod["metadata"].get("labels") or {}).get("job-name") == name
    ]


def shown(side: Side, name: str) -> Object:
    return dict(side.get(JOBS, name, HOME).get("status") or {})


@pytest.mark.rule("KJ-6", "BACK-1")
def test_a_job_of_the_hub_shows_what_its_member_says(fleet: Fleet) -> None:
    hub, member = fleet.hub, fleet.members[MEMBER]
    made = hub.create(JOBS, job("train"))
    assert made["spec"]["managedBy"] == labels.JOB_MANAGER
    back = {"type": "Mirror", "destination": "OriginalResource"}
    spec = {
        "resourceSelectors": [{**JOB, "name": "train"}],
        "policy": {"placementType": "PickN", "numberOfClusters": 1},
        "strategy": {**QUICKLY, "reportBackStrategy": back},
    }
    hub.create(NAMESPACED, {"metadata": {"name": "train", "namespace": HOME}, "spec": spec})
    (pod,) = fleet.until("the member runs it", lambda: pods_of(member, "train"))
    assert "managedBy" not in member.get(JOBS, "train", HOME)["spec"]
    fleet.until("the hub shows it", lambda: shown(hub, "train").get("active") == 1)
    # What the hub's own controller does after that it would have done to the placed job too.
    own = hub.create(JOBS, job("own", "kube-system"))
    assert "managedBy" not in own["spec"]
    hub.patch(JOBS, "train", {"metadata": {"labels": {"touched": "yes"}}}, HOME)
    fleet.until("the hub's controller is at work", lambda: pods_of(hub, "own", "kube-system"))
    assert shown(hub, "train") == shown(member, "train")
    assert pods_of(hub, "train") == []
    member.patch(PODS, pod["metadata"]["name"], {"status": {"phase": "Succeeded"}}, HOME, "status")
    fleet.until("it ends", lambda: shown(member, "train").get("completionTime"))
    fleet.until_equal("the hub says so", lambda: shown(hub, "train"), shown(member, "train"))
    is_available(fleet, NAMESPACED, "train", HOME, 1)


@pytest.mark.rule("kubefleet 9.2", "kubefleet 10.2")
def test_a_member_whose_services_are_used_stays(fleet: Fleet) -> None:
    """The kind comes after the hub, with the networking of the fleet."""
    hub, space = fleet.hub, f"fleet-member-{MEMBER}"
    hub.create(CRDS, definition())
    fleet.until("the kind", lambda: is_established(hub.get(CRDS, str(SERVICE_EXPORT))))
    hub.create(SERVICE_EXPORT, {"metadata": {"name": "web", "namespace": space}})

    def refusal() -> str:
        path = f"{kinds.MEMBER_CLUSTER.path('', MEMBER)}?dryRun=All"
        status, answer = hub.send("DELETE", path)
        return str(answer["message"]) if status == 403 else ""

    fleet.until_equal(
        "the hub knows of it",
        refusal,
        'admission webhook "fleet.membercluster.validating" denied the request: Please delete'
        " serviceExport web in the member cluster before leaving, request is denied",
    )
    hub.delete(SERVICE_EXPORT, "web", space)
    fleet.until_equal("it may go", refusal, "")


@pytest.mark.rule("kubefleet 10.2", "kubefleet 10.3")
def test_agents_do_as_their_flags_say(fleet: Fleet) -> None:
    hub, member = fleet.hub, fleet.members[MEMBER]
    for side, name, space in (
        (hub, "136224848560.hub.fleet.azure.com", "fleet-system"),
        (member, "136224848560.member.fleet.azure.com", "kube-system"),
    ):
        assert side.get(LEASES, name, space)["spec"]["holderIdentity"]
    with urllib.request.urlopen(f"http://127.0.0.1:{PROBED}/readyz") as answer:
        assert answer.read() == b"ok"
    assert hub.log_text().count("Warning: --enable-pprof has no effect: ") == 1


def is_established(found: Object) -> bool:
    conditions = (found.get("status") or {}).get("conditions") or ()
    return ("Established", "True") in {(each["type"], each["status"]) for each in conditions}


def definition() -> Object:
    names = {"kind": SERVICE_EXPORT.kind, "plural": SERVICE_EXPORT.plural}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": SERVICE_EXPORT.version, "served": True, "storage": True, "schema": schema}
    return {
        "metadata": {"name": str(SERVICE_EXPORT)},
        "spec": {"group": SERVICE_EXPORT.group, "names": names, "scope": "Namespaced",
                 "versions": [version]},
    }  # fmt: skip


def report_networking(hub: Side) -> bool:
    """What the two networking agents say beside ours; False where it is too early."""
    kind, space = kinds.INTERNAL_MEMBER_CLUSTER, f"fleet-member-{MEMBER}"
    found = hub.find(kind, MEMBER, space) or {}
    known = (found.get("status") or {}).get("agentStatus") or []
    if not known:
        return False
    generation = found["metadata"]["generation"]
    said = noted("Joined", "True", "AgentJoined", "", generation)
    others = [each for each in membership.ALL_AGENTS if each not in membership.MEMBER_AGENTS]
    known += [{**known[0], "type": each, "conditions": [said]} for each in others]
    path, version = kind.path(space, MEMBER, "status"), found["metadata"]["resourceVersion"]
    body = {"metadata": {"resourceVersion": version}, "status": {"agentStatus": known}}
    return hub.send("PATCH", path, body, {"Content-Type": MERGE})[0] == 200
