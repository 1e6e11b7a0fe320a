"""Every example of a job is sent to the manager of a fleet: its processes run on one worker, and
what becomes of them is read on the manager.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from live.fleet_members import EXAMPLES, GATED, SERVING, Member, Members, Object, read
from support.local_fleet import LocalFleet

FILES = sorted(path.stem for path in (EXAMPLES / "jobs").glob("*.yaml"))

pytestmark = pytest.mark.rule("S002-3", "S003-30", "S003-31")


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    fleet = LocalFleet(tmp_path_factory.mktemp("fleet") / "dir")
    fleet.up("--workers", "2")
    yield Members(fleet)
    fleet.down()


@dataclass
class Sent:
    """What was made of the examples, and the names of all pods that the manager ever had."""

    objects: dict[str, list[Object]]
    pods: list[str]

    def job(self, name: str) -> tuple[str, str]:
        """The kind and name; a group of pods is known by what its pods have in common."""
        metadata = self.objects[name][0]["metadata"]
        group = metadata["labels"].get("kueue.x-k8s.io/pod-group-name")
        return self.objects[name][0]["kind"], group or metadata["name"]


@pytest.fixture(scope="module")
def sent(members: Members) -> Iterator[Sent]:
    """All at once, as they would come in."""
    with members.manager.watched("Pod") as pods:
        objects = {
            name: [
                members.manager.create(each) for each in read(EXAMPLES / "jobs" / f"{name}.yaml")
            ]
            for name in FILES
        }
        yield Sent(objects, pods)


@pytest.mark.rule("S002-5", "S003-18", "S003-19", "FLOW-50", "MB-5")
@pytest.mark.parametrize("name", [name for name in FILES if name not in SERVING])
def test_an_example_runs_on_a_worker_and_its_end_is_told_on_the_manager(
    members: Members, sent: Sent, name: str
) -> None:
    kind, job = sent.job(name)
    workload = members.manager.until(f"{job} finishes", lambda: finished(members, job))
    reason = next(
        each["reason"] for each in workload["status"]["conditions"] if each["type"] == "Finished"
    )
    assert reason == "Succeeded"
    assert workload["status"]["clusterName"] in ("worker-1", "worker-2")
    for each in sent.objects[name]:
        assert ended_well(members.manager.get(each["kind"], each["metadata"]["name"]))
    members.nothing_left(job, kind)
    if name not in GATED:
        assert not [pod for pod in sent.pods if pod.startswith(f"{job}-")]


@pytest.mark.rule("RAY-2", "RAY-3", "DEP-2", "STS-3", "LWS-6")
@pytest.mark.parametrize("name", [name for name in FILES if name in SERVING])
def test_an_example_that_serves_is_ready_on_a_worker_until_it_is_deleted_on_the_manager(
    members: Members, sent: Sent, name: str
) -> None:
    kind, job = sent.job(name)
    worker = members.by_name[members.where(job)]
    if name == "deployment":
        members.manager.until("both are ready", lambda: replicas(members.manager, job) == 2)
        running = [pod for each in members.workers for pod in each.of("Pod", job)]
    else:
        worker.until("both pods run", lambda: len(ready_pods(worker, job)) == 2)
        running = ready_pods(worker, job)
    assert len(running) == 2
    if name not in GATED:
        members.manager.until("it says so", lambda: says_ready(members.manager, kind, job))
        assert not [pod for pod in sent.pods if pod.startswith(f"{job}-")]
    if name in ("statefulset", "leaderworkerset"):
        assert all(is_gated(pod) for pod in members.manager.of("Pod", job))
    if name == "rayservice":
        # One that waited for its queue became what the queue let go; none took its place.
        assert len(worker.of("RayCluster", job)) == 1
    members.manager.delete(kind, job)
    members.nothing_left(job, kind)
    members.gone(members.manager, "Pod", job)
    members.gone(members.manager, "Workload", job)
    assert not worker.processes(pod["metadata"]["uid"] for pod in running)


def finished(members: Members, job: str) -> Object | None:
    found = members.workload(job)
    conditions = ((found or {}).get("status") or {}).get("conditions") or ()
    is_over = any(each["type"] == "Finished" and each["status"] == "True" for each in conditions)
    return found if is_over else None


def ended_well(job: Object) -> bool:
    status = job["status"]
    said = {each["type"] for each in status.get("conditions") or () if each["status"] == "True"}
    words = {status.get("phase"), status.get("jobStatus"), *said}
    return bool(words & {"Complete", "Completed", "Succeeded", "SUCCEEDED"})


def says_ready(manager: Member, kind: str, job: str) -> bool:
    status = manager.get(kind, job).get("status") or {}
    conditions = status.get("conditions") or ()
    is_true = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return is_true or status.get("state") == "ready"


def ready_pods(member: Member, job: str) -> list[Object]:
    return [
        pod
        for pod in member.of("Pod", job)
        for each in (pod.get("status") or {}).get("conditions") or ()
        if each["type"] == "Ready" and each["status"] == "True"
    ]


def replicas(manager: Member, name: str) -> int:
    return int((manager.get("Deployment", name).get("status") or {}).get("readyReplicas") or 0)


def is_gated(pod: Object) -> bool:
    gates = [each["name"] for each in pod["spec"].get("schedulingGates") or ()]
    return "kueue.x-k8s.io/admission" in gates and not pod["spec"].get("nodeName")
