"""What works today, in about a minute: a manager and three workers, a job of every kind, a worker
that dies, and its jobs that go on elsewhere.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fleetqueue.base import documents
from fleetqueue.base.clock import SystemClock
from fleetqueue.kube.client import Client
from fleetqueue.kube.connect import connect
from fleetqueue.kube.resources import Object, Resource

SAMPLES = Path(__file__).parent / "jobs"
WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads", "Workload")
PATIENCE_SECONDS = 120.0
POLL_SECONDS = 0.5
SERVING = frozenset({"Deployment", "LeaderWorkerSet", "RayCluster", "RayService", "StatefulSet"})
"""Kinds that run until somebody deletes them."""
CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
multiKueue:
  workerLostTimeout: 3s
integrations:
  frameworks: [%s]
"""


def say(text: str = "") -> None:
    print(text, flush=True)


def fleetqueue(*arguments: str) -> str:
    """The command, as a user types it."""
    say(f"$ fleetqueue {' '.join(arguments)}")
    done = subprocess.run(
        [sys.executable, "-m", "fleetqueue", *arguments], capture_output=True, text=True
    )
    if done.returncode not in (0, 3):
        sys.exit(done.stderr or done.stdout)
    return done.stdout


class Demo:
    """One fleet in a directory of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._shown: dict[str, tuple[str, str]] = {}

    def open(self) -> Client:
        clock, source = SystemClock(), random.SystemRandom()
        return connect(self.home / "kubeconfig", "manager", clock=clock, random=source)

    async def run(self) -> None:
        client = self.open()
        try:
            say("\n1. a job of every kind, sent to the manager")
            for path in sorted(SAMPLES.glob("*.yaml")):
                for obj in documents.load_all(path.read_text()):
                    await client.create(obj)
            say("   what runs where:")
            await self._until(client, "every job runs or is done", _all_well)
            say("\n2. three jobs that take longer, and a worker that dies")
            for number in (1, 2, 3):
                await client.create(long_job(f"long-{number}"))
            found = await self._until(client, "the long jobs run", _long_ones_run)
            victim = str(found[0]["status"]["clusterName"])
            pid = int((self.home / "logs" / f"{victim}.pid").read_text())
            say(f"   kill -9 {pid}   # {victim}, and every process of its pods with it")
            os.kill(pid, signal.SIGKILL)
            await self._until(client, "its jobs run elsewhere", _moved_off(victim))
            say("\n3. where everything is now")
            self._summary(await _workloads(client))
        finally:
            await client.close()

    async def _until(
        self, client: Client, what: str, is_so: Callable[[list[Object]], Any]
    ) -> list[Object]:
        """Shows each change on the way."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    found = await _workloads(client)
                    self._show(found)
                    if is_so(found):
                        return [each for each in found if _title(each).startswith("Job long-")]
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            sys.exit(f"this took too long: {what}")

    def _show(self, found: Iterable[Object]) -> None:
        for workload in found:
            row = (_state(workload), _where(workload))
            title = _title(workload)
            if self._shown.get(title) != row:
                self._shown[title] = row
                say(f"   {title:<44} {row[0]:<9} {row[1]}")

    def _summary(self, found: Iterable[Object]) -> None:
        by_worker: dict[str, list[str]] = {}
        for workload in found:
            state = _state(workload)
            by_worker.setdefault(_where(workload) or "nowhere", []).append(state)
        for worker, states in sorted(by_worker.items()):
            counts = ", ".join(f"{states.count(each)} {each}" for each in sorted(set(states)))
            say(f"   {worker:<10} {counts}")


def long_job(name: str) -> Object:
    container = {
        "name": "c",
        "image": "host",
        "command": ["sleep", "300"],
        "resources": {"requests": {"cpu": "1"}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"kueue.x-k8s.io/queue-name": "user-queue"},
        },
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }


async def _workloads(client: Client) -> list[Object]:
    return list((await client.list(WORKLOADS, "default")).items)


def _title(workload: Object) -> str:
    """The kind and name of its job."""
    owners = workload["metadata"].get("ownerReferences") or [{}]
    kind = owners[0].get("kind", "Workload")
    return f"{kind} {owners[0].get('name', workload['metadata']['name'])}"


def _state(workload: Object) -> str:
    status = workload.get("status") or {}
    conditions = {each["type"]: each for each in status.get("conditions") or ()}
    if conditions.get("Finished", {}).get("status") == "True":
        return str(conditions["Finished"]["reason"]).lower()
    if conditions.get("Evicted", {}).get("status") == "True":
        return "evicted"
    if conditions.get("PodsReady", {}).get("status") == "True":
        return "running"
    is_admitted = conditions.get("Admitted", {}).get("status") == "True"
    return "admitted" if is_admitted else "waiting"


def _where(workload: Object) -> str:
    return str((workload.get("status") or {}).get("clusterName") or "")


def _all_well(found: list[Object]) -> bool:
    if len(found) < len(list(SAMPLES.glob("*.yaml"))):
        return False
    states = {_title(each): _state(each) for each in found}
    if any(state == "failed" for state in states.values()):
        sys.exit(f"a job failed: {states}")
    return all(
        state == "succeeded" or (state in ("running", "admitted") and _serves(title))
        for title, state in states.items()
    )


def _serves(title: str) -> bool:
    kind = title.split()[0]
    return kind in SERVING or title.startswith("Pod sample-deployment")


def _long_ones_run(found: list[Object]) -> bool:
    long = [each for each in found if _title(each).startswith("Job long-")]
    return len(long) == 3 and all(_state(each) == "running" for each in long)


def _moved_off(victim: str) -> Callable[[list[Object]], bool]:
    return lambda found: (
        _long_ones_run(found)
        and all(_where(each) != victim for each in found if _title(each).startswith("Job long-"))
    )


def end(folder: str) -> None:
    """`down` says how to start again, but here the directory is removed after it."""
    say()
    fleetqueue("down", "--dir", folder)
    say(f"stopped; {folder} is removed")


def main() -> None:
    from fleetqueue.jobs import registry

    with tempfile.TemporaryDirectory(prefix="fleetqueue-demo-") as folder:
        home = Path(folder)
        frameworks = ", ".join(kind.framework for kind in registry.all_kinds())
        config = home / "config.yaml"
        config.write_text(CONFIGURATION % frameworks)
        say(fleetqueue("up", "--dir", folder, "--config", str(config)).rstrip())
        try:
            say(fleetqueue("status", "--dir", folder).rstrip())
            asyncio.run(Demo(home).run())
        finally:
            end(folder)


if __name__ == "__main__":
    main()
