"""The SDK on the manager of a fleet: what is trained runs on a worker, and nobody has to know."""

from collections.abc import Iterator

import pytest
import yaml
from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import CustomTrainer, TrainerClient
from kubeflow.trainer.options import Labels

from sdk.conftest import IMAGES, TRAINER, Namespace
from sdk.test_acceptance import say_rank
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


def logs(manager: Namespace, job: str) -> list[str]:
    """As `kubectl logs -l` gets them from the manager, also when the worker has them no more. For
    all others, the SDK among them, a manager has no pods of jobs that were sent away.
    """
    path = manager.path("api/v1", "pods")
    with manager.server.client() as server:
        headers = {"Kubectl-Command": "kubectl logs"}
        query = f"?labelSelector=jobset.sigs.k8s.io/jobset-name={job}"
        found = server.send("GET", path + query, headers=headers).json["items"]
        names = [pod["metadata"]["name"] for pod in found]
        return [server.send("GET", f"{path}/{name}/log").body.decode() for name in sorted(names)]


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
    assert logs(manager, name) == ["rank 0 of 2\n", "rank 1 of 2\n"]
    client.delete_job(name)
    for each in ("manager", "worker-1", "worker-2"):
        cluster = seen(fleet, each)
        cluster.until("nothing is left", lambda c=cluster: not c.all(TRAINER, "trainjobs"))
    assert client.list_jobs() == []
