"""Every example of a job goes through the queue of `examples/queues.yaml`: it is admitted, its
processes run, and its Workload ends with it.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from fleetqueue.jobs import registry
from live.conftest import Live
from live.queues import is_true, succeeded

Object = dict[str, Any]
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SERVE = {"raycluster", "rayservice", "deployment", "statefulset", "leaderworkerset"}
"""Those that have no end of their own."""
FILES = sorted(path.stem for path in (EXAMPLES / "jobs").glob("*.yaml"))

pytestmark = pytest.mark.rule("jobs A.18", "kueue 9.2")


def read(file: Path) -> list[Object]:
    return [each for each in yaml.safe_load_all(file.read_text()) if each]


@pytest.fixture
def queue(live: Live) -> Live:
    """The queues of the examples, with a door in the test's namespace."""
    for each in read(EXAMPLES / "queues.yaml"):
        each["metadata"].pop("namespace", None)
        name = each["metadata"]["name"]
        if live.send("GET", live.path(each["kind"], name))[0] == 404:
            live.create(each)
    return live


def test_there_is_an_example_of_every_kind() -> None:
    shown = {each["kind"] for name in FILES for each in read(EXAMPLES / "jobs" / f"{name}.yaml")}
    assert {kind.resource.kind for kind in registry.all_kinds()} <= shown


@pytest.mark.parametrize("name", [name for name in FILES if name not in SERVE])
def test_an_example_is_admitted_runs_and_finishes(queue: Live, name: str) -> None:
    made = [queue.create(each) for each in read(EXAMPLES / "jobs" / f"{name}.yaml")]
    job = made[0]["metadata"]["name"]
    succeeded(queue, job)
    (workload,) = queue.all("Workload")
    assert workload["status"]["admission"]["clusterQueue"] == "cluster-queue"
    assert is_true(queue, job, "QuotaReserved")
    assert not [pod for pod in queue.all("Pod") if _has_failed(pod)]


def _has_failed(pod: dict[str, Any]) -> bool:
    """By itself; one that is told to end may say so until it is gone."""
    is_ending = bool(pod["metadata"].get("deletionTimestamp"))
    return pod["status"].get("phase") == "Failed" and not is_ending


@pytest.mark.parametrize("name", [name for name in FILES if name in SERVE])
def test_an_example_that_serves_is_admitted_and_runs_until_it_is_deleted(
    queue: Live, name: str
) -> None:
    (example,) = read(EXAMPLES / "jobs" / f"{name}.yaml")
    queue.create(example)
    queue.until("its two pods run", lambda: len(queue.pods("Running")) == 2)
    workloads = queue.all("Workload")
    assert sum(each["count"] for found in workloads for each in found["spec"]["podSets"]) == 2
    for found in workloads:
        told = {each["type"]: each["status"] for each in found["status"]["conditions"]}
        assert (told["Admitted"], told.get("Finished")) == ("True", None)
    uids = queue.uids()
    queue.delete(example["kind"], example["metadata"]["name"])
    queue.until("no pod is left", lambda: not queue.pods())
    queue.until("no Workload is left", lambda: not queue.all("Workload"))
    assert not queue.processes(uids)
