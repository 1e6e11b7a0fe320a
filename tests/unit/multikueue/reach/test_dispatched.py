"""Only pods of this manager's jobs are found on workers, and shown as theirs."""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from fleetqueue import kueue
from fleetqueue.api.meta import Key
from fleetqueue.api.selectors import parse_labels
from fleetqueue.jobs.kinds import batch_job
from fleetqueue.jobs.kinds import pod as pods
from fleetqueue.kube.client import Client
from fleetqueue.kube.resources import Resource, key_of
from fleetqueue.kube.sources import Listed
from fleetqueue.kube.transport import Answer, Call, Payload, Stream
from fleetqueue.multikueue import kinds
from fleetqueue.multikueue import settings as dispatch_settings
from fleetqueue.multikueue.adapters.registry import adapters
from fleetqueue.multikueue.reach import dispatched
from fleetqueue.multikueue.reach.dispatched import Dispatched

Object = dict[str, Any]
JOBS, PODS = batch_job.JOB.resource, pods.JOB.resource
ORIGIN = "kueue.x-k8s.io/multikueue-origin"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"


def obj(
    kind: Resource,
    name: str,
    uid: str,
    owner: Object | None = None,
    labels: dict[str, str] | None = None,
) -> Object:
    metadata: Object = {"name": name, "namespace": "ns", "uid": uid, "labels": labels or {}}
    if owner is not None:
        reference = {key: owner[key] for key in ("apiVersion", "kind")}
        named = {key: owner["metadata"][key] for key in ("name", "uid")}
        metadata["ownerReferences"] = [{**reference, **named, "controller": True}]
    made = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    return {**made, "spec": {}}


JOB = obj(JOBS, "x", "here")
WORKLOAD = {
    **obj(kinds.WORKLOAD, "job-x", "w", JOB),
    "status": {"clusterName": "one"},
}
MIRROR = obj(JOBS, "x", "there", labels={ORIGIN: "multikueue", PREBUILT: "job-x"})
POD = obj(PODS, "x-1", "p", MIRROR, labels={"controller-uid": "there", "job-name": "x"})
FOREIGN_JOB = obj(JOBS, "y", "foreign")
FOREIGN = obj(PODS, "y-1", "q", FOREIGN_JOB, labels={"job-name": "x"})


class Served:
    """The worker's server: it has pods and jobs, and selects by labels."""

    def __init__(self, *objects: Object) -> None:
        self._objects = objects
        self.asked: list[str] = []
        self.hangs = False

    async def request(self, call: Call) -> Answer:
        self.asked.append(call.path)
        if self.hangs:
            await asyncio.Event().wait()
        kind, *rest = call.path.split("/namespaces/ns/")[1].split("/")
        wanted = parse_labels(dict(call.query).get("labelSelector", ""))
        found = [each for each in self._objects if f"{each['kind'].lower()}s" == kind]
        if not rest:
            kept = [each for each in found if wanted.matches(each["metadata"]["labels"])]
            return Answer(200, Payload(shared={"metadata": {}, "items": kept}))
        named = [each for each in found if each["metadata"]["name"] == rest[0]]
        status = {"kind": "Status", "code": 404, "reason": "NotFound"}
        return (
            Answer(200, Payload(shared=named[0])) if named else Answer(404, Payload(shared=status))
        )

    async def stream(self, call: Call) -> Stream:
        raise AssertionError

    async def close(self) -> None:
        """Nothing is open."""


class FakeWorker:
    """A connection, with the mirrors that its cache has."""

    def __init__(self, name: str, mirrors: Sequence[Object], *others: Object) -> None:
        self.name, self.is_connected = name, True
        self.server = Served(*mirrors, *others)
        self.client = Client(self.server, random=Random(1))
        self._mirrors = {(each["kind"], key_of(each)): each for each in mirrors}

    def mirror(self, kind: Resource, key: Key) -> Object | None:
        return self._mirrors.get((kind.kind, key))

    def mirrors_of(self, kind: Resource, workload: Key) -> list[Object]:
        return [
            each
            for (known, _), each in self._mirrors.items()
            if known == kind.kind and each["metadata"]["labels"].get(PREBUILT) == workload.name
        ]


class FakeWorkers:
    def __init__(self, *workers: FakeWorker) -> None:
        self._workers = {each.name: each for each in workers}

    def get(self, name: str) -> FakeWorker | None:
        return self._workers.get(name)


def made(worker: FakeWorker, *local: Object) -> Dispatched:
    options = kueue.read_options()
    settings = dispatch_settings.read_settings(options.config, options.gates, options.jobs)
    workers: Any = FakeWorkers(worker)
    return Dispatched(Listed(local), workers, adapters(settings), settings)


async def test_a_pod_is_found_by_its_name_and_shown_as_the_local_jobs() -> None:
    found = await made(FakeWorker("one", [MIRROR], POD), JOB, WORKLOAD).find(Key("ns", "x-1"))
    assert found is not None
    assert (found.worker, found.job) == ("one", JOB)
    assert found.pod["metadata"]["labels"]["controller-uid"] == "here"
    assert found.pod["metadata"]["ownerReferences"][0]["uid"] == "here"


