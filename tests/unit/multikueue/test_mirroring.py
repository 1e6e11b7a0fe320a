"""What is copied from a mirror that has ended, and which mirrors go."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.dispatched import SETTINGS_OF_MANAGER, handed, workload_of

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.base.leisure import AT_ONCE
from fleetqueue.jobs.kinds.batch_job import JOB
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.kube.sources import Listed
from fleetqueue.multikueue.adapters import batch_job, pod
from fleetqueue.multikueue.mirroring import Mirroring

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COMPLETE = {
    "succeeded": 1,
    "conditions": [{"type": "Complete", "status": "True", "reason": "CompletionsReached"}],
}


class Worker:
    """One whose watch of jobs may be behind."""

    def __init__(self, known: Object | None, stored: Object | None) -> None:
        self._known, self._stored = known, stored
        self.reads = 0

    def mirror(self, kind: Resource, key: Key) -> Object | None:
        return self._known

    async def read(self, kind: Resource, key: Key) -> Object | None:
        self.reads += 1
        return self._stored


class Manager:
    """Takes what is written."""

    def __init__(self) -> None:
        self.written: list[Object] = []
        self.clock = SimpleNamespace(now=lambda: NOW)

    async def patch(self, kind: Resource, name: str, patch: Object, *_: Any, **__: Any) -> None:
        self.written.append(patch["status"])


def job() -> Object:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"template": template, "parallelism": 1, "completions": 1}
    return handed(
        JOB, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}
    )


def mirror(status: Object) -> Object:
    labels = {"kueue.x-k8s.io/multikueue-origin": "multikueue"}
    made = job()
    return {**made, "metadata": {**made["metadata"], "labels": labels}, "status": status}


@pytest.mark.rule("FLOW-52")
@pytest.mark.parametrize(
    ("known", "stored", "reads"),
    [
        pytest.param(mirror(COMPLETE), None, 0, id="what is known tells the end"),
        pytest.param(mirror({"active": 1}), mirror(COMPLETE), 1, id="what is known is older"),
        pytest.param(mirror({}), mirror(COMPLETE), 1, id="it is known as it was made"),
        pytest.param(None, mirror(COMPLETE), 1, id="it is not known"),
    ],
)
async def test_the_end_of_a_job_is_copied_whatever_the_watch_has_brought(
    known: Object | None, stored: Object | None, reads: int
) -> None:
    manager, worker = Manager(), Worker(known, stored)
    local = job()
    workload = workload_of(JOB, local)
    mirroring = Mirroring(manager, Listed([]), SETTINGS_OF_MANAGER)  # type: ignore[arg-type]
    copy = {"metadata": {"name": workload["metadata"]["name"]}}
    await mirroring.sync(
        worker, batch_job.adapter(), workload, [local], copy, makes=False, is_final=True,
    )  # type: ignore[arg-type]  # fmt: skip
    assert manager.written == [COMPLETE]
    assert worker.reads == reads


class Site(Worker):
    """One with a copy, and with one mirror that it knows."""

    def __init__(self, copy: Object | None, mirror: Object | None) -> None:
        super().__init__(mirror, mirror)
        self._copy = copy

    def copy(self, key: Key) -> Object | None:
        return self._copy

    def mirrors_of(self, kind: Resource, workload: Key) -> list[Object]:
        return [] if self._known is None else [self._known]


def leaving(obj: Object) -> Object:
    metadata = {**obj["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    return {**obj, "metadata": metadata}


COPY: Object = {"metadata": {"name": "w", "namespace": "default"}}
HELD: Object = {"metadata": {**COPY["metadata"], "finalizers": ["kueue.x-k8s.io/resource-in-use"]}}
OURS = mirror({})


@pytest.mark.rule("FLOW-60")
@pytest.mark.parametrize(
    ("copy", "known", "is_done"),
    [
        pytest.param(COPY, leaving(OURS), False, id="the copy stays"),
        pytest.param(leaving(HELD), None, False, id="the copy is held by a finalizer of ours"),
        pytest.param(leaving(COPY), OURS, False, id="the mirror stays"),
        pytest.param(None, leaving(OURS), True, id="the mirror has to end first"),
        pytest.param(leaving(COPY), leaving(OURS), True, id="both have to end first"),
        pytest.param(None, None, True, id="nothing is there"),
    ],
)
def test_what_is_on_its_way_out_is_not_removed_again_and_again(
    copy: Object | None, known: Object | None, is_done: bool
) -> None:
    mirroring = Mirroring(Manager(), Listed([]), SETTINGS_OF_MANAGER)  # type: ignore[arg-type]
    site: Any = Site(copy, known)
    found = mirroring.leaves(
        Key("default", "w"), batch_job.adapter(), lambda worker, mirror: False, site
    )
    assert found is is_done


@pytest.mark.rule("JOB-2")
@pytest.mark.parametrize(("is_admitted", "count"), [(True, AT_ONCE), (False, AT_ONCE + 3)])
async def test_while_much_happens_a_job_that_is_let_go_is_not_told_that_it_waits(
    is_admitted: bool, count: int
) -> None:
    running, local = mirror({"active": 1}), job()
    running["spec"]["suspend"], local["spec"]["suspend"] = False, True
    manager, worker = Manager(), Worker(running, None)
    workload = status.with_condition(
        workload_of(JOB, local), status.ADMITTED, is_admitted, "Because", "", NOW
    )
    mirroring = Mirroring(manager, Listed([]), SETTINGS_OF_MANAGER)  # type: ignore[arg-type]
    for _ in range(AT_ONCE + 3):
        assert await mirroring.sync(
            worker, batch_job.adapter(), workload, [local], {}, makes=False, is_final=False,
        )  # type: ignore[arg-type]  # fmt: skip

    assert len(manager.written) == count


EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def member(name: str, phase: str = "Running", **metadata: Any) -> Object:
    """One of a group, and its mirror."""
    labels = {"kueue.x-k8s.io/multikueue-origin": "multikueue"}
    named = {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"}
    made = {"metadata": {**named, "labels": labels, **metadata}, "status": {"phase": phase}}
    return {"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": "n"}, **made}


def group(*conditions: str, made_at: str = EARLY) -> Object:
    """`Admitted`, `not Evicted`, and so on."""
    metadata = {"name": "g", "namespace": "default", "creationTimestamp": made_at}
    made: Object = {"metadata": metadata, "spec": {"podSets": [{"name": "role", "count": 2}]}}
    for each in conditions:
        type = each.removeprefix("not ")
        made = status.with_condition(made, type, type == each, "Because", "", NOW)
    return made


@pytest.mark.rule("POD-3", "POD-6")
@pytest.mark.parametrize(
    ("copy", "is_told"),
    [
        pytest.param(group("Admitted"), True, id="somebody deleted it there"),
        pytest.param(group("Admitted", "Evicted"), False, id="it was put out"),
        pytest.param(group("Admitted", "not Evicted"), False, id="it was put out before"),
        pytest.param(group("Admitted", "Finished"), False, id="its Workload tells the end"),
        pytest.param(leaving(group("Admitted")), False, id="its Workload goes"),
        pytest.param(None, False, id="its Workload is gone"),
        pytest.param(group("Admitted", made_at=LATE), False, id="it is of an earlier run"),
    ],
)
async def test_the_end_of_a_mirror_that_is_deleted_is_copied_while_its_workload_runs(
    copy: Object | None, is_told: bool
) -> None:
    manager, mirror = Manager(), leaving(member("a", "Failed", creationTimestamp=EARLY))
    mirroring = Mirroring(manager, Listed([]), SETTINGS_OF_MANAGER)  # type: ignore[arg-type]
    await mirroring.sync(
        Worker(mirror, copy), pod.adapter(), group("Admitted"), [member("a")], group("Admitted"),
        makes=False, is_final=False,
    )  # type: ignore[arg-type]  # fmt: skip
    assert manager.written == ([{"phase": "Failed"}] if is_told else [])


class Group(Manager):
    """A manager that has these pods, of which its cache may know fewer."""

    def __init__(self, *pods: str) -> None:
        super().__init__()
        self._pods = pods
        self.client = self

    async def get(self, kind: Resource, name: str, namespace: str) -> Object:
        if name not in self._pods:
            raise NotFound({})
        return member(name)


class GroupSite:
    """A worker that has mirrors of these."""

    def __init__(self, *mirrors: Object) -> None:
        self._mirrors = {key_of(each): each for each in mirrors}
        self.made: list[str] = []
        self.deleted: list[str] = []

    def mirror(self, kind: Resource, key: Key) -> Object | None:
        return self._mirrors.get(key)

    def mirrors_of(self, kind: Resource, workload: Key) -> list[Object]:
        return list(self._mirrors.values())

    async def create(self, obj: Object) -> None:
        self.made.append(obj["metadata"]["name"])

    async def delete(self, obj: Object, *_: Any) -> None:
        self.deleted.append(obj["metadata"]["name"])


A, B, C = member("a"), member("b"), member("c")


@pytest.mark.rule("POD-5", "IMP-7")
@pytest.mark.parametrize(
    ("here", "known", "mirror", "made", "deleted"),
    [
        pytest.param("bc", [B, C], A, [], ["a"], id="it is gone here"),
        pytest.param("abc", [B, C], A, [], [], id="our cache does not know it"),
        pytest.param("abc", [leaving(A), B, C], A, [], [], id="it is about to go here"),
        pytest.param("bc", [B, C], leaving(A), [], [], id="it goes there already"),
        pytest.param("bc", [B, C], member("a", "Failed"), ["c"], [], id="it failed there"),
        pytest.param("bc", [B, C], member("a", "Succeeded"), [], [], id="it succeeded there"),
    ],
)
async def test_the_mirror_of_a_member_that_is_gone_makes_room_for_another(
    here: str, known: list[Object], mirror: Object, made: list[str], deleted: list[str]
) -> None:
    site = GroupSite(mirror, B)
    mirroring = Mirroring(Group(*here), Listed(known), SETTINGS_OF_MANAGER)  # type: ignore[arg-type]
    is_postponed = await mirroring.sync(
        site, pod.adapter(), group("Admitted"), [B, C], group("Admitted"),
        makes=True, is_final=False,
    )  # type: ignore[arg-type]  # fmt: skip
    assert (site.made, site.deleted) == (made, deleted)
    assert is_postponed is not bool(made)
