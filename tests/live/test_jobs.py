"""Jobs of every kind as real processes: ranks meet over the injected addresses and add up."""

import sys
from typing import Any

import pytest

from live.conftest import PROGRAM, Live

Object = dict[str, Any]
RUN = [sys.executable, str(PROGRAM)]


def template(name: str, command: list[str] | None = None, **spec: Any) -> Object:
    container = {"name": name, "image": "python:3", "command": command or RUN}
    return {"spec": {"containers": [container], **spec}}


def job(kind: str, api_version: str, name: str, **spec: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


@pytest.mark.rule("jobs B.1")
def test_an_indexed_job_runs_each_index_once(live: Live) -> None:
    command = ["sh", "-c", "echo index $JOB_COMPLETION_INDEX on $(hostname)"]
    spec = {"completions": 3, "parallelism": 2, "completionMode": "Indexed"}
    live.create(
        job("Job", "batch/v1", "a", **spec, template=template("c", command, restartPolicy="Never"))
    )
    live.until("the Job completes", lambda: live.condition("Job", "a", "Complete"))
    assert live.get("Job", "a")["status"]["completedIndexes"] == "0-2"
    said = sorted(live.logs(pod["metadata"]["name"]) for pod in live.all("Pod"))
    assert said == [f"index {n} on a-{n}\n" for n in range(3)]


@pytest.mark.rule("jobs B.4")
@pytest.mark.parametrize(
    ("kind", "container", "field", "replicas"),
    [
        ("PyTorchJob", "pytorch", "pytorchReplicaSpecs", {"Master": 1, "Worker": 3}),
        ("TFJob", "tensorflow", "tfReplicaSpecs", {"Chief": 1, "Worker": 2}),
        ("JAXJob", "jax", "jaxReplicaSpecs", {"Worker": 3}),
        ("XGBoostJob", "xgboost", "xgbReplicaSpecs", {"Master": 1, "Worker": 1}),
    ],
)
def test_the_ranks_of_a_training_job_meet(
    live: Live, kind: str, container: str, field: str, replicas: dict[str, int]
) -> None:
    specs = {role: {"replicas": n, "template": template(container)} for role, n in replicas.items()}
    live.create(job(kind, "kubeflow.org/v1", "t", **{field: specs}))
    live.until(f"the {kind} succeeds", lambda: live.condition(kind, "t", "Succeeded"))
    world = sum(replicas.values())
    total = world * (world - 1) // 2
    first = next(iter(replicas)).lower()
    assert live.logs(f"t-{first}-0") == f"rank 0 of {world}: sum {total}\n"


@pytest.mark.rule("jobs B.6")
def test_the_nodes_of_a_train_job_meet(live: Live) -> None:
    trainer = {"numNodes": 2, "image": "python:3", "command": RUN}
    live.create(
        job(
            "TrainJob", "trainer.kubeflow.org/v1alpha1", "t",
            runtimeRef={"name": "torch-distributed"}, trainer=trainer,
        )
    )  # fmt: skip
    live.until("the TrainJob completes", lambda: live.condition("TrainJob", "t", "Complete"))
    said = sorted(live.logs(pod["metadata"]["name"]) for pod in live.all("Pod"))
    assert said == ["rank 0 of 2: sum 1\n", "rank 1 of 2: sum 1\n"]


@pytest.mark.rule("jobs B.3")
def test_the_jobs_of_a_job_set_find_each_other_and_the_first_decides(live: Live) -> None:
    env = [{"name": "WORLD", "value": "2"}, {"name": "ROOT", "value": "s-workers-0-0.s"}]
    workers = template("c", restartPolicy="Never")
    workers["spec"]["containers"][0]["env"] = env
    helper = template("c", ["sleep", "600"], restartPolicy="Never")
    both = {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": workers}
    live.create(
        job(
            "JobSet", "jobset.x-k8s.io/v1alpha2", "s",
            successPolicy={"operator": "All", "targetReplicatedJobs": ["workers"]},
            replicatedJobs=[
                {"name": "workers", "template": {"spec": both}},
                {"name": "helper", "template": {"spec": {"template": helper}}},
            ],
        )
    )  # fmt: skip
    live.until("the JobSet completes", lambda: live.condition("JobSet", "s", "Completed"))
    live.until(
        "the helper is gone",
        lambda: not any("helper" in pod["metadata"]["name"] for pod in live.all("Pod")),
    )


@pytest.mark.rule("jobs B.4")
def test_a_rank_that_fails_is_started_again(live: Live, tmp_path_factory: Any) -> None:
    marks = str(tmp_path_factory.mktemp("marks"))
    spec = template("pytorch", [*RUN, "fail-once-at-1"])
    spec["spec"]["containers"][0]["env"] = [{"name": "MARKS", "value": marks}]
    roles = {
        "Master": {"replicas": 1, "restartPolicy": "OnFailure", "template": spec},
        "Worker": {"replicas": 1, "restartPolicy": "OnFailure", "template": spec},
    }
    live.create(job("PyTorchJob", "kubeflow.org/v1", "t", pytorchReplicaSpecs=roles))
    live.until("the job succeeds", lambda: live.condition("PyTorchJob", "t", "Succeeded"))
    (status,) = live.get("Pod", "t-worker-0")["status"]["containerStatuses"]
    assert status["restartCount"] == 1


def test_suspending_ends_the_processes_and_resuming_starts_them(live: Live) -> None:
    command = ["sh", "-c", "exec sleep 4711"]
    spec = {"replicas": 1, "template": template("pytorch", command)}
    live.create(
        job(
            "PyTorchJob",
            "kubeflow.org/v1",
            "t",
            pytorchReplicaSpecs={"Master": spec, "Worker": spec},
        )
    )
    live.until("two processes", lambda: len(live.processes("sleep 4711")) == 2)
    live.patch("PyTorchJob", "t", {"spec": {"runPolicy": {"suspend": True}}})
    live.until("the job is suspended", lambda: live.condition("PyTorchJob", "t", "Suspended"))
    live.until("no process is left", lambda: not live.processes("sleep 4711"))
    live.patch("PyTorchJob", "t", {"spec": {"runPolicy": {"suspend": False}}})
    live.until("two processes again", lambda: len(live.processes("sleep 4711")) == 2)
    live.delete("PyTorchJob", "t")
    live.until("no process is left", lambda: not live.processes("sleep 4711"))
    live.until("no pod is left", lambda: not live.all("Pod"))


@pytest.mark.rule("jobs C.7")
def test_a_ray_job_runs_its_entrypoint_without_ray(live: Live) -> None:
    def group(name: str) -> Object:
        container = {"name": name, "image": "rayproject/ray:2.46.0"}
        return {"rayStartParams": {}, "template": {"spec": {"containers": [container]}}}

    workers = {"groupName": "w", "replicas": 1, "minReplicas": 1, "maxReplicas": 1}
    cluster = {
        "headGroupSpec": group("ray-head"),
        "workerGroupSpecs": [{**workers, **group("ray-worker")}],
    }
    live.create(
        job(
            "RayJob", "ray.io/v1", "r",
            entrypoint="python3 -c 'print(6 * 7)'", shutdownAfterJobFinishes=True,
            rayClusterSpec=cluster,
        )
    )  # fmt: skip
    live.until(
        "the RayJob completes",
        lambda: live.get("RayJob", "r").get("status", {}).get("jobDeploymentStatus") == "Complete",
    )
    assert live.get("RayJob", "r")["status"]["jobStatus"] == "SUCCEEDED"
    (submitter,) = [p["metadata"]["name"] for p in live.all("Pod") if "job-name" in labels(p)]
    assert live.logs(submitter) == "42\n"


@pytest.mark.rule("jobs B.9")
def test_an_app_wrapper_runs_what_it_wraps(live: Live) -> None:
    inner = job(
        "Job", "batch/v1", "wrapped",
        template=template("c", ["echo", "wrapped"], restartPolicy="Never"),
    )  # fmt: skip
    wrapper = job(
        "AppWrapper", "workload.codeflare.dev/v1beta2", "a", components=[{"template": inner}]
    )
    live.create(wrapper)
    live.until(
        "it succeeds",
        lambda: live.get("AppWrapper", "a").get("status", {}).get("phase") == "Succeeded",
    )


@pytest.mark.rule("jobs B.8")
def test_the_pods_of_a_leader_worker_set_know_their_leader(live: Live) -> None:
    command = ["sh", "-c", "echo $LWS_WORKER_INDEX of $LWS_LEADER_ADDRESS; exec sleep 600"]
    spec = {"size": 2, "workerTemplate": template("c", command)}
    live.create(
        job(
            "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "l",
            replicas=1, leaderWorkerTemplate=spec,
        )
    )  # fmt: skip
    live.until("it is available", lambda: live.condition("LeaderWorkerSet", "l", "Available"))
    assert live.logs("l-0-1") == f"1 of l-0.l.{live.namespace}\n"
    live.delete("LeaderWorkerSet", "l")
    live.until("no pod is left", lambda: not live.all("Pod"))


def labels(pod: Object) -> Object:
    found: Object = pod["metadata"].get("labels") or {}
    return found
