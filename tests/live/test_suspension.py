"""Jobs that are suspended and resumed, and jobs that are deleted in the middle."""

from typing import Any

import pytest

from live import objects
from live.conftest import Live
from live.objects import MADE, WAIT

Object = dict[str, Any]
SUSPEND = {
    "Job": ("suspend",),
    "PyTorchJob": ("runPolicy", "suspend"),
    "TFJob": ("runPolicy", "suspend"),
    "JAXJob": ("runPolicy", "suspend"),
    "MPIJob": ("runPolicy", "suspend"),
    "JobSet": ("suspend",),
    "TrainJob": ("suspend",),
    "RayJob": ("suspend",),
    "AppWrapper": ("suspend",),
}
"""Where each kind is told to suspend."""


def tell(live: Live, made: Object, is_suspended: bool) -> None:
    patch: Any = is_suspended
    for part in reversed(("spec", *SUSPEND[made["kind"]])):
        patch = {part: patch}
    live.patch(made["kind"], made["metadata"]["name"], patch)


def runs(live: Live, pods: int) -> set[str]:
    """The uids of the pods, once all of them run."""
    live.until(f"{pods} pods run", lambda: len(live.pods("Running")) == pods)
    uids = live.uids()
    assert len(live.processes(uids)) >= pods
    return uids


@pytest.mark.rule(
    "jobs B.1", "jobs B.3", "jobs B.4", "jobs B.5", "jobs B.6", "jobs B.7", "jobs B.9"
)
@pytest.mark.parametrize("kind", SUSPEND)
def test_suspending_ends_all_processes_and_resuming_starts_them(live: Live, kind: str) -> None:
    make, pods = MADE[kind]
    made = make(WAIT)
    live.create(made)
    first = runs(live, pods)
    tell(live, made, is_suspended=True)
    live.until("no pod is left", lambda: not live.pods())
    assert not live.processes(first)
    tell(live, made, is_suspended=False)
    second = runs(live, pods)
    assert not first & second
    live.delete(kind, made["metadata"]["name"])
    live.until("no pod is left", lambda: not live.pods())
    assert not live.processes(second)


@pytest.mark.rule("jobs B.3", "jobs B.4", "jobs B.5", "jobs B.6", "jobs B.10", "jobs C.5")
@pytest.mark.parametrize("kind", MADE)
def test_a_job_that_is_deleted_in_the_middle_leaves_no_process(live: Live, kind: str) -> None:
    make, pods = MADE[kind]
    made = live.create(make(WAIT))
    uids = runs(live, pods)
    live.delete(kind, made["metadata"]["name"])
    live.until("no pod is left", lambda: not live.pods())
    assert not live.processes(uids)


@pytest.mark.rule("jobs C.13", "jobs C.5")
def test_a_namespace_that_is_deleted_leaves_no_process(live: Live) -> None:
    live.create(objects.mpi_job(WAIT))
    uids = runs(live, 3)
    assert live.send("DELETE", f"/api/v1/namespaces/{live.namespace}")[0] in (200, 202)
    live.until("no process is left", lambda: not live.processes(uids))
