"""What a user of the Kubeflow SDK does from day to day, step by step."""

from pathlib import Path

import pytest
from kubeflow.trainer import CustomTrainer
from kubeflow.trainer.options import (
    JobSetSpecPatch,
    JobSetTemplatePatch,
    JobSpecPatch,
    JobTemplatePatch,
    Labels,
    PodTemplatePatch,
    ReplicatedJobPatch,
    RuntimePatch,
    TrainingRuntimeSpecPatch,
)

from sdk.conftest import TRAINER, Namespace

pytestmark = pytest.mark.rule("jobs E.8")

QUEUE = {"kueue.x-k8s.io/queue-name": "team-a"}


def say_rank() -> None:
    import os

    print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"])


def fail() -> None:
    raise ValueError("broken on purpose")


def wait_between_lines(path: str) -> None:
    import os
    import time

    print("before")
    while not os.path.exists(path):
        time.sleep(0.05)
    print("after")


def test_the_runtimes_are_listed_and_found(namespace: Namespace) -> None:
    names = [runtime.name for runtime in namespace.client.list_runtimes()]
    assert "torch-distributed" in names
    runtime = namespace.client.get_runtime("torch-distributed")
    assert (runtime.trainer.framework, runtime.trainer.num_nodes) == ("torch", 1)
    with pytest.raises(RuntimeError, match="Failed to get Runtime: no-such-runtime"):
        namespace.client.get_runtime("no-such-runtime")


def test_a_function_is_trained_on_two_nodes_and_nothing_is_left_of_it(namespace: Namespace) -> None:
    client = namespace.client
    trainer = CustomTrainer(func=say_rank, num_nodes=2, resources_per_node={"cpu": 1})
    name = client.train(trainer=trainer)
    assert [job.name for job in client.list_jobs()] == [name]
    job = namespace.finish(name)
    assert job.status == "Complete"
    assert {step.name: step.status for step in job.steps} == {
        "node-0": "Succeeded",
        "node-1": "Succeeded",
    }
    assert list(client.get_job_logs(name)) == ["rank 0 of 2"]
    assert list(client.get_job_logs(name, step="node-1")) == ["rank 1 of 2"]
    client.delete_job(name)
    namespace.until("nothing is left", lambda: not left_of(namespace))
    assert client.list_jobs() == []


@pytest.mark.rule("jobs E.4", "jobs A.15")
def test_a_job_in_a_queue_is_created_and_completes_once_it_is_admitted(
    namespace: Namespace,
) -> None:
    client = namespace.client
    name = client.train(trainer=CustomTrainer(func=say_rank, num_nodes=2), options=[Labels(QUEUE)])
    assert namespace.train_job(name)["metadata"]["labels"] == QUEUE
    namespace.until("it is suspended", lambda: conditions_of(namespace, name))
    job = client.get_job(name)
    assert (job.status, job.steps) == ("Created", [])
    assert list(client.get_job_logs(name)) == []
    make_queue(namespace)
    assert namespace.finish(name).status == "Complete"
    assert conditions_of(namespace, name) == {"Suspended": "False", "Complete": "True"}
    assert list(client.get_job_logs(name, step="node-1")) == ["rank 1 of 2"]


@pytest.mark.rule("jobs E.4")
def test_a_job_that_is_suspended_has_no_steps_until_it_is_resumed(namespace: Namespace) -> None:
    client = namespace.client
    draft = client.train(trainer=CustomTrainer(func=say_rank, num_nodes=2))
    sent = namespace.train_job(draft)
    client.delete_job(draft)
    held = {
        **kind_of(sent),
        "metadata": {"name": "held"},
        "spec": {**sent["spec"], "suspend": True},
    }
    namespace.create(TRAINER, "trainjobs", held)
    namespace.until("it is suspended", lambda: conditions_of(namespace, "held"))
    job = client.get_job("held")
    assert (job.status, job.steps) == ("Created", [])
    path, patch = namespace.path(TRAINER, "trainjobs", "held"), {"spec": {"suspend": False}}
    namespace.send("PATCH", path, patch, "application/merge-patch+json")
    assert namespace.finish("held").status == "Complete"
    assert conditions_of(namespace, "held") == {"Suspended": "False", "Complete": "True"}


