"""The clusters of a fleet that `fleetqueue up` runs, each as a test uses it."""

import contextlib
import json
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from live.conftest import Live
from support.local_fleet import LocalFleet
from support.server import Server

Object = dict[str, Any]
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SERVING = {"raycluster", "rayservice", "deployment", "statefulset", "leaderworkerset"}
"""Examples that have no end of their own."""
GATED = {"pod", "pod-group", "deployment", "statefulset", "leaderworkerset"}
"""Those without managedBy: their pods are on the manager too, and wait there."""
ORIGIN = "kueue.x-k8s.io/multikueue-origin"


def read(file: Path) -> list[Object]:
    return [each for each in yaml.safe_load_all(file.read_text()) if each]


class Member(Live):
    """One that runs already."""

    def __init__(self, server: Server, log: Path) -> None:
        self.server = server
        self.directory = log.parent
        self.namespace = "default"
        self._log = log
        self._looked_at = {}
        self._seen = set()

    def log_text(self) -> str:
        return self._log.read_text()

    def of(self, kind: str, job: str) -> list[Object]:
        """What has the job's name, alone or as a part of its own."""
        is_named = re.compile(rf"(^|-){job}(-|$)").search
        return [each for each in self.all(kind) if is_named(each["metadata"]["name"])]

    @contextlib.contextmanager
    def watched(self, kind: str) -> Iterator[list[str]]:
        """The names of all that are made meanwhile, however briefly."""
        revision = self.send("GET", self.path(kind))[1]["metadata"]["resourceVersion"]
        connection, answer = self.open(f"{self.path(kind)}?watch=true&resourceVersion={revision}")
        seen: list[str] = []

        def read_all() -> None:
            while line := answer.readline():
                event = json.loads(line)
                if event["type"] == "ADDED":
                    seen.append(event["object"]["metadata"]["name"])

        reader = threading.Thread(target=read_all)
        reader.start()
        try:
            yield seen
        finally:
            connection.shutdown(socket.SHUT_RDWR)
            reader.join()
            answer.close()
            connection.close()


class Members:
    """A manager and its workers."""

    def __init__(self, fleet: LocalFleet) -> None:
        self.fleet = fleet
        self.by_name = {name: self._member(name) for name in fleet.names}

    @property
    def manager(self) -> Member:
        return self.by_name["manager"]

    @property
    def workers(self) -> list[Member]:
        return [each for name, each in self.by_name.items() if name != "manager"]

    def _member(self, name: str) -> Member:
        return Member(self.fleet.server(name), self.fleet.path / "logs" / f"{name}.log")

    def workload(self, job: str) -> Object | None:
        """The manager's for a job, or for a pod of it."""
        return next(iter(self.manager.of("Workload", job)), None)

    def where(self, job: str) -> str:
        """The worker that has it; waits until one does."""

        def placed() -> str:
            status = (self.workload(job) or {}).get("status") or {}
            return str(status.get("clusterName") or "")

        return str(self.manager.until(f"{job} is on a worker", placed))

    def nothing_left(self, job: str, kind: str) -> None:
        """Neither copies of its Workload nor its mirror are on any worker."""
        for worker in self.workers:
            for each in ("Workload", kind, "Pod"):
                self.gone(worker, each, job)

    def gone(self, member: Member, kind: str, job: str) -> None:
        member.until(f"no {kind} of {job}", lambda: not member.of(kind, job))
