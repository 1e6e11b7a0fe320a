"""A job that runs on a worker is reached through its manager: its logs, also when it is over, and
its processes; and nobody sees its pods there otherwise.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from live.queues import Gate
from support.reference import binaries
from support.server import wait_until

Object = dict[str, Any]
SECONDS_MAX = 60.0
QUEUE = {"kueue.x-k8s.io/queue-name": "user-queue"}
SERVER = """
import http.server
class Echo(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.path.encode())
    def log_message(self, *words): pass
print("serving", flush=True)
http.server.ThreadingHTTPServer(("0.0.0.0", 8080), Echo).serve_forever()
"""


class Fleet:
    """A manager and a worker, and kubectl for both."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._kubectl = str(binaries() / "kubectl")
        self._control("up", "--workers", "1")

    def stop(self) -> None:
        self._control("down")

    def _control(self, *words: str) -> None:
        command = [sys.executable, "-m", "fleetqueue", *words, "--dir", str(self.directory)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX)
        assert done.returncode == 0, done.stderr

    def env(self, protocol: str = "websocket") -> dict[str, str]:
        word = "true" if protocol == "websocket" else "false"
        return {
            **os.environ,
            "HOME": str(self.directory),
            "KUBECONFIG": str(self.directory / "kubeconfig"),
            "KUBECTL_REMOTE_COMMAND_WEBSOCKETS": word,
            "KUBECTL_PORT_FORWARD_WEBSOCKETS": word,
        }

    def fleetqueue(
        self, *words: str, stdin: str = "", code: int = 0
    ) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "fleetqueue", words[0], "--context", "manager"]
        done = subprocess.run(
            [*command, *words[1:]],
            env=self.env(),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
        )
        assert done.returncode == code, f"{words}\n{done.stdout}\n{done.stderr}"
        return done

    def run(
        self,
        *words: str,
        stdin: str = "",
        code: int = 0,
        on: str = "manager",
        by: str = "websocket",
    ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [self._kubectl, "--context", on, *words],
            env=self.env(by),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
        )
        assert done.returncode == code, f"kubectl {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done

    def says(self, *words: str, **more: Any) -> str:
        return self.run(*words, **more).stdout

    def start(self, *words: str, protocol: str = "websocket") -> "subprocess.Popen[str]":
        command = [self._kubectl, "--context", "manager", *words]
        return subprocess.Popen(command, env=self.env(protocol), text=True, stdout=subprocess.PIPE)

    def create(self, *objects: Object) -> None:
        self.run("create", "-f", "-", stdin=yaml.safe_dump_all(objects))

    def wait(self, what: str, path: str, value: str) -> None:
        words = ["wait", what, f"--for=jsonpath={{{path}}}={value}", f"--timeout={SECONDS_MAX}s"]
        self.run(*words)

    def finished(self, job: str) -> None:
        """Also on its worker, where nothing is left of it."""
        self.run("wait", f"job/{job}", "--for=condition=Complete", f"--timeout={SECONDS_MAX}s")
        self.run("wait", f"job/{job}", "--for=delete", on="worker-1")

    def pods(self, on: str = "manager") -> list[str]:
        return self.says("get", "pods", "-o", "name", on=on).split()

    def kept(self) -> list[Path]:
        place = self.directory / "manager" / "dispatched-logs"
        return list(place.iterdir()) if place.exists() else []


def template(*command: str, **spec: Any) -> Object:
    requests = {"cpu": "100m", "memory": "32Mi"}
    main = {
        "name": "main",
        "image": "python:3",
        "command": list(command),
        "resources": {"requests": requests},
    }
    return {"spec": {"containers": [main], "terminationGracePeriodSeconds": 0, **spec}}


def job(name: str, *command: str, **spec: Any) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": QUEUE},
        "spec": {"template": template(*command, restartPolicy="Never"), **spec},
    }


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    directory = tmp_path_factory.mktemp("fleet")
    found = Fleet(directory)
    yield found
    found.stop()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="module")
