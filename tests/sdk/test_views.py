"""What the SDK reads of jobs: their steps, devices, states, logs and events."""

from pathlib import Path
from typing import Any

import pytest
from kubeflow.trainer import (
    BuiltinTrainer,
    CustomTrainer,
    HuggingFaceDatasetInitializer,
    HuggingFaceModelInitializer,
    Initializer,
    TorchTuneConfig,
)

from sdk.conftest import TRAINER, Namespace

pytestmark = pytest.mark.rule("jobs E.4")

Object = dict[str, Any]


def say_where(path: str) -> None:
    import os
    import time
    from pathlib import Path

    while not Path(path).exists():
        time.sleep(0.05)
    name = "OMPI_MCA_orte_default_hostfile"
    print(Path(__file__).absolute(), os.environ[name])
    print(Path("/etc/mpi/hostfile").read_text(), end="")


def say_hello() -> None:
    print("hello")


def by_name(job: Any) -> dict[str, Any]:
    return {step.name: step for step in job.steps}


@pytest.mark.parametrize(
    ("resources", "device", "count"),
    [
        (None, "Unknown", "1"),
        ({"cpu": 1}, "cpu", "1"),
        ({"cpu": 2, "memory": "64Mi"}, "cpu", "2"),
        ({"gpu": 1, "cpu": 1}, "gpu", "1"),
    ],
)
def test_a_step_shows_its_device(
    namespace: Namespace, resources: Object | None, device: str, count: str
) -> None:
    trainer = CustomTrainer(func=say_hello, resources_per_node=resources)
    (step,) = namespace.finish(namespace.client.train(trainer=trainer)).steps
    assert (step.name, step.status) == ("node-0", "Succeeded")
    assert (step.device, step.device_count) == (device, count)


def test_the_devices_of_a_job_that_ended_are_free(namespace: Namespace) -> None:
    """The machine has two: each job takes both, and none is deleted."""
    for _ in range(2):
        trainer = CustomTrainer(func=say_hello, resources_per_node={"gpu": 2, "cpu": 1})
        assert namespace.finish(namespace.client.train(trainer=trainer)).status == "Complete"


@pytest.mark.rule("jobs E.3", "jobs E.5")
def test_a_model_is_tuned_in_three_steps(namespace: Namespace) -> None:
    client = namespace.client
    config = TorchTuneConfig(epochs=2, batch_size=4)
    name = client.train(
        runtime="torchtune-llama3.2-1b",
        initializer=Initializer(
            dataset=HuggingFaceDatasetInitializer(storage_uri="hf://team/data"),
            model=HuggingFaceModelInitializer(storage_uri="hf://team/model", access_token="t"),
        ),
        trainer=BuiltinTrainer(config=config),
    )
    sent = namespace.train_job(name)["spec"]["initializer"]
    assert {each["name"] for each in sent["model"]["env"]} == {"IGNORE_PATTERNS", "ACCESS_TOKEN"}
    job = namespace.finish(name)
    assert {step.name: (step.status, step.device) for step in job.steps} == {
        "dataset-initializer": ("Succeeded", "Unknown"),
        "model-initializer": ("Succeeded", "Unknown"),
        "node-0": ("Succeeded", "gpu"),
    }
    (dataset,) = client.get_job_logs(name, step="dataset-initializer")
    (model,) = client.get_job_logs(name, step="model-initializer")
    assert dataset.startswith("dataset of hf://team/data, without")
    assert model == "model of hf://team/model, without *.msgpack,*.h5,*.bin,*.pt,*.pth"
    tuned, *fetched = client.get_job_logs(name)
    assert fetched == [dataset, model]
    for part in ("full_finetune_distributed", "--config llama3_2/1B_full", "epochs=2"):
        assert part in tuned


@pytest.mark.rule("jobs E.3", "jobs E.5")
def test_the_launcher_of_an_mpi_job_is_its_first_node(namespace: Namespace, tmp_path: Path) -> None:
    client, mark = namespace.client, tmp_path / "mark"
    namespace.create(TRAINER, "trainingruntimes", launched_runtime())
    trainer = CustomTrainer(func=say_where, func_args={"path": str(mark)}, num_nodes=3)
    name = client.train(runtime="launched", trainer=trainer)
    job = client.wait_for_job_status(name, {"Running"}, timeout=60, polling_interval=1)
    steps = by_name(job)
    mark.touch()
    assert namespace.finish(name).status == "Complete"
    assert {step: steps[step].pod_name.rpartition("-")[0] for step in steps} == {
        "node-0": f"{name}-launcher-0-0",
        "node-1": f"{name}-node-0-0",
        "node-2": f"{name}-node-0-1",
    }
    assert list(client.get_job_logs(name)) == [
        "/home/mpiuser/test_views.py /etc/mpi/hostfile",
        f"{name}-launcher-0-0.{name} slots=1",
        f"{name}-node-0-0.{name} slots=1",
        f"{name}-node-0-1.{name} slots=1",
    ]


def launched_runtime() -> Object:
    """As the one for DeepSpeed, but its nodes need no sshd."""
    listed: Object = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "launched", "labels": {"trainer.kubeflow.org/framework": "deepspeed"}},
    }
    image = "ghcr.io/kubeflow/trainer/deepspeed-runtime"

    def job(name: str, *, step: str = "", command: list[str] | None = None) -> Object:
        labels = {"trainer.kubeflow.org/trainjob-ancestor-step": step} if step else {}
        container = {"name": "node", "image": image, "command": command or []}
        spec = {"template": {"spec": {"containers": [container]}}}
        return {"name": name, "template": {"metadata": {"labels": labels}, "spec": spec}}

    launcher = {
        **job("launcher", step="trainer"),
        "dependsOn": [{"name": "node", "status": "Ready"}],
    }
    spec = {
        "successPolicy": {"operator": "All", "targetReplicatedJobs": ["launcher"]},
        "replicatedJobs": [job("node", command=["sleep", "600"]), launcher],
    }
    mpi = {"sshAuthMountPath": "/home/mpiuser/.ssh", "runLauncherAsNode": True}
    listed["spec"] = {"mlPolicy": {"numNodes": 1, "mpi": mpi}, "template": {"spec": spec}}
    return listed


@pytest.mark.rule("jobs E.6")
def test_the_events_of_a_job_are_those_of_its_objects(namespace: Namespace) -> None:
    client = namespace.client
    other = client.train(runtime="plain", trainer=CustomTrainer(func=say_hello))
    name = client.train(runtime="plain", trainer=CustomTrainer(func=say_hello))
    namespace.finish(other)
    (step,) = namespace.finish(name).steps
    events = client.get_job_events(name)
    assert events == sorted(events, key=lambda event: event.event_time)
    assert {event.involved_object_name for event in events} == {name, step.pod_name}
    told = {(event.involved_object_kind, event.reason) for event in events}
    of_pod = {reason for kind, reason in told if kind == "Pod"}
    assert of_pod == {"Scheduled", "Pulled", "Created", "Started"}
    assert ("JobSet", "AllJobsCompleted") in told
    assert {kind for kind, _ in told} <= {"Pod", "JobSet", "TrainJob"}
