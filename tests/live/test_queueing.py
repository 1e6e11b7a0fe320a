"""Jobs that wait for quota, are preempted, reclaimed, shrunk and requeued, as real processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from live import objects, queues
from live.conftest import Live
from live.objects import WAIT
from live.queues import Gate, is_true, offer, queued, running, succeeded, told, workload_of

SUCCEED = ("true",)


def pytorch_job(command: objects.Command, name: str, queue: str) -> objects.Object:
    """Three pods."""
    return queued(objects.training_job("PyTorchJob", command), name, queue)


def parallel_job(
    command: objects.Command, name: str, queue: str, pods: int = 1, **more: str
) -> objects.Object:
    return queued(
        objects.job(command, parallelism=pods, completions=pods), name, queue, **more
    )  # fmt: skip


@pytest.mark.rule("kueue 5.9", "jobs A.11")
def test_of_two_training_jobs_the_second_waits_for_the_first(live: Live, tmp_path: Path) -> None:
    queue = offer(live, "one", "300m")
    with Gate(tmp_path / "gate") as gate:
        live.create(pytorch_job(gate.command, "first", queue))
        live.until("the first runs", lambda: running(live, "first-") == 3)
        live.create(pytorch_job(SUCCEED, "second", queue))
        waits = live.until("the second waits", lambda: told(live, "second", "QuotaReserved"))
        assert waits[:2] == ("False", "WaitingForQuota")
        assert "insufficient unused quota for cpu in flavor default-flavor" in waits[2]
        assert live.get("PyTorchJob", "second")["spec"]["runPolicy"]["suspend"] is True
        assert [pod for pod in live.pods() if pod.startswith("second")] == []
    succeeded(live, "first", "second")
    assert live.condition("PyTorchJob", "second", "Succeeded")


@pytest.mark.rule("kueue 7.1", "kueue 7.4", "kueue 3.4")
def test_a_job_of_higher_priority_takes_the_place_of_a_lower_one(
    live: Live, tmp_path: Path
) -> None:
    queue = offer(live, "one", "200m", preemption={"withinClusterQueue": "LowerPriority"})
    high = f"{live.namespace}-high"
    path = live.path("WorkloadPriorityClass")
    body = {"apiVersion": queues.API, "kind": "WorkloadPriorityClass", "value": 1000}
    assert live.send("POST", path, {**body, "metadata": {"name": high}})[0] == 201
    with Gate(tmp_path / "gate") as gate:
        live.create(parallel_job(gate.command, "low", queue, 2))
        live.until("the low one runs", lambda: running(live, "low-") == 2)
        first = live.uids()
        live.create(parallel_job(gate.command, "high", queue, 2, priority=high))
        live.until("the high one runs", lambda: running(live, "high-") == 2)
        assert not live.processes(first)
        evicted = told(live, "low", "Evicted")
        assert evicted is not None
        assert evicted[:2] == ("True", "Preempted")
        assert live.get("Job", "low")["spec"]["suspend"] is True
    succeeded(live, "high", "low")


@pytest.mark.rule("kueue 7.1", "kueue 6.3")
def test_a_queue_takes_back_what_its_cohort_borrowed(live: Live, tmp_path: Path) -> None:
    cohort = f"{live.namespace}-both"
    ours = offer(live, "ours", "200m", cohortName=cohort, preemption={"reclaimWithinCohort": "Any"})
    theirs = offer(live, "theirs", "100m", cohortName=cohort)
    with Gate(tmp_path / "guest") as gate:
        live.create(parallel_job(gate.command, "guest", theirs, 3))
        live.until("the guest borrows", lambda: running(live, "guest-") == 3)
        with Gate(tmp_path / "owner") as own:
            live.create(parallel_job(own.command, "owner", ours, 2))
            live.until("the owner runs", lambda: running(live, "owner-") == 2)
            preempted = told(live, "guest", "Preempted")
            assert preempted is not None
            assert preempted[:2] == ("True", "InCohortReclamation")
            assert running(live, "guest-") == 0
        live.until("the guest runs again", lambda: running(live, "guest-") == 3)
    succeeded(live, "owner", "guest")


@pytest.mark.rule("kueue 5.6")
def test_a_job_starts_with_fewer_pods_where_it_may(live: Live, tmp_path: Path) -> None:
    queue = offer(live, "one", "200m")
    with Gate(tmp_path / "gate") as gate:
        made = parallel_job(gate.command, "shrinks", queue, 4)
        made["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "1"}
        live.create(made)
        live.until("two pods run", lambda: running(live, "shrinks-") == 2)
        found = workload_of(live, "shrinks")
        assert found is not None
        (assigned,) = found["status"]["admission"]["podSetAssignments"]
        assert (assigned["count"], assigned["resourceUsage"]) == (2, {"cpu": "200m"})
        assert live.get("Job", "shrinks")["spec"]["parallelism"] == 2
    succeeded(live, "shrinks")
    assert live.get("Job", "shrinks")["status"]["succeeded"] == 4


CONFIG = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job]}
waitForPodsReady:
  timeout: 2s
  requeuingStrategy: {backoffBaseSeconds: 1, backoffLimitCount: 1}
"""


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A cluster that gives the pods of a job two seconds to be ready, twice."""
    directory = tmp_path_factory.mktemp("impatient")
    config = directory / "kueue.yaml"
    config.write_text(CONFIG)
    cluster = Live(directory / "data", "--config", str(config))
    cluster.use("impatient")
    yield cluster
    cluster.stop()


@pytest.mark.rule("kueue 3.7", "kueue 3.5")
def test_a_job_whose_pods_are_not_ready_in_time_is_requeued_and_then_given_up(
    impatient: Live,
) -> None:
    live = impatient
    made = parallel_job(WAIT, "never", offer(live, "one", "100m"))
    (container,) = made["spec"]["template"]["spec"]["containers"]
    container["readinessProbe"] = {"exec": {"command": ["false"]}, "periodSeconds": 1}
    live.create(made)
    live.until("it is evicted", lambda: evictions(live, "PodsReadyTimeout") == 1)
    live.until("it is requeued", lambda: is_true(live, "never", "Admitted"))
    live.until("it is given up", lambda: not (workload_of(live, "never") or {})["spec"]["active"])
    why = "DeactivatedDueToRequeuingLimitExceeded"
    live.until("it says why", lambda: (told(live, "never", "Evicted") or ("", "", ""))[1] == why)
    live.until("no pod is left", lambda: not live.pods())
    assert live.get("Job", "never")["spec"]["suspend"] is True


def evictions(live: Live, reason: str) -> int:
    found = (workload_of(live, "never") or {}).get("status") or {}
    told = (found.get("schedulingStats") or {}).get("evictions") or ()
    return sum(each["count"] for each in told if each["reason"] == reason)