def web(fleet: Fleet) -> str:
    """The pod of a job that runs until it is deleted."""
    fleet.create(job("web", sys.executable, "-c", SERVER))
    fleet.wait("job/web", ".status.ready", "1")
    wait_until("its log", lambda: "serving" in fleet.says("logs", "job/web"))
    (name,) = (each for each in fleet.pods("worker-1") if each.startswith("pod/web-"))
    return name.removeprefix("pod/")


@contextmanager
def held(fleet: Fleet, name: str, tmp_path: Path, **spec: Any) -> Iterator[Gate]:
    with Gate(tmp_path / name) as gate:
        fleet.create(job(name, *gate.command, **spec))
        yield gate


def test_logs_of_a_job_are_shown_while_it_runs_and_when_it_is_over(
    fleet: Fleet, tmp_path: Path
) -> None:
    before = len(fleet.kept())
    with held(fleet, "train", tmp_path) as gate:
        # kubectl waits by itself until there is a pod.
        following = fleet.start("logs", "-f", "job/train", "--pod-running-timeout=60s")
        fleet.wait("job/train", ".status.ready", "1")
        if following.poll() is not None:
            # It was so early that the container was not there yet.
            following.communicate()
            following = fleet.start("logs", "-f", "job/train")
        wait_until("its log", lambda: fleet.says("logs", "job/train") == "here\n")
        gate.open()
        assert following.communicate(timeout=SECONDS_MAX)[0] == "here\n"
    fleet.finished("train")
    assert fleet.says("logs", "job/train") == "here\n"
    assert fleet.says("logs", "-l", "job-name=train", "--prefix").startswith("[pod/train-")
    stamped = fleet.says("logs", "job/train", "--timestamps", "--all-containers")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\S+Z here\n", stamped)
    assert fleet.says("logs", "job/train", "--since-time=2999-01-01T00:00:00Z") == ""
    assert fleet.says("logs", "job/train", "--tail=0") == ""
    assert fleet.pods() == []
    refused = fleet.run("logs", "job/train", "--previous", code=1).stderr
    assert "previous terminated container" in refused
    assert len(fleet.kept()) == before + 1
    assert fleet.fleetqueue("logs", "job/train").stdout == "here\n"
    assert re.fullmatch(
        r"\[pod/train-\w+/main\] \d{4}\S+Z here\n",
        fleet.fleetqueue("logs", "train", "--prefix", "--timestamps", "-f").stdout,
    )
    refused = fleet.fleetqueue("exec", "train", "--", "id", code=1).stderr
    assert "train has finished (Succeeded: " in refused
    fleet.run("delete", "job", "train")
    wait_until("its logs are gone", lambda: len(fleet.kept()) == before)


def test_pods_of_workers_are_seen_by_nobody_else(fleet: Fleet, web: str) -> None:
    assert fleet.pods() == []
    assert '"items":[]' in fleet.says("get", "--raw", "/api/v1/namespaces/default/pods")
    assert "NotFound" in fleet.run("get", "pod", web, code=1).stderr
    assert "NotFound" in fleet.run("describe", "pod", web, code=1).stderr
    assert "NotFound" in fleet.run("delete", "pod", web, code=1).stderr
    assert fleet.says("logs", web) == "serving\n"


@pytest.mark.parametrize("protocol", ["websocket", "spdy"])
def test_commands_run_in_the_workers_pod(fleet: Fleet, web: str, protocol: str) -> None:
    assert fleet.says("exec", web, "--", "echo", "hi", by=protocol) == "hi\n"
    assert fleet.says("exec", "job/web", "--", "echo", "hi", by=protocol) == "hi\n"
    long = "x" * 300_000
    assert fleet.says("exec", "-i", web, "--", "cat", stdin=long, by=protocol) == long
    fleet.run("exec", web, "--", "sh", "-c", "exit 3", code=3, by=protocol)


