"""The SDK on the manager of a fleet: what is trained runs on a worker, and nobody has to know."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import CustomTrainer, TrainerClient
from kubeflow.trainer.options import Labels

from sdk.conftest import IMAGES, TRAINER, Namespace
from sdk.test_acceptance import fail, patch_of_pods, say_rank, wait_between_lines
from support.local_fleet import LocalFleet

pytestmark = pytest.mark.rule("jobs E.8", "S002-1", "S002-4")

QUEUE = {"kueue.x-k8s.io/queue-name": "user-queue"}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFleet]:
    folder = tmp_path_factory.mktemp("fleet")
    images = folder / "images.yaml"
    images.write_text(yaml.safe_dump(IMAGES))
    made = LocalFleet(folder / "dir")
    made.up("--workers", "2", "--images", str(images))
    yield made
    made.down()


def seen(fleet: LocalFleet, name: str) -> Namespace:
    """One cluster of it through the SDK, as its context in the kubeconfig says."""
    settings = KubernetesBackendConfig(
        namespace="default", config_file=str(fleet.kubeconfig), context=name
    )
    return Namespace(fleet.server(name), "default", TrainerClient(backend_config=settings))


@pytest.mark.rule("S002-5", "S002-6")
def test_a_function_is_trained_on_two_nodes_of_a_worker(fleet: LocalFleet) -> None:
    manager = seen(fleet, "manager")
    client = manager.client
    assert "torch-distributed" in [runtime.name for runtime in client.list_runtimes()]
    trainer = CustomTrainer(func=say_rank, num_nodes=2, resources_per_node={"cpu": 1})
    name = client.train(trainer=trainer, options=[Labels(QUEUE)])
    assert manager.train_job(name)["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
    assert manager.finish(name).status == "Complete"
    assert [job.name for job in client.list_jobs()] == [name]
    (workload,) = manager.all("apis/kueue.x-k8s.io/v1beta2", "workloads")
    assert workload["status"]["clusterName"] in ("worker-1", "worker-2")
    assert manager.all("apis/jobset.x-k8s.io/v1alpha2", "jobsets") == []
    for each in ("worker-1", "worker-2"):
        worker = seen(fleet, each)
        worker.until("it is cleaned up", lambda w=worker: not w.all(TRAINER, "trainjobs"))
    # Nothing is left of it there, and no pod of it was ever here.
    assert steps_of(client, name) == [("node-0", "Succeeded"), ("node-1", "Succeeded")]
    assert {step.device for step in client.get_job(name).steps} == {"cpu"}
    assert list(client.get_job_logs(name)) == ["rank 0 of 2"]
    assert list(client.get_job_logs(name, step="node-1")) == ["rank 1 of 2"]
    assert manager.all("api/v1", "pods") == []
    client.delete_job(name)
    for each in ("manager", "worker-1", "worker-2"):
        cluster = seen(fleet, each)
        cluster.until("nothing is left", lambda c=cluster: not c.all(TRAINER, "trainjobs"))
    assert client.list_jobs() == []


def steps_of(client: TrainerClient, name: str) -> list[tuple[str, str]]:
    return sorted((step.name, step.status) for step in client.get_job(name).steps)


def test_a_job_is_followed_while_it_runs_on_a_worker(fleet: LocalFleet, tmp_path: Path) -> None:
    manager = seen(fleet, "manager")
    client, mark = manager.client, tmp_path / "mark"
    trainer = CustomTrainer(func=wait_between_lines, func_args={"path": str(mark)})
    name = client.train(trainer=trainer, options=[Labels(QUEUE)])
    # The SDK calls no job running that was suspended once; its steps tell.
    running = [("node-0", "Running")]
    manager.until("its node runs", lambda: steps_of(client, name) == running)
    lines = client.get_job_logs(name, follow=True)
    assert next(lines) == "before"
    mark.touch()
    assert list(lines) == ["after"]
    assert client.wait_for_job_status(name, timeout=60, polling_interval=1).status == "Complete"
    assert {event.reason for event in client.get_job_events(name)} >= {"Started"}
    client.delete_job(name)


def test_a_job_that_fails_on_a_worker_is_known_to_have_failed(fleet: LocalFleet) -> None:
    client = seen(fleet, "manager").client
    soon = patch_of_pods("node", {"annotations": {"fleetqueue.io/restart-backoff-base": "10ms"}})
    name = client.train(trainer=CustomTrainer(func=fail), options=[Labels(QUEUE), soon])
    with pytest.raises(RuntimeError, match="is Failed"):
        client.wait_for_job_status(name, timeout=60, polling_interval=1)
    assert client.get_job(name).status == "Failed"
    client.delete_job(name)
