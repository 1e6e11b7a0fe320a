"""Ray without Ray: what pods run then, and what is seen of a job."""

import sys
from typing import Any

import pytest
from tests.support import ray
from tests.support.ray import template, worker_group

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import ray_job_submission as submission
from fleetqueue.runtime.operators import ray_pods
from fleetqueue.runtime.ray_submit import environment, read_submission
from fleetqueue.runtime.without_ray import IDLE, job_seen, without_ray

pytestmark = pytest.mark.rule("jobs C.7")

_STATUS: Object = {"jobId": "j-1", "rayClusterName": "j-2", "dashboardURL": "head:8265"}


def test_nodes_idle_and_are_ready() -> None:
    made = ray.ray_cluster_of(worker_group(), enableInTreeAutoscaling=True)
    pods = [ray_pods.make_head(made), ray_pods.make_worker(made, worker_group())]
    for pod in pods:
        spec = without_ray(pod["spec"])
        container = spec["containers"][0]
        assert container["args"][0].endswith(IDLE)
        assert not {"readinessProbe", "livenessProbe"} & container.keys()
        assert "readinessProbe" in pod["spec"]["containers"][0]
        words = [word for each in _all(spec) for word in (*each["command"], *each["args"])]
        assert not any("ray " in word for word in words)


def _all(spec: Object) -> list[Object]:
    return [*(spec.get("initContainers") or []), *spec["containers"]]


def test_the_users_own_command_is_still_run_first() -> None:
    head = {"template": template(command=["prepare", "--fast"])}
    pod = ray_pods.make_head(ray.ray_cluster_of(headGroupSpec=head))
    [container] = without_ray(pod["spec"])["containers"]
    assert container["args"][0].startswith(" prepare  --fast  && ")
    own = {"template": template(command=["sh", "-c", "x; $KUBERAY_GEN_RAY_START_CMD"])}
    made = ray.ray_cluster_of(headGroupSpec=own)
    made["metadata"]["annotations"] = {"ray.io/overwrite-container-cmd": "true"}
    [container] = without_ray(ray_pods.make_head(made)["spec"])["containers"]
    env = {each["name"]: each.get("value") for each in container["env"]}
    assert env["KUBERAY_GEN_RAY_START_CMD"] == IDLE
    assert container["command"] == own["template"]["spec"]["containers"][0]["command"]


def test_pods_that_are_not_rays_stay_as_they_are() -> None:
    spec = {"containers": [{"name": "a", "image": "b", "command": ["c"]}]}
    assert without_ray(spec) is spec


def submitter(mode: str = "K8sJobMode", **spec: Any) -> Object:
    """The container that submits, as it is run without Ray."""
    job = ray.ray_job_of(submissionMode=mode, **spec)
    cluster = submission.make_cluster(job, _STATUS)
    cluster["metadata"]["uid"] = "uid-j-2"
    if mode == "SidecarMode":
        made = ray_pods.make_head(cluster)["spec"]
        return dict(without_ray(made)["containers"][1])
    made = submission.make_submitter(job, _STATUS, cluster, runs_it=True)
    return dict(without_ray(made["spec"]["template"]["spec"])["containers"][0])


@pytest.mark.parametrize("mode", ["K8sJobMode", "SidecarMode"])
@pytest.mark.parametrize(
    "entrypoint",
    [
        "python train.py",
        "python -c 'print(1); print(\"two\")' -- --flag && echo done",
        "for i in 1 2; do echo $i; done",
    ],
)
def test_the_entry_point_comes_through_the_script_unharmed(mode: str, entrypoint: str) -> None:
    container = submitter(mode, entrypoint=entrypoint)
    assert container["command"][:3] == [sys.executable, "-m", "fleetqueue.runtime.ray_submit"]
    assert "args" not in container
    found = read_submission(container["command"][3:])
    assert found is not None
    assert found.entrypoint == entrypoint


def test_the_runtime_environment_comes_with_it() -> None:
    text = 'env_vars: {GREETING: "hello -- world", N: "1"}\nworking_dir: /srv\n'
    options = {"entrypointNumCpus": 0.5, "metadata": {"a": "b"}}
    container = submitter(runtimeEnvYAML=text, entrypoint="run -- it", **options)
    found = read_submission(container["command"][3:])
    assert found is not None
    assert found.entrypoint == "run -- it"
    assert found.env == {"GREETING": "hello -- world", "N": "1"}
    assert found.directory == "/srv"
    env = environment(found, {"RAY_DASHBOARD_ADDRESS": "head.ns:8265", "N": "0"})
    assert env["RAY_ADDRESS"] == "head.ns:6379"
    assert env["N"] == "1"


def test_a_command_of_the_user_is_understood_too() -> None:
    words = ["ray", "job", "submit", "--address=x", "--", "python", "-c", "print(1)"]
    found = read_submission(words)
    assert found is not None
    assert found.entrypoint == "python -c 'print(1)'"
    assert read_submission(["echo", "hello"]) is None


def _pod(phase: str, state: Object | None = None, created: str = "00") -> Object:
    listed = [{"name": "ray-job-submitter", "state": state}] if state else []
    at = f"2026-01-01T00:00:{created}Z"
    return {
        "metadata": {"name": f"p{created}", "creationTimestamp": at},
        "spec": {"containers": [{"name": "ray-job-submitter"}]},
        "status": {"phase": phase, "containerStatuses": listed},
    }


@pytest.mark.parametrize(
    ("pods", "status"),
    [
        ([], "PENDING"),
        ([_pod("Pending")], "PENDING"),
        ([_pod("Running", {"waiting": {"reason": "x"}})], "PENDING"),
        ([_pod("Running")], "RUNNING"),
        ([_pod("Running", {"running": {"startedAt": "2026-01-01T00:00:00Z"}})], "RUNNING"),
        ([_pod("Succeeded", {"terminated": {"exitCode": 0}})], "SUCCEEDED"),
        ([_pod("Failed", {"terminated": {"exitCode": 2}})], "FAILED"),
        ([_pod("Failed")], "FAILED"),
        ([_pod("Failed"), _pod("Running", created="05")], "RUNNING"),
    ],
)
def test_a_job_is_what_its_newest_pod_is(pods: list[Object], status: str) -> None:
    assert job_seen(pods).status == status


def test_the_times_of_a_job_are_those_of_its_container() -> None:
    ended = {
        "exitCode": 0,
        "startedAt": "1970-01-01T00:00:01Z",
        "finishedAt": "1970-01-01T00:00:02Z",
    }
    seen = job_seen([_pod("Succeeded", {"terminated": ended})])
    assert (seen.start_milliseconds, seen.end_milliseconds) == (1000, 2000)
