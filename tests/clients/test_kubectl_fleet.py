"""What people read about jobs in many clusters, typed with kubectl as it is printed there, on a
fleet of `fleetqueue up` with pods as processes.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.local_fleet import LocalFleet
from support.reference import binaries
from support.user_documents import (
    PYTORCH_JOB,
    TF_JOB_AS_PRINTED,
    TF_JOB_IN_SHORT,
    TF_JOB_PUT_RIGHT,
    TRAIN_JOB,
    TRAINING_RUNTIME,
)

Object = dict[str, Any]
SECONDS_MAX = 90.0
NAMES = ["manager", "worker-1", "worker-2"]

JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: any
  labels: {kueue.x-k8s.io/queue-name: user-queue}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: python:3
        command: [sh, -c, 'until test -e "$0"; do sleep 0.05; done', %s]
        resources: {requests: {cpu: 100m}}
"""


MANAGED_BY = 'runPolicy: {managedBy: "kueue.x-k8s.io/multikueue"}'


class Kubectl:
    """kubectl with the kubeconfig of a fleet, as a user has set it."""

    def __init__(self, fleet: LocalFleet, home: Path) -> None:
        self.folder = binaries()
        self._env = {
            "HOME": str(home),
            "KUBECONFIG": str(fleet.kubeconfig),
            "PATH": f"{self.folder}:/usr/bin:/bin",
        }

    def run(self, *words: str, given: str = "", at: str = "") -> "subprocess.CompletedProcess[str]":
        context = ("--context", at) if at else ()
        return subprocess.run(
            ["kubectl", *context, *words], input=given, capture_output=True, text=True,
            timeout=SECONDS_MAX, env=self._env, executable=str(self.folder / "kubectl"),
        )  # fmt: skip

    def __call__(self, *words: str, given: str = "", at: str = "") -> str:
        done = self.run(*words, given=given, at=at)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def shell(self, line: str) -> str:
        done = subprocess.run(
            ["sh", "-c", line], capture_output=True, text=True, timeout=SECONDS_MAX, env=self._env
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout

    def read(self, *words: str, at: str = "") -> Object:
        found: Object = json.loads(self("get", *words, "-o", "json", at=at))
        return found

    def wait(self, what: str, *words: str, at: str = "") -> None:
        self("wait", f"--for={what}", *words, "--timeout=80s", at=at)

    def workload_of(self, kind: str, job: str) -> Object:
        uid = self.read(kind, job)["metadata"]["uid"]
        self.wait("create", "workloads", "-l", f"kueue.x-k8s.io/job-uid={uid}")
        (found,) = self.read("workloads", "-l", f"kueue.x-k8s.io/job-uid={uid}")["items"]
        return dict(found)

    def nothing_at(self, worker: str, kind: str, name: str) -> None:
        """Waits until the manager has cleaned up there."""
        self.wait("delete", f"{kind}/{name}", at=worker)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFleet]:
    made = LocalFleet(tmp_path_factory.mktemp("fleet") / "dir")
    made.up("--workers", "2", "--gpus", "2")
    yield made
    made.down()