def test_files_are_copied_into_the_workers_pod_and_back(
    fleet: Fleet, web: str, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (tmp_path / "in").write_text("content")
    fleet.run("cp", str(tmp_path / "in"), f"{web}:{there}/file")
    fleet.run("cp", f"{web}:{there}/file", str(tmp_path / "out"))
    assert (tmp_path / "out").read_text() == "content"


@pytest.mark.parametrize("protocol", ["websocket", "spdy"])
def test_ports_of_the_workers_pod_are_forwarded(fleet: Fleet, web: str, protocol: str) -> None:
    forwarding = fleet.start("port-forward", "job/web", ":8080", protocol=protocol)
    try:
        assert forwarding.stdout is not None
        found = re.search(r":(\d+) ->", forwarding.stdout.readline())
        assert found is not None
        for word in ("one", "two"):
            with urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/{word}") as answer:
                assert answer.read() == f"/{word}".encode()
    finally:
        forwarding.kill()
        forwarding.communicate()


def test_pods_on_a_worker_that_are_no_jobs_of_ours_are_not_reached(fleet: Fleet, web: str) -> None:
    labels = {"job-name": "web", "app": "foreign"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "foreign", "labels": labels},
        **template("sleep", "1000"),
    }
    fleet.run("create", "-f", "-", stdin=yaml.safe_dump(pod), on="worker-1")
    fleet.run("wait", "pod/foreign", "--for=condition=Ready", on="worker-1")
    assert "not found" in fleet.run("logs", "foreign", code=1).stderr
    assert "not found" in fleet.run("exec", "foreign", "--", "id", code=1).stderr
    path = "/api/v1/namespaces/default/pods/foreign/log"
    assert "NotFound" in fleet.run("get", "--raw", path, code=1).stderr
    shown = fleet.says("logs", "-l", "job-name=web", "--prefix")
    assert web in shown
    assert "foreign" not in shown
    fleet.run("delete", "pod", "foreign", on="worker-1")


def rights(name: str, user: str, *resources: str, verbs: Sequence[str] = ("get",)) -> list[Object]:
    api = "rbac.authorization.k8s.io"
    rule = {"apiGroups": ["", "batch"], "resources": list(resources), "verbs": list(verbs)}
    role = {"apiGroup": api, "kind": "Role", "name": name}
    metadata = {"name": name, "namespace": "default"}
    return [
        {"apiVersion": f"{api}/v1", "kind": "Role", "metadata": metadata, "rules": [rule]},
        {
            "apiVersion": f"{api}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": role,
            "subjects": [{"apiGroup": api, "kind": "User", "name": user}],
        },
    ]


def test_the_managers_rules_say_who_may_reach_what(fleet: Fleet, web: str) -> None:
    mary = ("--as", "mary")
    assert "Forbidden" in fleet.run("logs", web, *mary, code=1).stderr
    fleet.create(*rights("sees", "mary", "pods", "jobs", verbs=("get", "list")))
    refused = fleet.run("logs", web, *mary, code=1).stderr
    assert 'cannot get resource "pods/log"' in refused
    fleet.create(*rights("reads", "mary", "pods/log"))
    assert fleet.says("logs", "job/web", *mary) == "serving\n"
    refused = fleet.run("exec", web, *mary, "--", "id", code=1).stderr
    assert 'cannot create resource "pods/exec"' in refused or "pods/exec" in refused


def test_pods_that_wait_here_for_their_mirrors_show_the_logs_of_these(fleet: Fleet) -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "serve", "labels": QUEUE},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "serve"}},
            "template": {
                "metadata": {"labels": {"app": "serve"}},
                **template("sh", "-c", "echo serving; exec sleep 1000"),
            },
        },
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "once", "labels": QUEUE},
        **template("echo", "alone", restartPolicy="Never"),
    }
    fleet.create(deployment, pod)
    fleet.wait("pod/once", ".status.phase", "Succeeded")
    fleet.wait("deployment/serve", ".status.readyReplicas", "1")
    assert fleet.says("logs", "once") == "alone\n"
    wait_until("its log", lambda: fleet.says("logs", "deployment/serve") == "serving\n")
    assert fleet.says("exec", "deployment/serve", "--", "echo", "hi") == "hi\n"
    fleet.run("delete", "deployment/serve", "pod/once")


