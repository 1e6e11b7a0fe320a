"""What our webhooks and CRDs refuse on kube-apiserver, in states that controllers would change: the
webhooks answer, and nobody works.
"""

from collections.abc import Iterator

import pytest

from fleetqueue.api.crds import all_crds
from support.kueue_doors import Door, guarded_kube_apiserver
from support.kueue_job_refusals import JOBS
from support.kueue_refusals import FLAVORS, QUEUES, Refusal
from support.kueue_workload_refusals import WORKLOADS
from support.server import wait_until

MERGE = "application/merge-patch+json"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    is_chosen = "kube-apiserver" in metafunc.config.getoption("--servers").split(",")
    names = ["kube-apiserver"] if is_chosen else []
    metafunc.parametrize("guarded", names, indirect=True, scope="module")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    door = Door(tmp_path_factory.mktemp("guarded"), guarded_kube_apiserver)
    crds = {each["metadata"]["name"]: each for each in all_crds("kubeflow.org")}
    door.request("POST", CRDS, crds["jaxjobs.kubeflow.org"])
    wait_until("JAXJobs", lambda: door.send("GET", door.path("JAXJob"))[0] == 200)
    yield door
    door.stop()


def answered(door: Door, refusal: Refusal) -> tuple[int, str, str]:
    kind, name = refusal.obj["kind"], refusal.obj["metadata"]["name"]
    place = refusal.served_at(door.path(kind))
    status, answer = door.send("POST", place, refusal.obj)
    if status == 201:
        for change in (*refusal.before, refusal):
            if status < 300 and change.patch is not None:
                at = "/".join(filter(None, (place, name, change.subresource)))
                status, answer = door.send("PATCH", at, change.patch, MERGE)
    return status, str(answer.get("reason") or ""), str(answer.get("message") or "")


def differences(door: Door, refusals: list[Refusal]) -> str:
    lines = []
    for each in refusals:
        found, expected = answered(door, each), (*each.answer, each.message)
        if found != expected:
            lines.append(f"{each.title}: {found}, expected {expected}")
    return "\n".join(lines)


@pytest.mark.rule("kueue 1.0", "kueue 1.1", "kueue 1.3", "kueue 13.7")
def test_queues_and_cohorts(guarded: Door) -> None:
    assert differences(guarded, QUEUES) == ""


@pytest.mark.rule("kueue 1.2", "kueue 1.4", "kueue 1.6", "kueue 13.7")
def test_flavors_and_what_is_around_them(guarded: Door) -> None:
    assert differences(guarded, FLAVORS) == ""


@pytest.mark.rule("kueue 1.5", "kueue 13.7", "kueue A.12")
def test_workloads_in_every_state(guarded: Door) -> None:
    assert differences(guarded, WORKLOADS) == ""


@pytest.mark.rule("kueue 9.6", "jobs A.7", "kueue 2.4")
def test_jobs_that_wait_and_jobs_that_run(guarded: Door) -> None:
    assert differences(guarded, JOBS) == ""