@pytest.mark.parametrize("text", ["controller-uid=here", "job-name=x", "job-name in (x,z)"])
async def test_pods_are_selected_as_the_manager_would(text: str) -> None:
    reach = made(FakeWorker("one", [MIRROR], POD, FOREIGN, FOREIGN_JOB), JOB, WORKLOAD)
    found = await reach.select("ns", parse_labels(text))
    assert [each.pod["metadata"]["name"] for each in found] == ["x-1"]


@pytest.mark.parametrize("text", ["controller-uid=there", "job-name=y", "controller-uid=no"])
async def test_what_no_local_job_selects_is_not_selected(text: str) -> None:
    reach = made(FakeWorker("one", [MIRROR], POD, FOREIGN, FOREIGN_JOB), JOB, WORKLOAD)
    assert await reach.select("ns", parse_labels(text)) == []


async def test_a_pod_that_belongs_to_nobody_of_ours_is_not_found() -> None:
    reach = made(FakeWorker("one", [MIRROR], FOREIGN, FOREIGN_JOB), JOB, WORKLOAD)
    assert await reach.find(Key("ns", "y-1")) is None
    assert await reach.find(Key("ns", "nothing")) is None


def without_origin() -> Object:
    return obj(JOBS, "x", "there", labels={PREBUILT: "job-x"})


def controlled() -> Object:
    """Labels may be copied from an owner to what it owns."""
    owner = obj(JOBS, "above", "above")
    return obj(JOBS, "x", "there", owner, labels={ORIGIN: "multikueue", PREBUILT: "job-x"})


@pytest.mark.parametrize(
    ("mirror", "local"),
    [
        (without_origin(), [JOB, WORKLOAD]),
        (controlled(), [JOB, WORKLOAD]),
        (MIRROR, [WORKLOAD]),
        (MIRROR, [obj(JOBS, "x", "another"), WORKLOAD]),
        (MIRROR, [JOB, {**WORKLOAD, "status": {"clusterName": "two"}}]),
        (MIRROR, [JOB, {**WORKLOAD, "status": {}}]),
        (MIRROR, []),
    ],
    ids=[
        "another manager's",
        "somebody's on the worker",
        "of no job",
        "of an older job",
        "sent elsewhere",
        "not sent",
        "of no workload",
    ],
)
async def test_a_mirror_counts_only_for_a_job_of_ours_that_is_there(
    mirror: Object, local: list[Object]
) -> None:
    reach = made(FakeWorker("one", [mirror], POD), *local)
    assert await reach.find(Key("ns", "x-1")) is None
    assert await reach.select("ns", parse_labels("job-name=x")) == []


async def test_a_mirrored_pod_is_its_own() -> None:
    local = obj(PODS, "alone", "here")
    workload = {**WORKLOAD, **obj(kinds.WORKLOAD, "pod-alone", "w", local)}
    mirror = obj(PODS, "alone", "there", labels={ORIGIN: "multikueue", PREBUILT: "pod-alone"})
    worker = FakeWorker("one", [mirror])
    reach = made(worker, local, {**workload, "status": {"clusterName": "one"}})
    found = await reach.find(Key("ns", "alone"))
    assert found is not None
    assert found.job == local
    known: Any = worker
    assert await reach.of_mirror(known, PODS, mirror) == [mirror]


async def test_the_pods_of_a_mirror_are_all_that_it_owns() -> None:
    mirror = {**MIRROR, "spec": {"selector": {"matchLabels": {"job-name": "x"}}}}
    second = obj(PODS, "x-0", "p0", MIRROR, labels={"job-name": "x"})
    worker: Any = FakeWorker("one", [mirror], POD, second, FOREIGN, FOREIGN_JOB)
    found = await made(worker, JOB, WORKLOAD).of_mirror(worker, JOBS, mirror)
    assert [each["metadata"]["name"] for each in found] == ["x-0", "x-1"]


async def test_a_worker_that_hangs_or_is_lost_is_left_out() -> None:
    worker = FakeWorker("one", [MIRROR], POD)
    worker.server.hangs = True
    reach = made(worker, JOB, WORKLOAD)
    began = asyncio.get_running_loop().time()
    assert await reach.find(Key("ns", "x-1")) is None
    assert await reach.select("ns", parse_labels("job-name=x")) == []
    waited = asyncio.get_running_loop().time() - began
    assert waited == pytest.approx(2 * dispatched.WORKER_SECONDS_MAX)
    worker.is_connected = False
    asked = len(worker.server.asked)
    assert await reach.find(Key("ns", "x-1")) is None
    assert len(worker.server.asked) == asked


async def test_workers_that_have_nothing_of_a_namespace_are_not_asked() -> None:
    worker = FakeWorker("one", [MIRROR], POD)
    assert await made(worker, JOB, WORKLOAD).find(Key("other", "x-1")) is None
    assert worker.server.asked == []