def test_a_function_that_raises_fails_its_job(namespace: Namespace) -> None:
    """It is tried again as often as the Job's limit says, sooner than the usual ten seconds."""
    client = namespace.client
    soon = {"annotations": {"fleetqueue.io/restart-backoff-base": "10ms"}}
    name = client.train(trainer=CustomTrainer(func=fail), options=[patch_of_pods("node", soon)])
    with pytest.raises(RuntimeError, match=f"TrainJob {name} is Failed"):
        namespace.finish(name)
    assert client.get_job(name).status == "Failed"


def test_logs_are_followed_while_the_job_runs_and_to_its_end(
    namespace: Namespace, tmp_path: Path
) -> None:
    client, mark = namespace.client, tmp_path / "mark"
    trainer = CustomTrainer(func=wait_between_lines, func_args={"path": str(mark)})
    name = client.train(trainer=trainer)
    running = client.wait_for_job_status(name, {"Running"}, timeout=60, polling_interval=1)
    assert [step.status for step in running.steps] == ["Running"]
    lines = client.get_job_logs(name, follow=True)
    assert next(lines) == "before"
    assert client.get_job(name).status == "Running"
    mark.touch()
    assert list(lines) == ["after"]
    assert namespace.finish(name).status == "Complete"


def kind_of(obj: dict[str, object]) -> dict[str, object]:
    return {key: obj[key] for key in ("apiVersion", "kind")}


def conditions_of(namespace: Namespace, name: str) -> dict[str, str]:
    status = namespace.train_job(name).get("status") or {}
    return {each["type"]: each["status"] for each in status.get("conditions") or ()}


def make_queue(namespace: Namespace) -> None:
    """A queue for the namespace, with room for a few small pods."""
    flavor, queue = f"{namespace.name}-flavor", f"{namespace.name}-queue"
    version = "kueue.x-k8s.io/v1beta2"
    quota = {"name": "cpu", "nominalQuota": "4"}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": flavor, "resources": [quota]}]}

    def make(kind: str, name: str, **spec: object) -> dict[str, object]:
        return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}

    clustered = {
        "resourceflavors": make("ResourceFlavor", flavor),
        "clusterqueues": make("ClusterQueue", queue, namespaceSelector={}, resourceGroups=[group]),
    }
    for plural, obj in clustered.items():
        namespace.send("POST", f"/apis/{version}/{plural}", obj)
    local = make("LocalQueue", "team-a", clusterQueue=queue)
    namespace.create(f"apis/{version}", "localqueues", local)


def patch_of_pods(job: str, metadata: dict[str, object]) -> RuntimePatch:
    pods = JobTemplatePatch(spec=JobSpecPatch(template=PodTemplatePatch(metadata=metadata)))
    jobs = JobSetSpecPatch(replicated_jobs=[ReplicatedJobPatch(job, template=pods)])
    return RuntimePatch(TrainingRuntimeSpecPatch(template=JobSetTemplatePatch(spec=jobs)))


def left_of(namespace: Namespace) -> list[str]:
    """What a job made, besides what every namespace has."""
    kinds = {
        "apis/jobset.x-k8s.io/v1alpha2": ["jobsets"],
        "apis/batch/v1": ["jobs"],
        "api/v1": ["pods", "services", "configmaps", "secrets"],
    }
    return [
        f"{plural} {obj['metadata']['name']}"
        for group, plurals in kinds.items()
        for plural in plurals
        for obj in namespace.all(group, plural)
        if obj["metadata"]["name"] != "kube-root-ca.crt"
    ]
