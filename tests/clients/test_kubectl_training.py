"""kubectl with TrainJobs and JobSets, as users type it, from apply to delete."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from clients.namespaces import make_namespace
from support.ours import start_ours
from support.reference import binaries
from support.server import Server

pytestmark = [pytest.mark.rule("jobs D.1"), pytest.mark.rule("jobs D.2")]

SECONDS_MAX = 90.0
SAY_RANK = ["sh", "-c", "echo rank $PET_NODE_RANK of $PET_NNODES"]


class Kubectl:
    """kubectl in one namespace of one server."""

    def __init__(self, server: Server, namespace: str, home: Path) -> None:
        self._base = [
            str(binaries() / "kubectl"), "--kubeconfig", str(server.kubeconfig), "-n", namespace,
        ]  # fmt: skip
        self._home = home

    def __call__(self, *words: str, given: Any = None) -> str:
        done = subprocess.run(
            [*self._base, *words],
            input=None if given is None else yaml.safe_dump(given),
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            env={"HOME": str(self._home), "PATH": "/usr/bin:/bin"},
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def rows(self, *words: str) -> list[list[str]]:
        """What `get` prints, without the ages."""
        lines = [line.split() for line in self("get", *words).splitlines()]
        assert lines[0][-1] == "AGE"
        return [line[:-1] for line in lines]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = start_ours(tmp_path_factory.mktemp("cluster"), flags=())
    yield server
    server.stop()


@pytest.fixture
def kubectl(cluster: Server, tmp_path: Path, request: pytest.FixtureRequest) -> Kubectl:
    namespace = request.node.name.replace("_", "-")[:60].rstrip("-")
    make_namespace(cluster, namespace)
    return Kubectl(cluster, namespace, tmp_path)


def train_job(**spec: Any) -> dict[str, Any]:
    trainer = {"image": "busybox", "numNodes": 2, "command": SAY_RANK}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "t"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer, **spec},
    }


def test_a_train_job_and_its_job_set(kubectl: Kubectl) -> None:
    created = kubectl("apply", "-f", "-", given=train_job())
    assert created == "trainjob.trainer.kubeflow.org/t created\n"
    waited = kubectl("wait", "--for=condition=Complete", "trainjob/t", "--timeout=60s")
    assert waited == "trainjob.trainer.kubeflow.org/t condition met\n"
    assert kubectl.rows("trainjob", "t") == [["NAME", "STATE"], ["t", "Complete"]]
    waited = kubectl("wait", "--for=jsonpath={.status.terminalState}=Completed", "jobset/t")
    assert waited == "jobset.jobset.x-k8s.io/t condition met\n"
    assert kubectl.rows("jobset", "t") == [
        ["NAME", "TERMINALSTATE", "RESTARTS", "COMPLETED", "SUSPENDED"],
        ["t", "Completed", "0", "True", "false"],
    ]


def test_logs_by_job_and_by_label(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=train_job())
    kubectl("wait", "--for=condition=Complete", "trainjob/t", "--timeout=60s")
    by_label = kubectl("logs", "-l", "jobset.sigs.k8s.io/jobset-name=t", "-c", "node")
    assert sorted(by_label.splitlines()) == ["rank 0 of 2", "rank 1 of 2"]
    first = "batch.kubernetes.io/job-completion-index=0"
    assert kubectl("logs", "-l", first, "--follow") == "rank 0 of 2\n"
    assert kubectl("logs", "job/t-node-0", "--all-pods").count("rank") == 2


def test_describe_shows_conditions_and_events(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=train_job())
    kubectl("wait", "--for=condition=Complete", "trainjob/t", "--timeout=60s")
    shown = kubectl("describe", "trainjob", "t")
    for line in ("Type:                  Complete", "jobset completed successfully"):
        assert line in shown
    shown = kubectl("describe", "jobset", "t")
    assert "Terminal State:  Completed" in shown
    assert "AllJobsCompleted" in shown[shown.index("Events:") :]


def test_a_suspended_job_says_so_until_it_is_resumed(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=train_job(suspend=True))
    kubectl("wait", "--for=condition=Suspended", "trainjob/t", "--timeout=30s")
    assert kubectl.rows("trainjobs") == [["NAME", "STATE"], ["t", "Suspended"]]
    kubectl("wait", "--for=condition=Suspended", "jobset/t", "--timeout=30s")
    assert kubectl.rows("jobset")[1] == ["t", "0", "true"]
    kubectl("patch", "trainjob", "t", "--type=merge", "-p", '{"spec": {"suspend": false}}')
    kubectl("wait", "--for=condition=Complete", "trainjob/t", "--timeout=60s")
    assert kubectl.rows("trainjobs") == [["NAME", "STATE"], ["t", "Complete"]]


def test_a_deleted_train_job_takes_all_with_it(kubectl: Kubectl) -> None:
    endless = {"image": "busybox", "command": ["sleep", "600"]}
    kubectl("apply", "-f", "-", given=train_job(trainer=endless))
    kubectl("wait", "--for=create", "pod", "-l", "jobset.sigs.k8s.io/jobset-name=t")
    kubectl("wait", "--for=condition=Ready", "pod", "-l", "jobset.sigs.k8s.io/jobset-name=t")
    kubectl("delete", "trainjob", "t", "--cascade=foreground")
    for kind in ("trainjob", "jobset", "job", "pod", "service"):
        assert kubectl("get", kind, "-o", "name") == ""


@pytest.mark.rule("jobs D.9")
def test_the_runtimes_are_listed(kubectl: Kubectl) -> None:
    rows = kubectl.rows("clustertrainingruntimes")
    assert ["torch-distributed"] in rows
    labelled = kubectl(
        "get", "clustertrainingruntimes", "-o", "name",
        "-l", "trainer.kubeflow.org/framework=torch",
    )  # fmt: skip
    assert labelled == "clustertrainingruntime.trainer.kubeflow.org/torch-distributed\n"
