"""What is measured: a Job of simulated pods until it is complete, a ReplicaSet of them until all
run, and a Job of real processes that are all there at once.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.runtime.meter import Cost, descendants, metered, resident_bytes
from support.server import PlainClient, Server

SECONDS_MAX = 600.0
POLL_SECONDS = 0.05
JOBS = "/apis/batch/v1/namespaces/default/jobs"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
PODS = "/api/v1/namespaces/default/pods"
LABELS = {"app": "bench"}
WAITING = """
import os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.2)
"""
"""Waits for a file: all are there at once, and all may go at once."""
Object = dict[str, Any]


def job_of_simulated_pods(server: Server, count: int) -> Cost:
    made = _job("many", count, _template({"name": "main", "image": "train", "command": ["x"]}))
    with server.client() as client, metered(lambda: _pids(server)) as cost:
        _create(client, JOBS, made)
        _until(lambda: _is_complete(_get(client, f"{JOBS}/many")))
        cost.mark("done")
    _remove(server, f"{JOBS}/many")
    return cost


def set_of_simulated_pods(server: Server, count: int) -> Cost:
    template = _template({"name": "main", "image": "serve"}, restartPolicy="Always")
    spec = {"replicas": count, "selector": {"matchLabels": LABELS}, "template": template}
    made = _object("ReplicaSet", "apps/v1", "many", spec)
    with server.client() as client, metered(lambda: _pids(server)) as cost:
        _create(client, SETS, made)
        _until(lambda: _get(client, f"{SETS}/many")["status"].get("readyReplicas") == count)
        cost.mark("done")
    _remove(server, f"{SETS}/many")
    return cost


def job_of_processes(server: Server, count: int, directory: Path) -> tuple[Cost, Object]:
    """The cost to the server; and the memory while all are there, theirs and the server's."""
    gate = directory / "gate"
    command = [sys.executable, "-c", WAITING, str(gate)]
    made = _job("real", count, _template({"name": "main", "image": "python:3", "command": command}))
    memory: Object = {"empty": resident_bytes(_serving(server, gate))}
    with server.client() as client, metered(lambda: _serving(server, gate)) as cost:
        _create(client, JOBS, made)
        _until(lambda: _get(client, f"{JOBS}/real")["status"].get("ready") == count)
        cost.mark("running")
        memory["server"] = resident_bytes(_serving(server, gate))
        memory["processes"] = resident_bytes(_waiting(server, gate))
        gate.touch()
        opened = time.perf_counter()
        _until(lambda: _is_complete(_get(client, f"{JOBS}/real")))
        cost.seconds["ended"] = time.perf_counter() - opened
    _remove(server, f"{JOBS}/real")
    return cost, memory


# Processes


def _pids(server: Server) -> list[int]:
    return [process.pid for process in server.processes]


def _waiting(server: Server, gate: Path) -> list[int]:
    """The containers' own processes."""
    return [pid for pid in descendants(_pids(server)[0]) if str(gate) in _command(pid)]


def _serving(server: Server, gate: Path) -> list[int]:
    return [pid for pid in descendants(_pids(server)[0]) if str(gate) not in _command(pid)]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


# Objects


def _job(name: str, count: int, template: Object) -> Object:
    spec = {"completions": count, "parallelism": count, "backoffLimit": 0, "template": template}
    return _object("Job", "batch/v1", name, spec)


def _template(container: Object, **spec: Any) -> Object:
    whole = {"restartPolicy": "Never", **spec, "containers": [container]}
    return {"metadata": {"labels": LABELS}, "spec": whole}


def _object(kind: str, version: str, name: str, spec: Object) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


# Requests


def _create(client: PlainClient, path: str, body: Object) -> None:
    answer = client.send("POST", path, body)
    assert answer.status == 201, answer.json


def _get(client: PlainClient, path: str) -> Object:
    answer = client.send("GET", path)
    assert answer.status == 200, answer.json
    found: Object = answer.json
    found.setdefault("status", {})
    return found


def _is_complete(job: Object) -> bool:
    conditions = job["status"].get("conditions") or ()
    told = {each["type"] for each in conditions if each["status"] == "True"}
    assert "Failed" not in told, job["status"]
    return "Complete" in told


def _remove(server: Server, path: str) -> None:
    with server.client() as client:
        client.send("DELETE", path, {"propagationPolicy": "Background"})
        _until(lambda: not client.send("GET", f"{PODS}?limit=1").json["items"])


def _until(is_so: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < ends_at, "it takes too long"
        time.sleep(POLL_SECONDS)