def test_pods_of_operators_are_found_by_their_labels(fleet: Fleet, tmp_path: Path) -> None:
    # The job is over as soon as its master is, which gives the worker time to speak.
    line = f"printenv RANK; touch {tmp_path}/$RANK; until test -e {tmp_path}/1; do sleep 0.05; done"
    replicas: dict[str, Any] = {
        role: {"replicas": 1, "template": template("sh", "-c", line)}
        for role in ("Master", "Worker")
    }
    for each in replicas.values():
        each["template"]["spec"]["containers"][0]["name"] = "pytorch"
    training = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "ranks", "labels": QUEUE},
        "spec": {"pytorchReplicaSpecs": replicas},
    }
    fleet.create(training)
    words = ("pytorchjob/ranks", f"--timeout={SECONDS_MAX}s")
    fleet.run("wait", *words, "--for=condition=Succeeded")
    fleet.run("wait", *words, "--for=delete", on="worker-1")
    assert fleet.says("logs", "ranks-worker-0") == "1\n"
    said = fleet.says("logs", "-l", "training.kubeflow.org/job-name=ranks", "--prefix")
    assert sorted(said.splitlines()) == [
        "[pod/ranks-master-0/pytorch] 0",
        "[pod/ranks-worker-0/pytorch] 1",
    ]
    said = fleet.fleetqueue("logs", "pytorchjob/ranks")
    assert said.stdout.splitlines() == [
        "[pod/ranks-master-0/pytorch] 0",
        "[pod/ranks-worker-0/pytorch] 1",
    ]
    assert fleet.fleetqueue("logs", "ranks", "--pod", "ranks-worker-0").stdout == "1\n"
    refused = fleet.run("exec", "ranks-worker-0", "--", "id", code=1).stderr
    assert "completed pod" in refused


def test_the_command_line_finds_the_way_from_any_manager(fleet: Fleet, web: str) -> None:
    """With the Secret of the worker, and no help of the manager's server."""
    said = fleet.fleetqueue("logs", "job/web", "--timestamps", "--tail", "1")
    assert re.fullmatch(r"\d{4}-\S+Z serving\n", said.stdout)
    assert fleet.fleetqueue("logs", "web", "--prefix").stdout == f"[pod/{web}/main] serving\n"
    assert fleet.fleetqueue("exec", "web", "--", "echo", "hi").stdout == "hi\n"
    fleet.fleetqueue("exec", "web", "--", "sh", "-c", "exit 3", code=3)
    long = "x" * 300_000
    assert fleet.fleetqueue("exec", "-i", "web", "--", "cat", stdin=long).stdout == long
    refused = fleet.fleetqueue("exec", "web", "--pod", "nope", "--", "id", code=1).stderr
    assert refused == f'error: web has no pod "nope": it has {web}\n'
    refused = fleet.fleetqueue("exec", "web", "--", "no-such-command", code=1).stderr
    assert refused.count("Internal error occurred") == 1
    missing = fleet.fleetqueue("logs", "job/nothing", code=1).stderr
    assert missing == 'error: there is no job/nothing in namespace "default"\n'


def test_the_command_line_says_why_there_are_no_logs(fleet: Fleet) -> None:
    fleet.create(job("typo", "/no/such/command", backoffLimit=0))
    fleet.run("wait", "job/typo", "--for=condition=Failed", f"--timeout={SECONDS_MAX}s")
    said = fleet.fleetqueue("logs", "job/typo", code=1)
    assert said.stdout == ""
    assert "/main has not started: StartError: " in said.stderr
    nowhere = job("nowhere", "true")
    nowhere["spec"]["template"]["spec"]["nodeSelector"] = {"is": "nowhere"}
    fleet.create(nowhere)
    wait_until("its pod", lambda: any("/nowhere-" in pod for pod in fleet.pods("worker-1")))
    wait_until(
        "it is told why",
        lambda: "Unschedulable" in fleet.fleetqueue("logs", "job/nowhere", code=1).stderr,
    )
    fleet.run("delete", "job/nowhere")


def test_a_worker_that_is_stopped_is_named(fleet: Fleet, web: str) -> None:
    pid = int((fleet.directory / "logs" / "worker-1.pid").read_text())
    os.kill(pid, signal.SIGSTOP)
    try:
        for words in (("logs", "web"), ("exec", "web", "--", "id")):
            said = fleet.fleetqueue(*words, code=1).stderr
            assert 'the worker "worker-1", which has web, does not answer. ' in said
    finally:
        os.kill(pid, signal.SIGCONT)
