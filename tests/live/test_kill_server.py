"""The server is killed at moments of all sorts, while jobs of several kinds start, run, end and are
deleted. Once it runs again, every job ends as it should, no rank succeeds twice, and no process is
left of those before.
"""

import fcntl
import itertools
import os
import random
import select
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from live import objects
from live.conftest import DEADLINE_SECONDS, Live

Object = dict[str, Any]
pytestmark = pytest.mark.rule("jobs C.13")

PROGRAM = Path(__file__).parent / "gated.py"
COMPLETIONS, AT_ONCE = 4, 2
RANKS = {
    "Job": [f"j-{index}" for index in range(COMPLETIONS)],
    "PyTorchJob": ["t-master-0", "t-worker-0", "t-worker-1"],
    "JobSet": [f"s-workers-0-{index}" for index in range(3)],
}
"""The hosts of all that have an end."""
HOSTS = [host for hosts in RANKS.values() for host in hosts]
SERVERS = 2
"""Pods of the Deployment, which have none."""
FIRST = len(HOSTS) - (COMPLETIONS - AT_ONCE) + SERVERS
"""Pods that run as long as no gate is open."""


_NUMBERS = itertools.count(1)


class Crowd:
    """Jobs of all kinds in one namespace, the gates that keep them, and what they tell."""

    def __init__(self, live: Live, directory: Path) -> None:
        directory.mkdir()
        self.live = live
        self.pipe = directory / "news"
        os.mkfifo(self.pipe)
        # Open for both, or else the first writer would wait and the last one end it.
        self._news = os.open(self.pipe, os.O_RDWR | os.O_NONBLOCK)
        self._rest = b""
        self._gates = directory / "gates"
        self._gates.mkdir()
        self._locks: dict[str, IO[str]] = {}
        for name in (*HOSTS, "for ever"):
            self._locks[name] = (self._gates / name).open("a")
            fcntl.flock(self._locks[name], fcntl.LOCK_EX)
        self.begun: Counter[str] = Counter()
        self.done: Counter[str] = Counter()

    def open(self, *hosts: str) -> None:
        for host in hosts:
            fcntl.flock(self._locks[host], fcntl.LOCK_UN)

    def close(self) -> None:
        for lock in self._locks.values():
            lock.close()
        os.close(self._news)

    def hear(self, told: Counter[str], count: int) -> None:
        """Returns when so many have told so."""
        ends_at = time.monotonic() + DEADLINE_SECONDS
        while told.total() < count:
            assert self._take(ends_at - time.monotonic()), (self.begun, self.done)

    def listen(self) -> None:
        """Takes in all that was told so far."""
        while self._take(0.0):
            pass

    def _take(self, seconds: float) -> bool:
        if not select.select([self._news], [], [], max(seconds, 0.0))[0]:
            return False
        *lines, self._rest = (self._rest + os.read(self._news, 4096)).split(b"\n")
        for line in lines:
            word, host, _ = line.decode().split()
            (self.begun if word == "begun" else self.done)[host] += 1
        return True

    def objects(self, *flags: str) -> list[Object]:
        command = [sys.executable, str(PROGRAM), str(self.pipe), str(self._gates), *flags]
        shut = [*command[:3], str(self._gates / "for ever"), *flags]
        job = objects.job(
            command, completions=COMPLETIONS, parallelism=AT_ONCE, completionMode="Indexed"
        )
        job_set = objects.job_set(command)
        inner = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]
        inner["backoffLimit"] = 6
        inner["template"]["spec"]["restartPolicy"] = "OnFailure"
        made = [job, objects.training_job("PyTorchJob", command), job_set, objects.deployment(shut)]
        for each in made:
            _add_uid(each)
        return made


def _add_uid(obj: Any) -> None:
    """Every container learns the uid of its pod."""
    if isinstance(obj, list):
        for each in obj:
            _add_uid(each)
    elif isinstance(obj, dict):
        for name, value in obj.items():
            _add_uid(value)
            if name == "containers":
                field = {"fieldRef": {"fieldPath": "metadata.uid"}}
                for container in value:
                    container.setdefault("env", []).append({"name": "POD_UID", "valueFrom": field})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    directory = tmp_path_factory.mktemp("killed") / "cluster"
    # One that starts while ours is down would take a low number, and keep it from coming back.
    (directory / "runtime").mkdir(parents=True)
    (directory / "runtime" / "number").write_text(str(200 + os.getpid() % 50))
    live = Live(directory)
    yield live
    live.stop()


@pytest.fixture
def crowd(server: Live, tmp_path: Path) -> Iterator[Crowd]:
    server.use(f"kill-{next(_NUMBERS)}")
    made = Crowd(server, tmp_path / "crowd")
    yield made
    made.close()


def kill(live: Live) -> None:
    """With it go all its processes."""
    pods = {path.name for path in (live.directory / "runtime" / "pods").iterdir()}
    live.kill()
    live.until("no process outlives its server", lambda: not live.processes({*pods, "-"}))


