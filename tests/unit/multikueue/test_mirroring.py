"""What is copied from a mirror when its Workload has finished."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.dispatched import SETTINGS_OF_MANAGER, handed, workload_of

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.base.leisure import AT_ONCE
from fleetqueue.jobs.kinds.batch_job import JOB
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.sources import Listed
from fleetqueue.multikueue.adapters import batch_job
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
