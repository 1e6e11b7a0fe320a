"""Every call of the SDK's client, and what it makes of our answers."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import CustomTrainer, RuntimeKind, TrainerClient

from sdk.conftest import TRAINER, Namespace

pytestmark = [pytest.mark.rule("jobs E.1"), pytest.mark.rule("jobs E.2")]

Object = dict[str, Any]
FRAMEWORK = "trainer.kubeflow.org/framework"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def say_hello() -> None:
    print("hello")


def make_runtime(name: str, *, framework: str = "plain", **container: Any) -> Object:
    pod = {"containers": [{"name": "node", "image": "python:3", **container}]}
    template = {"metadata": {"labels": {STEP: "trainer"}}, "spec": {"template": {"spec": pod}}}
    jobs = [{"name": "node", "template": template}]
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": name, "labels": {FRAMEWORK: framework} if framework else {}},
        "spec": {"mlPolicy": {"numNodes": 3}, "template": {"spec": {"replicatedJobs": jobs}}},
    }


def test_the_client_finds_the_version_of_the_trainer(
    namespace: Namespace, caplog: pytest.LogCaptureFixture
) -> None:
    settings = KubernetesBackendConfig(config_file=str(namespace.server.kubeconfig))
    TrainerClient(backend_config=settings)
    assert caplog.messages == []
    path = "/api/v1/namespaces/kubeflow-system/configmaps/kubeflow-trainer-public"
    assert namespace.send("GET", path)["data"] == {"kubeflow_trainer_version": "v2.3.0"}


def test_the_namespace_is_that_of_the_context(
    namespace: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert namespace.server.kubeconfig is not None
    settings = yaml.safe_load(namespace.server.kubeconfig.read_text())
    settings["contexts"][0]["context"]["namespace"] = namespace.name
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(yaml.safe_dump(settings))
    monkeypatch.setattr(
        "kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(kubeconfig)
    )
    name = TrainerClient().train(runtime="plain", trainer=CustomTrainer(func=say_hello))
    assert namespace.finish(name).status == "Complete"


@pytest.mark.rule("jobs D.9", "jobs E.4")
def test_every_runtime_that_is_there_from_the_start_can_be_used(namespace: Namespace) -> None:
    found = {runtime.name: runtime.trainer for runtime in namespace.client.list_runtimes()}
    shown = {
        name: (trainer.framework, trainer.command[0], trainer.device, trainer.device_count)
        for name, trainer in found.items()
    }
    tuned = ("torchtune", "tune", "gpu", "2.0")
    assert shown == {
        "torch-distributed": ("torch", "bash", "Unknown", "Unknown"),
        "jax-distributed": ("jax", "bash", "Unknown", "Unknown"),
        "xgboost-distributed": ("xgboost", "bash", "Unknown", "Unknown"),
        "plain": ("plain", "bash", "Unknown", "Unknown"),
        "deepspeed-distributed": ("deepspeed", "mpirun", "Unknown", "1"),
        "mlx-distributed": ("mlx", "mpirun", "Unknown", "1"),
        "torchtune-llama3.2-1b": tuned,
        "torchtune-llama3.2-3b": tuned,
        "torchtune-qwen2.5-1.5b": tuned,
    }
    assert "torchrun" in found["torch-distributed"].command[2]
    assert "torchrun" not in found["plain"].command[2]


def test_a_runtime_of_the_namespace_goes_before_one_of_the_cluster(namespace: Namespace) -> None:
    namespace.create(TRAINER, "trainingruntimes", make_runtime("plain"))
    namespace.create(TRAINER, "trainingruntimes", make_runtime("own"))
    listed = {runtime.name: runtime for runtime in namespace.client.list_runtimes()}
    assert listed["own"].kind is RuntimeKind.TRAINING_RUNTIME
    assert listed["jax-distributed"].kind is RuntimeKind.CLUSTER_TRAINING_RUNTIME
    for runtime in (listed["plain"], namespace.client.get_runtime("plain")):
        assert (runtime.kind, runtime.trainer.num_nodes) == (RuntimeKind.TRAINING_RUNTIME, 3)
    name = namespace.client.train(runtime="plain", trainer=CustomTrainer(func=say_hello))
    assert namespace.train_job(name)["spec"]["runtimeRef"]["kind"] == "TrainingRuntime"
    job = namespace.finish(name)
    assert [step.name for step in sorted(job.steps, key=str)] == ["node-0", "node-1", "node-2"]


@pytest.mark.rule("jobs E.4")
def test_a_runtime_without_a_framework_is_left_out(
    namespace: Namespace, caplog: pytest.LogCaptureFixture
) -> None:
    namespace.create(TRAINER, "trainingruntimes", make_runtime("bare", framework=""))
    assert "bare" not in [runtime.name for runtime in namespace.client.list_runtimes()]
    assert caplog.messages == [f"Runtime bare missing {FRAMEWORK} label"]
    with pytest.raises(RuntimeError, match=r"Failed to get .*bare"):
        namespace.client.get_runtime("bare")


def test_jobs_are_listed_by_their_runtime(namespace: Namespace) -> None:
    client = namespace.client
    trainer = CustomTrainer(func=say_hello)
    plain = client.train(runtime="plain", trainer=trainer)
    torch = client.train(trainer=trainer)
    assert re.fullmatch("[a-z][0-9a-f]{11}", plain)
    assert {job.name for job in client.list_jobs()} == {plain, torch}
    (found,) = client.list_jobs(client.get_runtime("plain"))
    assert (found.name, found.runtime.name) == (plain, "plain")


def test_what_is_not_there_raises(namespace: Namespace) -> None:
    for call in (
        namespace.client.get_job,
        namespace.client.delete_job,
        namespace.client.get_job_events,
        lambda name: list(namespace.client.get_job_logs(name)),
    ):
        with pytest.raises(RuntimeError, match=r"TrainJob: .*/nobody"):
            call("nobody")


def test_the_packages_of_a_runtime_are_printed(
    namespace: Namespace, capsys: pytest.CaptureFixture[str]
) -> None:
    namespace.client.get_runtime_packages(namespace.client.get_runtime("torch-distributed"))
    printed = capsys.readouterr().out
    assert printed.startswith("Python: 3.")
    assert re.search(r"^kubeflow +0\.5\.0$", printed, re.MULTILINE)
    assert namespace.client.list_jobs() == []
