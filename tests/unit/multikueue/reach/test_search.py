"""From a job on a manager, by its Workloads and the worker's kubeconfig, to pods on the worker."""

from random import Random
from typing import Any

import pytest

from fleetqueue.errors import UsageError, UserError
from fleetqueue.kube.client import Client
from fleetqueue.kube.transport import Answer, Call, Payload, Stream
from fleetqueue.multikueue import worker_access
from fleetqueue.multikueue.adapters.owners import Owner
from fleetqueue.multikueue.reach.search import (
    Dispatch,
    Search,
    dispatches_of,
    is_kind,
    kind_and_name,
    pods_there,
)

Object = dict[str, Any]
JOB = Owner("batch/v1", "Job", "x")


@pytest.mark.parametrize(
    ("word", "is_meant"),
    [("", True), ("job", True), ("jobs", True), ("Job", True), ("job.batch", True),
     ("job.other", False), ("jobset", False)],
)  # fmt: skip
def test_kinds_are_named_as_for_kubectl(word: str, is_meant: bool) -> None:
    assert is_kind(word, JOB) is is_meant


def workload(cluster: str, *owners: Owner, **annotations: str) -> Object:
    references = [
        {"apiVersion": each.api_version, "kind": each.kind, "name": each.name, "uid": "u"}
        for each in owners
    ]
    metadata = {
        "name": "w",
        "namespace": "ns",
        "ownerReferences": references,
        "annotations": {f"kueue.x-k8s.io/{key.replace('_', '-')}": text
                        for key, text in annotations.items()},
    }  # fmt: skip
    return {"metadata": metadata, "status": {"clusterName": cluster} if cluster else {}}


def test_a_job_is_where_its_workload_is() -> None:
    other = Owner("batch/v1", "Job", "other")
    found = dispatches_of([workload("one", JOB), workload("two", other)], "", "x")
    assert found == [Dispatch("one", (JOB,))]
    assert dispatches_of([workload("", JOB)], "job", "x") == [Dispatch("", (JOB,))]
    assert dispatches_of([workload("one", JOB)], "jobset", "x") == []


def test_a_job_of_several_workloads_is_named_beside_them() -> None:
    pods = [Owner("v1", "Pod", f"x-{number}") for number in range(2)]
    notes = {
        "job_owner_gvk": "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet",
        "job_owner_name": "x",
    }
    loads = [workload("one", each, **notes) for each in pods]
    whole = Owner("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "x")
    assert dispatches_of(loads, "", "x") == [Dispatch("one", (whole,))]
    assert dispatches_of(loads, "pod", "x-1") == [Dispatch("one", (pods[1],))]


def test_a_name_of_two_kinds_is_not_enough() -> None:
    loads = [workload("one", JOB), workload("two", Owner("v1", "Pod", "x"))]
    with pytest.raises(UserError, match="say job/x or pod/x"):
        dispatches_of(loads, "", "x")
    assert dispatches_of(loads, "pod", "x") == [Dispatch("two", (Owner("v1", "Pod", "x"),))]


class Served:
    """A server that has these answers and no others."""

    def __init__(self, answers: dict[str, Object]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    async def request(self, call: Call) -> Answer:
        query = dict(call.query)
        selector = query.get("labelSelector")
        path = f"{call.path}?{selector}" if selector else call.path
        self.asked.append(path)
        found = self._answers.get(path)
        if found is None:
            status = {"kind": "Status", "code": 404, "reason": "NotFound", "message": path}
            return Answer(404, Payload(shared=status))
        return Answer(200, Payload(shared=found))

    async def stream(self, call: Call) -> Stream:
        raise AssertionError

    async def close(self) -> None:
        """Nothing is open."""


def client(answers: dict[str, Object]) -> Client:
    return Client(Served(answers), random=Random(1), namespace="ns")


WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/ns/workloads"
CLUSTERS = "/apis/kueue.x-k8s.io/v1beta2/multikueueclusters"
SECRETS = "/api/v1/namespaces/system/secrets"


def listed(*items: Object) -> Object:
    return {"metadata": {"resourceVersion": "1"}, "items": list(items)}


def search(answers: dict[str, Object]) -> Search:
    return Search(client({"/api/v1/namespaces/ns": {}, **answers}), "ns", "system")


async def test_what_waits_is_told_from_what_is_not_queued() -> None:
    with pytest.raises(UserError, match="job/x waits: no worker has admitted it yet"):
        await search({WORKLOADS: listed(workload("", JOB))}).dispatch("job", "x")
    with pytest.raises(UserError, match="belongs to x: is it queued"):
        await search({WORKLOADS: listed()}).dispatch("", "x")


JOBS = "/apis/batch/v1/namespaces/ns/jobs/x"


@pytest.mark.parametrize("kind", ["Admitted", "Finished"])
async def test_what_this_cluster_runs_itself_does_not_wait(kind: str) -> None:
    local = workload("", JOB)
    local["status"]["conditions"] = [{"type": kind, "status": "True"}]
    with pytest.raises(UserError, match="job/x was sent to no worker: its pods are, or were, on"):
        await search({WORKLOADS: listed(local)}).dispatch("job", "x")


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ({}, 'there is no job/x in namespace "ns"'),
        (
            {JOBS: {"metadata": {}}},
            "job/x is in no queue: it has no label kueue.x-k8s.io/queue-name",
        ),
        (
            {JOBS: {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}}},
            'nothing stands for job/x yet: it has no Workload in namespace "ns"',
        ),
    ],
)
async def test_why_nothing_stands_for_a_job(answers: dict[str, Object], text: str) -> None:
    with pytest.raises(UserError, match=text):
        await search({WORKLOADS: listed(), **answers}).workloads("job", "x")


