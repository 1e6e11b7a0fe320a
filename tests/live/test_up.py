"""The life of a fleet on one machine: up, down, up again, and what happens when parts of it are
killed.
"""

import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from live.fleet_members import Member, Members
from live.objects import WAIT, job
from live.queues import queued
from support.local_fleet import LocalFleet
from support.server import wait_until

Object = dict[str, Any]
NAMES = ["manager", "worker-1", "worker-2"]
OPTIONS = ("--workers", "2", "--gpus", "2")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFleet]:
    """Down and up again between tests; whatever a test does to it, the next finds it running."""
    made = LocalFleet(tmp_path_factory.mktemp("fleet") / "dir")
    yield made
    made.down()


@pytest.fixture
def members(fleet: LocalFleet) -> Members:
    fleet.up(*(() if fleet.path.exists() else OPTIONS))
    found = Members(fleet)
    for name in NAMES[1:]:
        found.manager.until(f"{name} is connected", lambda name=name: is_active(found, name))
    return found


def is_active(members: Members, worker: str) -> bool:
    return members.manager.condition("MultiKueueCluster", worker, "Active") is not None


def waiting_job(name: str, cpu: str = "100m") -> Object:
    return queued(job(WAIT), name, "user-queue", cpu=cpu)


def runs(members: Members, name: str) -> Member:
    """The worker where it does."""
    worker = members.by_name[members.where(name)]
    worker.until(f"{name} runs", lambda: [pod for pod in worker.pods("Running") if name in pod])
    return worker


def test_up_says_what_to_type_and_everything_is_ready_for_it(
    members: Members, fleet: LocalFleet
) -> None:
    said = fleet.up()
    assert said.splitlines()[0] == "running: manager, worker-1, worker-2"
    for line in (
        f"export KUBECONFIG={fleet.kubeconfig}",
        "kubectl get workloads,jobs",
        f"fleetqueue status --dir {fleet.path}",
        f"fleetqueue down --dir {fleet.path}",
    ):
        assert f"  {line}\n" in said
    assert fleet.names == NAMES
    assert fleet.kubeconfig.stat().st_mode & 0o077 == 0
    assert members.manager.condition("ClusterQueue", "fleet-queue", "Active")
    assert members.manager.condition("LocalQueue", "user-queue", "Active")
    quota = {"cpu": "18", "memory": "72Gi", "nvidia.com/gpu": "4"}
    assert offered(members.manager) == quota
    for worker in members.workers:
        assert offered(worker) == {"cpu": "9", "memory": "36Gi", "nvidia.com/gpu": "2"}
        assert worker.all("MultiKueueCluster") == []


def offered(member: Member) -> dict[str, str]:
    (group,) = member.get("ClusterQueue", "fleet-queue")["spec"]["resourceGroups"]
    (flavor,) = group["flavors"]
    return {each["name"]: each["nominalQuota"] for each in flavor["resources"]}


@pytest.mark.rule("HAR-12", "RBAC-1")
def test_the_manager_may_do_on_a_worker_what_it_needs_and_no_more(members: Members) -> None:
    worker = members.workers[0]
    account = "system:serviceaccount:kueue-system:multikueue-sa"

    def may(verb: str, group: str, resource: str) -> bool:
        asked = {"verb": verb, "group": group, "resource": resource, "namespace": "default"}
        review = {"spec": {"user": account, "resourceAttributes": asked}}
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        status, answer = worker.send("POST", path, review)
        assert status == 201
        return bool(answer["status"]["allowed"])

    assert may("create", "kueue.x-k8s.io", "workloads")
    assert may("create", "batch", "jobs")
    assert may("create", "trainer.kubeflow.org", "trainjobs")
    assert not may("get", "", "secrets")
    assert not may("create", "kueue.x-k8s.io", "clusterqueues")
    assert not may("create", "rbac.authorization.k8s.io", "clusterroles")
    assert not may("delete", "", "namespaces")


def test_status_shows_each_cluster_and_what_it_has(members: Members, fleet: LocalFleet) -> None:
    members.manager.create(waiting_job("counted"))
    worker = runs(members, "counted")
    header, *rows = table(fleet)
    assert header == ["NAME", "STATE", "PID", "SERVER", "CONNECTED", "WORKLOADS"]
    assert [row[:4] for row in rows] == [
        [name, "running", str(fleet.pid(name)), members.by_name[name].server.url] for name in NAMES
    ]
    told = {row[0]: row[-2:] for row in rows}
    assert told["manager"][1] == "1 admitted, 0 waiting, 0 finished"
    assert told[worker.server.name] == ["yes", "1 admitted, 0 waiting, 0 finished"]
    members.manager.delete("Job", "counted")
    members.nothing_left("counted", "Job")