MOMENTS = [("start", seed) for seed in range(2)]
MOMENTS += [("run", 0)]
MOMENTS += [("finish", seed) for seed in range(2)]


@pytest.mark.parametrize(("moment", "seed"), MOMENTS)
def test_jobs_survive_the_death_of_their_server(crowd: Crowd, moment: str, seed: int) -> None:
    live, source = crowd.live, random.Random(f"{moment} {seed}")
    made = crowd.objects()
    source.shuffle(made)
    for each in made:
        live.create(each)
    crowd.hear(crowd.begun, source.randint(1, FIRST - 1) if moment == "start" else FIRST)
    if moment == "finish":
        ready = [host for host in HOSTS if host not in RANKS["Job"][AT_ONCE:]]
        opened = source.sample(ready, source.randint(1, len(ready)))
        crowd.open(*opened)
        crowd.hear(crowd.done, source.randint(1, len(opened)))
    kill(live)
    live.start_again()
    crowd.open(*HOSTS)
    live.until("the Job completes", lambda: live.condition("Job", "j", "Complete"))
    live.until("the PyTorchJob succeeds", lambda: live.condition("PyTorchJob", "t", "Succeeded"))
    live.until("the JobSet completes", lambda: live.condition("JobSet", "s", "Completed"))
    live.until("the Deployment is up", lambda: available(live) == SERVERS)
    live.until("every rank has succeeded", lambda: set(succeeded(live)) == set(HOSTS))
    check_ends(crowd)
    live.delete("Deployment", "web")
    live.until("its pods are gone", lambda: len(live.all("Pod")) == pods_that_ended(live))
    assert not live.processes(live.uids())


def available(live: Live) -> int:
    status = live.get("Deployment", "web").get("status") or {}
    return int(status.get("availableReplicas") or 0)


def pods_that_ended(live: Live) -> int:
    return len(live.pods("Succeeded")) + len(live.pods("Failed"))


def host_of(pod: Object) -> str:
    return str(pod["spec"].get("hostname") or pod["metadata"]["name"])


def ends(pod: Object) -> list[int]:
    """The exit codes that a pod shows."""
    (shown,) = (pod.get("status") or {}).get("containerStatuses") or ({},)
    states = [shown.get(each) or {} for each in ("lastState", "state")]
    return [state["terminated"]["exitCode"] for state in states if "terminated" in state]


def succeeded(live: Live) -> Counter[str]:
    """How often each host did."""
    return Counter(host_of(pod) for pod in live.all("Pod") for code in ends(pod) if code == 0)


def check_ends(crowd: Crowd) -> None:
    live = crowd.live
    assert succeeded(live) == Counter(HOSTS)
    failed: Counter[str] = Counter()
    for pod in live.all("Pod"):
        restarts = sum(each["restartCount"] for each in pod["status"]["containerStatuses"])
        failed[host_of(pod)] += restarts + (pod["status"]["phase"] == "Failed")
    crowd.listen()
    for host in HOSTS:
        # Who was killed between its last word and its end has to do it again.
        assert 1 <= crowd.done[host] <= 1 + failed[host], (host, crowd.done, failed)
    status = live.get("Job", "j")["status"]
    assert (status["succeeded"], status["completedIndexes"]) == (COMPLETIONS, "0-3")
    assert status.get("failed", 0) == sum(failed[host] for host in RANKS["Job"])
    assert status.get("active", 0) == status.get("terminating", 0) == 0
    assert live.condition("PyTorchJob", "t", "Failed") is None
    assert live.get("JobSet", "s")["status"]["restarts"] == 0


@pytest.mark.parametrize(("flags", "seed"), [((), 0), (("deaf",), 1)])
def test_what_was_being_deleted_is_gone(crowd: Crowd, flags: tuple[str, ...], seed: int) -> None:
    live, source = crowd.live, random.Random(seed)
    made = crowd.objects(*flags)
    for each in made:
        live.create(each)
    crowd.hear(crowd.begun, FIRST)
    uids = live.uids()
    source.shuffle(made)
    for each in made:
        delete(live, each)
    leaving = source.randint(1, FIRST)
    live.until("pods are on their way out", lambda: FIRST - staying(live) >= leaving)
    kill(live)
    live.start_again()
    for each in made:
        live.until("it is gone", lambda kind=each["kind"]: not live.all(kind))
    live.until("all pods are gone", lambda: not live.all("Pod"))
    crowd.open(*HOSTS)
    assert not live.processes(uids)
    crowd.listen()
    assert not crowd.done


def staying(live: Live) -> int:
    return sum("deletionTimestamp" not in pod["metadata"] for pod in live.all("Pod"))


def delete(live: Live, obj: Object) -> None:
    """Without the policy, Jobs would leave their pods behind."""
    path = live.path(obj["kind"], obj["metadata"]["name"])
    assert live.send("DELETE", path, {"propagationPolicy": "Background"})[0] == 200
