"""Jobs of every kind as real processes: ranks meet over the injected addresses and add up."""

from typing import Any

import pytest

from live import objects
from live.conftest import Live
from live.objects import REDUCE, TRAINING, template, thing

Object = dict[str, Any]


def reduced(world: int) -> list[str]:
    """What the ranks of a world of that size say, each once."""
    total = world * (world - 1) // 2
    return [f"rank {rank} of {world}: sum {total}\n" for rank in range(world)]


@pytest.mark.rule("jobs B.1")
def test_an_indexed_job_runs_each_index_once(live: Live) -> None:
    command = ["sh", "-c", "echo index $JOB_COMPLETION_INDEX on $(hostname)"]
    live.create(objects.job(command, "a", completions=3, parallelism=2, completionMode="Indexed"))
    live.until("the Job completes", lambda: live.condition("Job", "a", "Complete"))
    assert live.get("Job", "a")["status"]["completedIndexes"] == "0-2"
    said = sorted(live.logs(pod) for pod in live.pods())
    assert said == [f"index {n} on a-{n}\n" for n in range(3)]


@pytest.mark.rule("jobs B.4", "jobs C.6", "jobs C.12")
@pytest.mark.parametrize("kind", TRAINING)
def test_the_ranks_of_a_training_job_meet(live: Live, kind: str) -> None:
    live.create(objects.training_job(kind, REDUCE))
    live.until(f"the {kind} succeeds", lambda: live.condition(kind, "t", "Succeeded"))
    # The job may be over with its first rank, and the others a moment later.
    live.until("all ranks end", lambda: len(live.pods("Succeeded")) == 3)
    assert sorted(live.logs(pod) for pod in live.pods()) == reduced(3)


@pytest.mark.rule("jobs B.6", "jobs C.12")
@pytest.mark.parametrize("runtime", ["torch-distributed", "jax-distributed", "xgboost-distributed"])
def test_the_nodes_of_a_train_job_meet(live: Live, runtime: str) -> None:
    live.create(objects.train_job(REDUCE, nodes=3, runtime=runtime))
    live.until("the TrainJob completes", lambda: live.condition("TrainJob", "t", "Complete"))
    assert sorted(live.logs(pod) for pod in live.pods()) == reduced(3)


@pytest.mark.rule("jobs B.3", "jobs C.6")
def test_the_jobs_of_a_job_set_find_each_other_and_the_first_decides(live: Live) -> None:
    made = objects.job_set(REDUCE)
    helper = {"name": "helper", "template": {"spec": objects.job(objects.WAIT)["spec"]}}
    made["spec"]["replicatedJobs"].append(helper)
    made["spec"]["successPolicy"] = {"operator": "All", "targetReplicatedJobs": ["workers"]}
    live.create(made)
    live.until("the JobSet completes", lambda: live.condition("JobSet", "s", "Completed"))
    live.until("the helper is gone", lambda: not any("helper" in pod for pod in live.pods()))
    assert sorted(live.logs(pod) for pod in live.pods()) == reduced(3)


@pytest.mark.rule("jobs B.7", "jobs C.7")
def test_a_ray_job_runs_its_entrypoint_without_ray(live: Live) -> None:
    live.create(objects.ray_job(["python3", "-c", "print(6 * 7)"]))
    live.until("the RayJob completes", lambda: ray_status(live) == ("Complete", "SUCCEEDED"))
    submitters = [p["metadata"]["name"] for p in live.all("Pod") if "job-name" in labels(p)]
    assert [live.logs(pod) for pod in submitters] == ["42\n"]
    live.until("its cluster is gone", lambda: live.pods() == sorted(submitters))


@pytest.mark.rule("jobs B.7", "jobs C.7")
def test_a_ray_job_whose_entrypoint_fails_has_failed(live: Live) -> None:
    live.create(
        objects.ray_job(["sh", "-c", "echo lost; exit 9"], submitterConfig={"backoffLimit": 0})
    )
    live.until("the RayJob fails", lambda: ray_status(live)[0] == "Failed")
    status = live.get("RayJob", "r")["status"]
    assert (status["jobStatus"], status["reason"]) == ("FAILED", "AppFailed")


@pytest.mark.rule("jobs B.9")
def test_an_app_wrapper_runs_what_it_wraps(live: Live) -> None:
    inner = objects.training_job("PyTorchJob", REDUCE)
    live.create(objects.app_wrapper(inner, objects.job(["echo", "beside"])))
    live.until("it succeeds", lambda: phase(live, "AppWrapper", "a") == "Succeeded")
    assert live.condition("PyTorchJob", "t", "Succeeded")
    said = {pod: live.logs(pod) for pod in live.pods()}
    assert sorted(said.values()) == sorted(["beside\n", *reduced(3)])


@pytest.mark.rule("jobs B.8", "jobs C.6")
def test_the_pods_of_a_leader_worker_set_meet_at_their_leader(live: Live) -> None:
    command = ["sh", "-c", f"{' '.join(REDUCE)}; exec sleep 100000"]
    live.create(objects.leader_worker_set(command))
    live.until("it is available", lambda: live.condition("LeaderWorkerSet", "l", "Available"))
    for rank, pod in enumerate(("l-0", "l-0-1", "l-0-2")):
        live.says(pod, reduced(3)[rank])
    uids = live.uids()
    live.delete("LeaderWorkerSet", "l")
    live.until("no pod is left", lambda: not live.pods())
    assert not live.processes(uids)


@pytest.mark.rule("jobs B.2", "jobs C.6")
def test_the_pods_of_a_stateful_set_meet_by_name(live: Live) -> None:
    labels = {"app": "s"}
    known = {"WORLD": "3", "ROOT": "s-0.s"}
    program = f"JOB_COMPLETION_INDEX=${{HOSTNAME##*-}} {' '.join(REDUCE)}; exec sleep 100000"
    pod = template("c", ["sh", "-c", program], known)
    pod["metadata"] = {"labels": labels}
    service = {"clusterIP": "None", "selector": labels, "publishNotReadyAddresses": True}
    live.create(thing("Service", "v1", "s", **service))
    live.create(
        thing(
            "StatefulSet", "apps/v1", "s",
            replicas=3, serviceName="s", podManagementPolicy="Parallel",
            selector={"matchLabels": labels}, template=pod,
        )
    )  # fmt: skip
    live.until("all run", lambda: live.pods("Running") == ["s-0", "s-1", "s-2"])
    for rank in range(3):
        live.says(f"s-{rank}", reduced(3)[rank])
    live.delete("StatefulSet", "s")


def phase(live: Live, kind: str, name: str) -> str:
    return str((live.get(kind, name).get("status") or {}).get("phase") or "")


def ray_status(live: Live) -> tuple[str, str]:
    status = live.get("RayJob", "r").get("status") or {}
    return str(status.get("jobDeploymentStatus") or ""), str(status.get("jobStatus") or "")


def labels(pod: Object) -> Object:
    found: Object = pod["metadata"].get("labels") or {}
    return found