@pytest.fixture(scope="module")
def kubectl(fleet: LocalFleet, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(fleet, tmp_path_factory.mktemp("home"))


def counts(workload: Object) -> dict[str, int]:
    return {each["name"]: each.get("count", 1) for each in workload["spec"]["podSets"]}


def charged(workload: Object) -> list[dict[str, str]]:
    assigned = workload["status"]["admission"]["podSetAssignments"]
    return [each["resourceUsage"] for each in assigned]


def test_what_up_prints_is_what_works(fleet: LocalFleet, kubectl: Kubectl) -> None:
    assert kubectl("config", "get-contexts", "-o", "name").split() == NAMES
    for name in NAMES:
        assert kubectl("get", "nodes", "-o", "name", at=name) == f"node/{name}\n"
    typed = [line for line in fleet.said.splitlines() if line.startswith("  ")]
    lines = [line.strip() for line in typed if not line.strip().startswith("fleetqueue")]
    printed = {line: kubectl.shell(line) for line in lines}
    assert printed["kubectl get multikueueclusters"].count("True") == 2
    assert any(text == "job.batch/hello created\n" for text in printed.values())
    kubectl.wait("condition=Complete", "job/hello")
    assert kubectl("get", "job", "hello").splitlines()[1].split()[:3] == [
        "hello",
        "Complete",
        "1/1",
    ]


@pytest.mark.rule("S000-1", "S000-6", "S000-9", "S000-12", "S000-13")
def test_the_pytorch_job_of_the_kubeflow_page(kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "mnist.py").write_text("import os; print('rank', os.environ['RANK'])\n")
    typed = PYTORCH_JOB.replace("spec:\n  pytorch", f"spec:\n  {MANAGED_BY}\n  pytorch")
    typed = typed.replace("/opt/pytorch-mnist/", f"{tmp_path}/")
    said = kubectl("apply", "-f", "-", given=typed)
    assert said == "pytorchjob.kubeflow.org/pytorch-simple created\n"
    kubectl.wait("condition=Succeeded", "pytorchjob/pytorch-simple")
    workload = kubectl.workload_of("pytorchjob", "pytorch-simple")
    assert counts(workload) == {"master": 1, "worker": 1}
    assert charged(workload) == [{"cpu": "1", "memory": "200Mi"}] * 2
    assert workload["status"]["clusterName"] in NAMES[1:]
    status = kubectl.read("pytorchjob", "pytorch-simple")["status"]
    assert status["replicaStatuses"]["Master"]["succeeded"] == 1
    assert kubectl("get", "pods", "-o", "name") == ""
    for value in ('"kubeflow.org/training-operator"', "null"):
        patch = f'{{"spec": {{"runPolicy": {{"managedBy": {value}}}}}}}'
        refused = kubectl.run("patch", "pytorchjob/pytorch-simple", "--type=merge", "-p", patch)
        assert refused.returncode == 1
        assert "managedBy" in refused.stderr


@pytest.mark.rule("S001-7")
@pytest.mark.parametrize("printed", [TF_JOB_IN_SHORT, TF_JOB_AS_PRINTED], ids=["short", "whole"])
def test_the_tensorflow_job_as_printed_is_refused_with_a_hint(
    kubectl: Kubectl, printed: str
) -> None:
    for verb in ("apply", "create"):
        refused = kubectl.run(verb, "-f", "-", given=printed)
        assert refused.returncode == 1
        assert 'unknown field "spec.runPolicy.tfReplicaSpecs"' in refused.stderr
        assert 'it belongs at "spec.tfReplicaSpecs"' in refused.stderr
    applied = kubectl.run("apply", "--server-side", "-f", "-", given=printed)
    assert applied.returncode == 1
    assert ".spec.runPolicy.tfReplicaSpecs: field not declared in schema" in applied.stderr
    assert "(it belongs at .spec.tfReplicaSpecs)" in applied.stderr
    lenient = kubectl.run("apply", "--validate=false", "-f", "-", given=printed)
    assert lenient.returncode == 1
    assert "spec.tfReplicaSpecs: Required value" in lenient.stderr
    assert kubectl.run("get", "tfjob", "example-tfjob").returncode == 1
    assert kubectl("get", "workloads", "-o", "name", "--ignore-not-found").count("tfjob") == 0


def test_a_job_that_is_handed_over_and_in_no_queue_is_made_with_a_warning(kubectl: Kubectl) -> None:
    """As the page's is, once its replicas are where they belong."""
    label = "\n labels:\n  kueue.x-k8s.io/queue-name: user-queue"
    assert label in TF_JOB_PUT_RIGHT
    made = kubectl.run("apply", "-f", "-", given=TF_JOB_PUT_RIGHT.replace(label, ""))
    assert made.stdout == "tfjob.kubeflow.org/example-tfjob created\n"
    assert made.stderr.startswith("Warning: spec.runPolicy.managedBy is kueue.x-k8s.io/multikueue")
    assert "no label kueue.x-k8s.io/queue-name names a queue" in made.stderr
    kubectl("delete", "tfjob/example-tfjob")


@pytest.mark.rule("S001-5", "S001-6", "S001-9")
def test_the_tensorflow_job_put_right(kubectl: Kubectl, fleet: LocalFleet, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import os; print(os.environ['TF_CONFIG'])\n")
    kubectl("apply", "-f", "-", given=with_program(TF_JOB_PUT_RIGHT, tmp_path))
    kubectl.wait("condition=Succeeded", "tfjob/example-tfjob")
    workload = kubectl.workload_of("tfjob", "example-tfjob")
    assert counts(workload) == {"chief": 1, "worker": 2}
    assert workload["status"]["clusterName"] in NAMES[1:]
    assert kubectl("get", "pods", "-o", "name") == ""
    kubectl.nothing_at(workload["status"]["clusterName"], "tfjob", "example-tfjob")
    assert '"type":"chief"' in kubectl("logs", "example-tfjob-chief-0")
    told = fleet.command("logs", "example-tfjob", "--kubeconfig", str(fleet.kubeconfig))
    assert "[pod/example-tfjob-chief-0/tensorflow] " in told


def with_program(text: str, folder: Path) -> str:
    """The program lies where its image would have it."""
    return text.replace('"model.py"]', f'"model.py"]\n              workingDir: {folder}')


@pytest.mark.rule("S002-1", "S002-4", "S002-5", "S002-6", "S002-12", "S002-13", "S002-14")
def test_the_train_job_of_the_trainer_page(kubectl: Kubectl) -> None:
    for name in NAMES:
        said = kubectl("apply", "-f", "-", given=TRAINING_RUNTIME, at=name)
        assert said.startswith("clustertrainingruntime.trainer.kubeflow.org/torch-distributed ")
    take_gpus_from(kubectl, "worker-1")
    kubectl("apply", "-f", "-", given=TRAIN_JOB)
    assert kubectl.read("trainjob", "pytorch-multikueue")["spec"]["managedBy"] == (
        "kueue.x-k8s.io/multikueue"
    )
    kubectl.wait("condition=Complete", "trainjob/pytorch-multikueue")
    workload = kubectl.workload_of("trainjob", "pytorch-multikueue")
    assert counts(workload) == {"node": 2}
    assert charged(workload) == [{"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "2"}]
    assert workload["status"]["clusterName"] == "worker-2"
    assert kubectl("get", "pods,jobsets", "-o", "name") == ""
    (jobs,) = kubectl.read("trainjob", "pytorch-multikueue")["status"]["jobsStatus"]
    assert (jobs["name"], jobs["succeeded"]) == ("node", 1)
    kubectl.nothing_at("worker-2", "trainjob", "pytorch-multikueue")
    kubectl.nothing_at("worker-2", "workload", workload["metadata"]["name"])


def take_gpus_from(kubectl: Kubectl, worker: str) -> None:
    queue = kubectl.read("clusterqueue", "fleet-queue", at=worker)
    resources = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    (index,) = [at for at, each in enumerate(resources) if each["name"] == "nvidia.com/gpu"]
    path = f"/spec/resourceGroups/0/flavors/0/resources/{index}/nominalQuota"
    patch = json.dumps([{"op": "replace", "path": path, "value": "0"}])
    kubectl("patch", "clusterqueue/fleet-queue", "--type=json", "-p", patch, at=worker)


@pytest.mark.rule("S003-16", "S003-17", "S003-18", "S003-19", "S003-23", "S003-24")
def test_the_flow_of_a_job_as_the_concept_page_tells_it(kubectl: Kubectl, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    kubectl("apply", "-f", "-", given=JOB % mark)
    name = kubectl.workload_of("job", "any")["metadata"]["name"]
    kubectl.wait("condition=Admitted", f"workload/{name}")
    workload = kubectl.read("workload", name)
    chosen = workload["status"]["clusterName"]
    (other,) = set(NAMES[1:]) - {chosen}
    assert "nominatedClusterNames" not in workload["status"]
    kubectl.wait("create", "job/any", at=chosen)
    mirror = kubectl.read("job", "any", at=chosen)
    assert mirror["metadata"]["labels"]["kueue.x-k8s.io/prebuilt-workload-name"] == name
    assert "managedBy" not in mirror["spec"]
    kubectl.wait("delete", f"workload/{name}", at=other)
    kubectl.wait("jsonpath={.status.active}=1", "job/any")
    for field in ('"clusterName": "elsewhere"', '"nominatedClusterNames": ["worker-1"]'):
        refused = kubectl.run(
            "patch", f"workload/{name}", "--subresource=status", "--type=merge",
            "-p", f'{{"status": {{{field}}}}}',
        )  # fmt: skip
        assert refused.returncode == 1
    mark.touch()
    kubectl.wait("condition=Complete", "job/any")
    assert kubectl.read("job", "any")["status"]["succeeded"] == 1
    kubectl.nothing_at(chosen, "job", "any")
    kubectl.nothing_at(chosen, "workload", name)
    kubectl.wait("condition=Finished", f"workload/{name}")