async def test_a_kind_that_nobody_knows_is_no_job_that_waits() -> None:
    with pytest.raises(UserError, match='"foo" is no kind of job that is known'):
        await search({WORKLOADS: listed()}).workloads("foo", "x")
    known = workload("one", Owner("example.com/v1", "Foo", "x"))
    [found] = await search({WORKLOADS: listed(known)}).workloads("foo", "x")
    assert found["metadata"] == known["metadata"]


@pytest.mark.parametrize(("job", "parts"), [("x", ("", "x")), ("job/x", ("job", "x"))])
def test_a_job_is_a_name_or_a_kind_and_a_name(job: str, parts: tuple[str, str]) -> None:
    assert kind_and_name(job) == parts


@pytest.mark.parametrize("job", ["", "/", "job/", "/x", "a/b/c"])
def test_what_has_another_form_names_no_job(job: str) -> None:
    with pytest.raises(UsageError, match=f'"{job}" names no job'):
        kind_and_name(job)


async def test_a_deployment_is_where_its_pods_are() -> None:
    pod = Owner("v1", "Pod", "d-1")
    deployment = {"spec": {"selector": {"matchLabels": {"app": "d"}}}}
    answers = {
        WORKLOADS: listed(workload("one", pod), workload("", Owner("v1", "Pod", "d-2"))),
        "/apis/apps/v1/namespaces/ns/deployments/d": deployment,
        "/api/v1/namespaces/ns/pods?app=d": listed(
            {"metadata": {"name": "d-1"}}, {"metadata": {"name": "d-2"}}
        ),
    }
    assert await search(answers).dispatch("deployment", "d") == [Dispatch("one", (pod,))]


async def test_a_worker_is_reached_by_the_secret_of_its_cluster() -> None:
    text = worker_access.kubeconfig("https://there:6443", b"", "t")
    cluster = worker_access.cluster("one", "one-secret")
    secret = worker_access.secret("one-secret", text, "system")
    answers = {f"{CLUSTERS}/one": cluster, f"{SECRETS}/one-secret": secret}
    access = await search(answers).access("one")
    assert access.server == "https://there:6443"
    with pytest.raises(UserError, match='"one" cannot be reached: Secret "one-secret" not found'):
        await search({f"{CLUSTERS}/one": cluster}).access("one")


