"""A cluster beside a fleet becomes one of its workers, gets what asks for it, and leaves."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from live.conftest import Live
from live.fleet_members import EXAMPLES, Members, read
from live.objects import WAIT, job
from live.queues import queued
from support.local_fleet import LocalFleet
from support.reference import binaries

Object = dict[str, Any]
SELECTOR = "fleetqueue.dev/cluster-selector"


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    fleet = LocalFleet(tmp_path_factory.mktemp("fleet") / "dir")
    fleet.up("--workers", "1")
    yield Members(fleet)
    fleet.down()


@pytest.fixture(scope="module")
def extra(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A cluster of its own, with queues of the same names."""
    live = Live(tmp_path_factory.mktemp("extra"))
    for each in read(EXAMPLES / "queues.yaml"):
        live.create(each)
    yield live
    live.stop()


def wanting(name: str, selector: str, command: tuple[str, ...]) -> Object:
    made = queued(job(command), name, "user-queue")
    made["metadata"]["annotations"] = {SELECTOR: selector}
    return made


def test_a_cluster_joins_gets_what_asks_for_it_and_leaves(members: Members, extra: Live) -> None:
    manager, fleet = members.manager, members.fleet
    there = ["--dir", str(fleet.path)]
    given = ["--kubeconfig", str(extra.server.kubeconfig), "--name", "extra"]
    said = fleet.command("join", *given, "--label", "region=eu", *there)
    assert said.splitlines()[0] == "joined: MultiKueueCluster/extra"
    assert manager.get("MultiKueueConfig", "multikueue")["spec"]["clusters"] == [
        "worker-1",
        "extra",
    ]
    manager.until("it is there", lambda: manager.condition("MultiKueueCluster", "extra", "Active"))
    assert manager.get("MultiKueueCluster", "extra")["metadata"]["labels"] == {"region": "eu"}
    refuses_what_is_mistaken(fleet, given)
    said = fleet.command("join", *given, *there)
    assert said.splitlines()[0] == "joined again: MultiKueueCluster/extra"
    manager.until("it is there", lambda: manager.condition("MultiKueueCluster", "extra", "Active"))

    manager.create(wanting("abroad", "region=eu", ("true",)))
    manager.create(wanting("home", "!region", ("true",)))
    assert (members.where("abroad"), members.where("home")) == ("extra", "worker-1")
    for name in ("abroad", "home"):
        manager.until(f"{name} ends", lambda name=name: manager.condition("Job", name, "Complete"))

    # What runs there when it leaves is taken back first, and goes on elsewhere.
    manager.create(wanting("restless", "region=eu", WAIT))
    extra.until("it runs", lambda: extra.pods("Running"))
    manager.patch("MultiKueueCluster", "worker-1", {"metadata": {"labels": {"region": "eu"}}})
    uids = extra.uids()
    said = fleet.command("leave", "extra", *there)
    assert "removed: MultiKueueCluster/extra\nremoved: Secret/extra-secret\n" in said
    assert "jobs that move elsewhere: 1\n" in said
    clean_up(extra, said)
    assert extra.all("Workload") == extra.all("Job") == []
    extra.until("no pod is left", lambda: not extra.pods())
    assert not extra.processes(uids)
    assert manager.send("GET", manager.path("MultiKueueCluster", "extra"))[0] == 404
    assert manager.get("MultiKueueConfig", "multikueue")["spec"]["clusters"] == ["worker-1"]
    manager.until("it is elsewhere", lambda: members.where("restless") == "worker-1")
    worker = members.workers[0]
    worker.until("it runs again", lambda: worker.pods("Running"))
    manager.delete("Job", "restless")
    members.nothing_left("restless", "Job")


def refuses_what_is_mistaken(fleet: LocalFleet, given: list[str]) -> None:
    """While "extra" is a worker."""
    there = ["--dir", str(fleet.path)]
    said = fleet.command("join", *given[:2], "--name", "other", *there, code=1)
    assert 'this cluster is already the worker "extra"' in said
    other = ["--kubeconfig", str(fleet.kubeconfig), "--context", "worker-1", "--name", "extra"]
    assert '"extra" is already the worker at' in fleet.command("join", *other, *there, code=1)
    for server, why in (
        ("https://127.0.0.1:1", "cannot connect"),
        (fleet.server("worker-1").url, "does not let the manager in"),
    ):
        said = fleet.command("join", *given, "--server", server, *there, code=1)
        assert why in said
        assert "say with --server where the manager reaches the worker" in said


def clean_up(extra: Live, said: str) -> None:
    """By the commands that `leave` printed, as they are."""
    environment = {
        "HOME": str(extra.directory),
        "PATH": f"{binaries()}:{os.environ['PATH']}",
        "KUBECONFIG": str(extra.server.kubeconfig),
    }
    commands = [line.strip() for line in said.splitlines() if line.startswith("  kubectl ")]
    assert len(commands) == 2
    for command in commands * 2:
        done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["join", "--name", "x", "--label", "region"], 2, '"region" is no label'),
        (["join", "--name", "x", "--label", "=eu"], 2, '"=eu" is no label'),
        (["join", "--name", "No_Name"], 2, '"No_Name" cannot be its name'),
        (["join", "--context", "nowhere"], 1, "nowhere"),
        (["leave", "nobody"], 1, 'the manager has no worker "nobody"'),
    ],
)
def test_what_cannot_be_is_told(
    members: Members, words: list[str], code: int, sentence: str
) -> None:
    given = ["--kubeconfig", str(members.fleet.kubeconfig)] if words[0] == "join" else []
    said = members.fleet.command(*words, *given, "--dir", str(members.fleet.path), code=code)
    assert sentence in said
    listed = [each["metadata"]["name"] for each in members.manager.all("MultiKueueCluster")]
    assert listed == ["worker-1"]


def test_a_cluster_that_does_not_answer_does_not_join(members: Members, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        "users: [{name: c, user: {token: t}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: c}}]\n"
    )
    words = ["join", "--kubeconfig", str(file), "--dir", str(members.fleet.path)]
    assert "cannot connect" in members.fleet.command(*words, code=1)
    assert members.manager.send("GET", members.manager.path("MultiKueueCluster", "c"))[0] == 404