def table(fleet: LocalFleet, code: int = 0) -> list[list[str]]:
    said = fleet.command("status", "--dir", str(fleet.path), code=code)
    return [re.split(r" {3,}", line) for line in said.splitlines()]


def test_a_fleet_that_runs_is_not_started_with_other_options(
    members: Members, fleet: LocalFleet
) -> None:
    before = fleet.pid()
    said = fleet.up("--workers", "3", code=1)
    assert f"a fleet runs in {fleet.path} already" in said
    assert f"`fleetqueue down --dir {fleet.path}` first" in said
    assert fleet.pid() == before


def test_what_was_there_is_there_again_and_what_people_changed_stays_changed(
    members: Members, fleet: LocalFleet
) -> None:
    manager = members.manager
    manager.create(waiting_job("lasting"))
    runs(members, "lasting")
    quota = [{"name": "cpu", "nominalQuota": "5"}]
    flavor = {"name": "fleet-flavor", "resources": quota}
    changed = {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]}
    manager.patch("ClusterQueue", "fleet-queue", {"spec": changed})
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    asked = {"spec": {"audiences": [], "expirationSeconds": 3600}}
    token = manager.send("POST", path, asked)[1]["status"]["token"]
    urls = {name: each.server.url for name, each in members.by_name.items()}
    uid = manager.get("Job", "lasting")["metadata"]["uid"]

    assert fleet.down() == (
        f"stopped; `fleetqueue up --dir {fleet.path}` starts it again with all it had\n"
    )
    assert not fleet.processes()
    assert fleet.down() == f"no fleet runs in {fleet.path}\n"
    assert [row[:2] for row in table(fleet, code=3)[1:]] == [[name, "stopped"] for name in NAMES]

    fleet.up()
    again = Members(fleet)
    assert {name: each.server.url for name, each in again.by_name.items()} == urls
    assert again.manager.get("Job", "lasting")["metadata"]["uid"] == uid
    assert offered(again.manager) == {"cpu": "5"}
    with again.manager.server.client(token) as client:
        answer = client.send("GET", "/apis/authentication.k8s.io/v1")
    assert answer.status == 200
    runs(again, "lasting")
    again.manager.delete("Job", "lasting")
    again.nothing_left("lasting", "Job")
    restored = {"resourceGroups": quota_of(cpu="18", memory="72Gi", gpu="4")}
    again.manager.patch("ClusterQueue", "fleet-queue", {"spec": restored})


def quota_of(cpu: str, memory: str, gpu: str) -> list[Object]:
    amounts = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": gpu}
    resources = [{"name": name, "nominalQuota": amount} for name, amount in amounts.items()]
    flavors = [{"name": "fleet-flavor", "resources": resources}]
    return [{"coveredResources": list(amounts), "flavors": flavors}]


@pytest.mark.rule("CONN-5")
def test_a_worker_that_is_killed_is_told_of_and_comes_back(
    members: Members, fleet: LocalFleet
) -> None:
    fleet.kill("worker-2")
    members.manager.until("it is missed", lambda: not is_active(members, "worker-2"))
    rows = {row[0]: row for row in table(fleet, code=1)}
    assert rows["worker-1"][1] == "running"
    assert rows["worker-2"][1] == "ended"
    assert rows["worker-2"][-1].startswith("no: ")
    assert [line for line in rows if line.startswith(f"worker-2 ended: {fleet.path}/logs")]
    said = fleet.up(code=1)
    assert said.startswith(f"error: worker-2 ended: {fleet.path}/logs")
    assert f"`fleetqueue up --dir {fleet.path}` bring it back" in said
    last = (fleet.path / "logs" / "worker-2.log").read_text().splitlines()[-1]
    assert re.fullmatch(r"\d{4}-.* ERROR .*: worker-2 was ended by SIGKILL", last)
    fleet.down()

    # A port that somebody else has meanwhile is not waited for.
    with socket.create_server(("127.0.0.1", port_of(members, "worker-1"))):
        fleet.up()
    again = Members(fleet)
    assert port_of(again, "worker-1") != port_of(members, "worker-1")
    assert port_of(again, "worker-2") == port_of(members, "worker-2")
    for name in NAMES[1:]:
        again.manager.until(f"{name} is connected", lambda name=name: is_active(again, name))
    again.manager.create(queued(job(("true",)), "moved", "user-queue"))
    again.manager.until("it ends", lambda: again.manager.condition("Job", "moved", "Complete"))


