"""What train() sends, and how what it sends runs."""

import base64
import hashlib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from kubeflow.trainer import CustomTrainer, CustomTrainerContainer
from kubeflow.trainer.options import (
    ActiveDeadlineSeconds,
    Annotations,
    ContainerPatch,
    JobSetSpecPatch,
    JobSetTemplatePatch,
    JobSpecPatch,
    JobTemplatePatch,
    Labels,
    Name,
    PodSpecPatch,
    PodTemplatePatch,
    ReplicatedJobPatch,
    RuntimePatch,
    TrainerArgs,
    TrainerCommand,
    TrainingRuntimeSpecPatch,
)

from sdk.conftest import Namespace

pytestmark = pytest.mark.rule("jobs E.3")

Object = dict[str, Any]


def keep_a_note() -> None:
    """Fails where another node shares the directory."""
    import os
    from pathlib import Path

    with Path("note").open("x") as note:
        note.write(os.environ["RANK"])
    assert Path(__file__).absolute().parent == Path.cwd()
    print(os.environ["GREETING"], Path("note").read_text())


def say_what_was_installed() -> None:
    import greeting_of_tests

    print(greeting_of_tests.TEXT)


def list_jobs_from_inside() -> None:
    from kubeflow.trainer import TrainerClient

    print([job.name for job in TrainerClient().list_jobs()])


def node_of(namespace: Namespace, name: str) -> Object:
    """The trainer's container in the job's JobSet."""
    job_set = namespace.send(
        "GET", namespace.path("apis/jobset.x-k8s.io/v1alpha2", "jobsets", name)
    )
    (job,) = job_set["spec"]["replicatedJobs"]
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    found: Object = container
    return found


def test_a_job_that_says_nothing_of_its_trainer_runs_as_its_runtime_says(
    namespace: Namespace,
) -> None:
    name = namespace.client.train(runtime="torch-distributed")
    spec = namespace.train_job(name)["spec"]
    assert spec["runtimeRef"] == {
        "apiGroup": "trainer.kubeflow.org",
        "kind": "ClusterTrainingRuntime",
        "name": "torch-distributed",
    }
    assert "trainer" not in spec
    namespace.finish(name)
    assert "env" not in node_of(namespace, name)


def test_nodes_have_directories_of_their_own_and_the_variables_of_the_job(
    namespace: Namespace,
) -> None:
    trainer = CustomTrainer(func=keep_a_note, num_nodes=3, env={"GREETING": "hi"})
    name = namespace.client.train(trainer=trainer)
    namespace.finish(name)
    said = [list(namespace.client.get_job_logs(name, step=f"node-{n}")) for n in range(3)]
    assert said == [["hi 0"], ["hi 1"], ["hi 2"]]


def test_amounts_that_are_numbers_become_quantities(namespace: Namespace) -> None:
    asked = {"CPU": 1, "memory": "64Mi", "gpu": 1, "storage": "1Gi"}
    trainer = CustomTrainer(func=keep_a_note, resources_per_node=asked, env={"GREETING": "hi"})
    name = namespace.client.train(trainer=trainer)
    sent = namespace.train_job(name)["spec"]["trainer"]["resourcesPerNode"]
    amounts = {"cpu": 1, "memory": "64Mi", "nvidia.com/gpu": 1, "ephemeral-storage": "1Gi"}
    assert sent == {"limits": amounts, "requests": amounts}
    assert all(type(amount) is not float for amount in sent["limits"].values())
    namespace.finish(name)
    (pod,) = namespace.all("api/v1", "pods")
    texts = {key: str(amount) for key, amount in amounts.items()}
    (container,) = pod["spec"]["containers"]
    assert container["resources"] == {"limits": texts, "requests": texts}


def test_an_amount_that_is_no_quantity_is_refused(namespace: Namespace) -> None:
    trainer = CustomTrainer(func=keep_a_note, resources_per_node={"memory": "much"})
    with pytest.raises(RuntimeError, match="Failed to create TrainJob") as refused:
        namespace.client.train(trainer=trainer)
    assert "Invalid value" in str(refused.value.__cause__)


