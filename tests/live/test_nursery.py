"""Clusters that are forked from one process are clusters like any other, and each its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from live.objects import job
from support.server import Server, wait_until

PROGRAM = Path(__file__).with_name("nursery_program.py")
Object = dict[str, Any]
Found = dict[str, tuple[int, str]]


class Started:
    """The process that has them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        arguments = [sys.executable, str(PROGRAM), str(directory)]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)

    def ready(self) -> Found:
        assert self.process.stdout is not None
        found: Found = json.loads(self.process.stdout.readline())
        return found

    def send(self, name: str, url: str, method: str, path: str, body: Object | None = None) -> Any:
        pki = self.directory / name / "pki"
        token = (pki / "admin-token").read_text().strip()
        with Server(name, url, token, str(pki / "ca.crt")).client() as client:
            answer = client.send(method, path, body)
        assert answer.status < 300, answer.body
        return answer.json if "json" in answer.header("content-type") else answer.body.decode()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    made = Started(tmp_path)
    yield made
    made.process.terminate()
    made.process.communicate(timeout=60)


def names(listed: Object) -> list[str]:
    return sorted(obj["metadata"]["name"] for obj in listed["items"])


def uids(listed: Object) -> set[str]:
    return {obj["metadata"]["uid"] for obj in listed["items"]}


def test_each_has_everything_and_shares_nothing(started: Started) -> None:
    found = started.ready()
    for path in (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes",
        "/api/v1/namespaces",
    ):
        one, two = (started.send(name, url, "GET", path) for name, (_, url) in found.items())
        assert names(one) == names(two) != []
        assert not uids(one) & uids(two)
    node, _ = (
        started.send(name, url, "GET", "/api/v1/nodes")["items"] for name, (_, url) in found.items()
    )
    assert [each["type"] for each in node[0]["status"]["conditions"] if each["status"] == "True"]
    for name, (_, url) in found.items():
        assert "[+]cluster ok" in started.send(name, url, "GET", "/readyz?verbose")


def test_one_that_was_killed_comes_back_with_all_that_it_had(started: Started) -> None:
    found = started.ready()
    pid, url = found["one"]
    note = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}}
    started.send("one", url, "POST", "/api/v1/namespaces/default/configmaps", note)
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    before = uids(started.send("one", url, "GET", crds))
    os.kill(pid, signal.SIGKILL)
    again = started.ready()
    assert again["two"] == found["two"]
    url = again["one"][1]
    started.send("one", url, "GET", "/api/v1/namespaces/default/configmaps/kept")
    assert uids(started.send("one", url, "GET", crds)) == before


def test_objects_of_custom_kinds_are_checked_as_ever(started: Started) -> None:
    found = started.ready()
    flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor"}
    for name, (_, url) in found.items():
        made = started.send(
            name, url, "POST", "/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
            flavor | {"metadata": {"name": "plain"}, "spec": {"unknown": 1}},
        )  # fmt: skip
        assert made["metadata"]["name"] == "plain"
        assert "unknown" not in made.get("spec", {})


def test_each_runs_jobs_as_processes_of_its_own(started: Started) -> None:
    found = started.ready()
    path = "/apis/batch/v1/namespaces/default/jobs"
    for name, (_, url) in found.items():
        started.send(name, url, "POST", path, job(("sh", "-c", f"echo ran in {name}")))
    for name, (_, url) in found.items():

        def is_complete(name: str = name, url: str = url) -> bool:
            status = started.send(name, url, "GET", f"{path}/j").get("status", {})
            return any(each["type"] == "Complete" for each in status.get("conditions", ()))

        wait_until(f"the job in {name}", is_complete, 120.0)
        pods = names(started.send(name, url, "GET", "/api/v1/namespaces/default/pods"))
        log = started.send(name, url, "GET", f"/api/v1/namespaces/default/pods/{pods[0]}/log")
        assert log == f"ran in {name}\n"


def test_one_that_cannot_keep_anything_says_so(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("a file")
    arguments = [sys.executable, str(PROGRAM), str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert f'"{tmp_path}/one" cannot hold data' in done.stderr


def test_one_whose_log_is_on_a_full_disk_says_so_too(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("a file")
    (tmp_path / "one.log").symlink_to("/dev/full")
    arguments = [sys.executable, str(PROGRAM), str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert f'"{tmp_path}/one" cannot hold data' in done.stderr