@pytest.mark.parametrize("name", ["worker-2", "manager"])
def test_one_that_is_stopped_delays_nobody_for_long(
    members: Members, fleet: LocalFleet, name: str
) -> None:
    pid = fleet.pid(name)
    os.kill(pid, signal.SIGSTOP)
    try:
        rows = {row[0]: row for row in table(fleet, code=1)}
        if name == "manager":
            options = ("--kubeconfig", str(fleet.kubeconfig), "--context", name)
            for words in (("explain", "j"), ("logs", "j"), ("exec", "j", "id")):
                said = fleet.command(*words[:1], *options, *words[1:], code=1)
                assert said.startswith(
                    f'error: "manager" ({members.by_name[name].server.url}) does'
                )
    finally:
        os.kill(pid, signal.SIGCONT)
    assert [rows[each][1] for each in NAMES if each != name] == ["running", "running"]
    assert rows[name][1] == "does not answer"
    assert [line for line in rows if line.startswith(f"{name} does not answer, and its process")]


def port_of(members: Members, name: str) -> int:
    return int(members.by_name[name].server.url.rpartition(":")[2])


def test_nothing_outlives_the_process_that_runs_the_fleet(
    members: Members, fleet: LocalFleet
) -> None:
    members.manager.create(waiting_job("orphan"))
    worker = runs(members, "orphan")
    pods = worker.processes(pod["metadata"]["uid"] for pod in worker.of("Pod", "orphan"))
    clusters = {fleet.pid(name) for name in NAMES}
    assert pods
    assert pods | clusters <= fleet.processes()
    fleet.kill()
    # At once, while the clusters are still about to end: it waits for them.
    fleet.up()
    assert not (pods | clusters) & fleet.processes()
    again = Members(fleet)
    runs(again, "orphan")
    again.manager.delete("Job", "orphan")
    again.nothing_left("orphan", "Job")
    fleet.kill()
    wait_until("the end of all", lambda: not fleet.processes())
    assert fleet.down() == f"no fleet runs in {fleet.path}\n"


@pytest.fixture
def stopped(fleet: LocalFleet) -> LocalFleet:
    """With the state of one that has run."""
    if not fleet.path.exists():
        fleet.up(*OPTIONS)
    fleet.down()
    return fleet


def test_more_and_fewer_workers_and_more_on_each(stopped: LocalFleet) -> None:
    fleet = stopped
    fleet.up("--workers", "1", "--gpus", "0", "--cpu", "4")
    one = Members(fleet)
    assert fleet.names == NAMES[:2]
    assert clusters_of(one.manager) == ["worker-1"]
    assert [each["metadata"]["name"] for each in one.manager.all("MultiKueueCluster")] == [
        "worker-1"
    ]
    assert offered(one.manager) == offered(one.workers[0]) == {"cpu": "4", "memory": "36Gi"}
    fleet.down()
    fleet.up("--workers", "2", "--gpus", "2", "--cpu", "9")
    two = Members(fleet)
    assert clusters_of(two.manager) == ["worker-1", "worker-2"]
    assert offered(two.manager) == {"cpu": "18", "memory": "72Gi", "nvidia.com/gpu": "4"}
    # Its node has what it says.
    node = two.workers[1].send("GET", "/api/v1/nodes/worker-2")[1]
    assert node["status"]["capacity"]["nvidia.com/gpu"] == "2"


def test_options_of_a_start_that_failed_hold_at_the_next(stopped: LocalFleet) -> None:
    fleet = stopped
    state = fleet.path / "worker-1" / "state.db"
    state.rename(state.with_name("hidden.db"))
    state.write_bytes(b"somebody's file " * 500)
    fleet.up("--workers", "1", "--gpus", "3", code=1)
    state.with_name("hidden.db").rename(state)
    fleet.up()
    one = Members(fleet)
    assert clusters_of(one.manager) == ["worker-1"]
    amounts = {"cpu": "9", "memory": "36Gi", "nvidia.com/gpu": "3"}
    assert offered(one.manager) == offered(one.workers[0]) == amounts
    fleet.down()
    fleet.up(*OPTIONS)
    assert clusters_of(Members(fleet).manager) == ["worker-1", "worker-2"]


def clusters_of(manager: Member) -> list[str]:
    found: list[str] = manager.get("MultiKueueConfig", "multikueue")["spec"]["clusters"]
    return found