def test_a_container_of_the_users_runs_with_the_options_of_its_job(namespace: Namespace) -> None:
    note = ContainerPatch("node", volume_mounts=[{"name": "notes", "mountPath": "/notes"}])
    pod = PodSpecPatch(volumes=[{"name": "notes", "emptyDir": {}}], containers=[note])
    pods = PodTemplatePatch(metadata={"labels": {"team": "a"}}, spec=pod)
    jobs = [ReplicatedJobPatch("node", JobTemplatePatch(spec=JobSpecPatch(template=pods)))]
    patch = JobSetTemplatePatch(
        metadata={"labels": {"of": "job-set"}}, spec=JobSetSpecPatch(replicated_jobs=jobs)
    )
    name = namespace.client.train(
        runtime="plain",
        trainer=CustomTrainerContainer(image="busybox", num_nodes=2),
        options=[
            Name("chosen"),
            Labels({"kind": "trial"}),
            Annotations({"why": "to see"}),
            TrainerCommand(["sh", "-c"]),
            TrainerArgs(["echo $0 > /notes/a && cat /notes/a", "noted"]),
            ActiveDeadlineSeconds(300),
            RuntimePatch(TrainingRuntimeSpecPatch(template=patch)),
        ],
    )
    sent = namespace.train_job(name)
    assert (name, sent["metadata"]["labels"]) == ("chosen", {"kind": "trial"})
    assert sent["metadata"]["annotations"] == {"why": "to see"}
    assert sent["spec"]["activeDeadlineSeconds"] == 300
    managers = [each["manager"] for each in sent["spec"]["runtimePatches"]]
    assert managers[0] == "trainer.kubeflow.org/kubeflow-sdk"
    job = namespace.finish(name)
    assert sorted(step.name for step in job.steps) == ["node-0", "node-1"]
    assert list(namespace.client.get_job_logs(name, step="node-1")) == ["noted"]
    assert {pod["metadata"]["labels"]["team"] for pod in namespace.all("api/v1", "pods")} == {"a"}
    (job_set,) = namespace.all("apis/jobset.x-k8s.io/v1alpha2", "jobsets")
    assert job_set["metadata"]["labels"] == {"of": "job-set"}


def test_packages_are_installed_for_one_container_alone(
    namespace: Namespace, tmp_path: Path
) -> None:
    index = make_index(tmp_path, "greeting_of_tests", "TEXT = 'installed'\n")
    trainer = CustomTrainer(
        func=say_what_was_installed,
        packages_to_install=["greeting_of_tests"],
        pip_index_urls=[index],
    )
    name = namespace.client.train(runtime="plain", trainer=trainer)
    namespace.finish(name)
    first, second = namespace.client.get_job_logs(name)
    assert first.startswith("Successfully installed Python packages")
    assert second == "installed"
    with pytest.raises(ModuleNotFoundError):
        __import__("greeting_of_tests")


@pytest.mark.rule("jobs E.1")
def test_the_client_works_inside_a_pod(namespace: Namespace) -> None:
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": namespace.name}
    access = "rbac.authorization.k8s.io"
    role = {"apiGroup": access, "kind": "ClusterRole", "name": "cluster-admin"}
    body = {"metadata": {"name": namespace.name}, "roleRef": role, "subjects": [subject]}
    namespace.send("POST", f"/apis/{access}/v1/clusterrolebindings", body)
    trainer = CustomTrainer(func=list_jobs_from_inside, image="python:3")
    name = namespace.client.train(runtime="plain", trainer=trainer, options=[Name("inside")])
    namespace.finish(name)
    assert list(namespace.client.get_job_logs(name))[-1] == "['inside']"


def make_index(directory: Path, name: str, source: str) -> str:
    """An index of one package, as pip reads it from a directory."""
    facts = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": source,
        f"{facts}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{facts}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    listed = [f"{path},{digest(text)},{len(text)}" for path, text in files.items()]
    files[f"{facts}/RECORD"] = "\n".join([*listed, f"{facts}/RECORD,,", ""])
    place = directory / "simple" / name.replace("_", "-")
    place.mkdir(parents=True)
    wheel = f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(place / wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    (place / "index.html").write_text(f'<a href="{wheel}">{wheel}</a>')
    return (directory / "simple").as_uri()


def digest(text: str) -> str:
    found = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
    return "sha256=" + found.decode().rstrip("=")