@pytest.mark.parametrize(
    ("source", "where"),
    [
        ({"kubeConfig": {"location": "/nowhere/config", "locationType": "Path"}}, "the file"),
        ({"clusterProfileRef": {"name": "p"}}, "a ClusterProfile"),
    ],
)
async def test_what_only_the_manager_can_read_is_said(source: Object, where: str) -> None:
    answers = {f"{CLUSTERS}/one": {"spec": {"clusterSource": source}}}
    with pytest.raises(UserError, match=f"its kubeconfig is in {where}.*only the manager"):
        await search(answers).access("one")


def mirror(**labels: str) -> Object:
    selector = {"matchLabels": {"controller-uid": "m"}}
    metadata = {"name": "x", "namespace": "ns", "uid": "m", "labels": labels}
    return {"metadata": metadata, "spec": {"selector": selector}}


def pod(name: str, owner: str) -> Object:
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "x", "uid": owner}
    metadata = {"name": name, "namespace": "ns", "uid": name, "ownerReferences": [reference]}
    return {"metadata": metadata, "spec": {}}


async def test_pods_there_are_those_that_the_mirror_owns() -> None:
    answers = {
        "/apis/batch/v1/namespaces/ns/jobs/x": mirror(**{"kueue.x-k8s.io/multikueue-origin": "o"}),
        "/api/v1/namespaces/ns/pods?controller-uid=m": listed(
            pod("x-2", "m"), pod("x-1", "m"), pod("x-3", "another")
        ),
    }
    found = await pods_there(client(answers), "ns", Dispatch("one", (JOB,)))
    assert [each["metadata"]["name"] for each in found] == ["x-1", "x-2"]


async def test_a_job_there_that_no_manager_sent_is_left_alone() -> None:
    answers = {"/apis/batch/v1/namespaces/ns/jobs/x": mirror()}
    assert await pods_there(client(answers), "ns", Dispatch("one", (JOB,))) == []
    assert await pods_there(client({}), "ns", Dispatch("one", (JOB,))) == []


@pytest.mark.parametrize(
    ("word", "api_version", "kind"),
    [
        ("sts", "apps/v1", "StatefulSet"),
        ("deploy", "apps/v1", "Deployment"),
        ("lws", "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
        ("po", "v1", "Pod"),
        ("AW", "workload.codeflare.dev/v1beta2", "AppWrapper"),
    ],
)
def test_kinds_are_named_as_short_as_for_kubectl(word: str, api_version: str, kind: str) -> None:
    assert is_kind(word, Owner(api_version, kind, "x"))
    assert not is_kind(word, JOB)


@pytest.mark.parametrize(
    "kind", ["workload", "workloads", "wl", "kwl", "Workload", "workload.kueue.x-k8s.io"]
)
async def test_a_workload_leads_to_its_job_too(kind: str) -> None:
    made = search({WORKLOADS: listed(workload("one", JOB))})
    assert await made.dispatch(kind, "w") == [Dispatch("one", (JOB,))]
    assert [each["metadata"]["name"] for each in await made.workloads(kind, "w")] == ["w"]
    with pytest.raises(UserError, match=f"there is no {kind}/x in namespace"):
        await search({WORKLOADS: listed()}).dispatch(kind, "x")


async def test_a_group_of_pods_has_the_name_of_its_workload() -> None:
    pods = [Owner("v1", "Pod", f"x-{number}") for number in range(2)]
    made = search({WORKLOADS: listed(workload("one", *pods))})
    assert await made.dispatch("", "w") == [Dispatch("one", tuple(pods))]


async def test_a_job_that_members_run_is_told_as_such() -> None:
    notes = {"fleetqueue.io/placed": "true"}
    path = "/apis/batch/v1/namespaces/ns/jobs/x"
    placed = {"metadata": {"name": "x", "namespace": "ns", "annotations": notes}}
    made = search({WORKLOADS: listed(), path: placed})
    with pytest.raises(UserError, match="job/x is placed: members of the fleet run it"):
        await made.workloads("job", "x")