def test_a_bare_fleet_has_nothing_joined_until_it_is_asked_for(tmp_path: Path) -> None:
    fleet = LocalFleet(tmp_path / "dir")
    said = fleet.up("--workers", "1", "--bare", "--simulate")
    try:
        assert "running: manager, worker-1" in said
        assert "queue" not in said.replace("fleetqueue", "")
        bare = Members(fleet)
        for each in bare.by_name.values():
            for kind in ("MultiKueueCluster", "MultiKueueConfig", "ClusterQueue", "LocalQueue"):
                assert each.all(kind) == []
        assert {row[0]: row[4] for row in table(fleet)[2:]} == {"worker-1": "not joined"}
        fleet.down()
        fleet.up("--no-bare")
        joined = Members(fleet)
        joined.manager.until("it is connected", lambda: is_active(joined, "worker-1"))
    finally:
        fleet.down()


@pytest.fixture
def nowhere(tmp_path: Path) -> LocalFleet:
    return LocalFleet(tmp_path / "dir")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--cpu", "lots"], '"lots" is no amount for --cpu: write one such as 8 or 500m'),
        (["--cpu", "-1"], '"-1" is no amount for --cpu'),
        (["--memory", "0"], '"0" is no amount for --memory: write one such as 16Gi'),
        (["--config", "/no/such.yaml"], "File '/no/such.yaml' does not exist"),
        (["--workers", "0"], "0 is not in the range 1<=x<=20"),
        (["--gpus", "many"], "'many' is not a valid integer"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(
    nowhere: LocalFleet, options: list[str], sentence: str
) -> None:
    said = nowhere.up(*options, code=2 if "'" in sentence or "range" in sentence else 1)
    assert sentence in said
    assert not nowhere.path.exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("kind: [", "did not find expected node content"),
        ("kind: Pod\napiVersion: v1\n", "Pod"),
        (
            "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
            "integrations: {frameworks: [no/such]}\n",
            "no/such",
        ),
    ],
)
def test_a_configuration_that_is_wrong_is_refused_before_anything_starts(
    nowhere: LocalFleet, tmp_path: Path, text: str, sentence: str
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    said = nowhere.up("--config", str(file), code=1)
    assert f"--config {file}: " in said
    assert sentence in said
    assert not nowhere.path.exists()


def test_a_directory_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file")
    said = LocalFleet(tmp_path / "file").up(code=2)
    assert "is a file" in said
    under = LocalFleet(tmp_path / "file" / "dir")
    assert f'"{under.path}" cannot hold a fleet: Not a directory' in under.up(code=1)
    odd = LocalFleet(Path("/proc/fleet"))
    assert '"/proc/fleet" cannot hold a fleet: No such file' in odd.up(code=1)


def test_a_record_that_was_damaged_is_told_and_left_alone(nowhere: LocalFleet) -> None:
    nowhere.path.mkdir()
    record = nowhere.path / "fleet.json"
    for text in ("{", '{"members": [{"name": 3}]}'):
        record.write_text(text)
        for verb in ("up", "status"):
            said = nowhere.command(verb, "--dir", str(nowhere.path), code=1)
            assert f"{record} cannot be read" in said
            assert "mend it or remove it" in said
        assert record.read_text() == text
    record.write_text('{"cpu": "lots"}')
    assert '"lots" is no amount for --cpu' in nowhere.up(code=1)


def test_there_must_be_a_fleet_to_ask_about(nowhere: LocalFleet) -> None:
    there = ["--dir", str(nowhere.path)]
    assert f"there is no fleet in {nowhere.path}" in nowhere.command("status", *there, code=1)
    assert f"there is no fleet in {nowhere.path}" in nowhere.command("leave", "x", *there, code=1)
    assert nowhere.down() == f"no fleet runs in {nowhere.path}\n"


@pytest.mark.rule("EXT-1")
def test_a_kind_of_the_configuration_may_be_defined_when_the_fleet_runs(tmp_path: Path) -> None:
    config = tmp_path / "kueue.yaml"
    config.write_text(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\n"
        "kind: Configuration\n"
        "multiKueue: {externalFrameworks: [{name: Horse.v1.example.com}]}\n"
    )
    fleet = LocalFleet(tmp_path / "dir")
    fleet.up("--workers", "1", "--simulate", "--config", str(config))
    try:
        found = Members(fleet)
        found.manager.until(
            "it lacks the kind",
            lambda: "ClientConnectionFailed" in str(found.manager.all("MultiKueueCluster")),
        )
        for each in (found.manager, *found.workers):
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            assert each.send("POST", path, HORSES)[0] == 201
        found.manager.until("it is connected", lambda: is_active(found, "worker-1"))
    finally:
        fleet.down()


HORSES: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "horses.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Horse", "plural": "horses"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}
