"""What works today, in half a minute: a cluster, a watch, jobs that run, a kill, nothing lost."""

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from examples import jobs
from fleetqueue.base.clock import SystemClock
from fleetqueue.kube.client import Client
from fleetqueue.kube.connect import connect
from fleetqueue.kube.errors import Conflict, Invalid, KubeError
from fleetqueue.kube.resources import Object, Resource

PATIENCE_SECONDS = 30.0
RUNS = Resource("demo.fleetqueue.dev", "v1", "trainingruns", "TrainingRun")
DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "trainingruns.demo.fleetqueue.dev"},
    "spec": {
        "group": "demo.fleetqueue.dev",
        "scope": "Namespaced",
        "names": {"plural": "trainingruns", "kind": "TrainingRun", "shortNames": ["run"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["gpus"],
                                "properties": {
                                    "gpus": {"type": "integer", "minimum": 1, "maximum": 64},
                                    "team": {"type": "string", "default": "research"},
                                },
                                "x-kubernetes-validations": [
                                    {
                                        "rule": "self.gpus == 1 || self.gpus % 2 == 0",
                                        "message": "gpus must be 1 or even",
                                    }
                                ],
                            },
                            "status": {
                                "type": "object",
                                "properties": {"phase": {"type": "string"}},
                            },
                        },
                    }
                },
            }
        ],
    },
}


def say(text: str) -> None:
    print(text, flush=True)


class Server:
    """`fleetqueue serve`, as a user starts it."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._port = "0"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> str:
        """Starts it and returns its address, once it answers."""
        command = [sys.executable, "-m", "fleetqueue", "serve", "--data", str(self._data)]
        process = subprocess.Popen(
            [*command, "--port", self._port], stdout=subprocess.PIPE, text=True
        )
        self._process = process
        assert process.stdout is not None
        first = process.stdout.readline()
        if "serves Kubernetes at" not in first:
            sys.exit("the server did not start")
        url = first.split()[-1]
        self._port = url.rpartition(":")[2]
        return url

    def kill(self) -> None:
        """No warning, no clean-up: kill -9."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait()


async def follow(client: Client, seen: "asyncio.Queue[str]") -> None:
    """Watch the runs, as any client would."""
    with contextlib.suppress(KubeError, asyncio.CancelledError):
        async for event in client.watch(RUNS, namespace="default"):
            if event.type == "BOOKMARK":
                continue
            name = event.object["metadata"]["name"]
            phase = (event.object.get("status") or {}).get("phase", "-")
            say(f"    watch: {event.type:<8} {name:<8} phase {phase}")
            seen.put_nowait(name)


async def write(client: Client) -> None:
    await client.create(DEFINITION)
    say("  created the CRD TrainingRun, with a default and a CEL rule")
    for name, gpus in (("alpha", 1), ("beta", 8), ("gamma", 64)):
        made = await client.create(run_of(name, gpus))
        team = made["spec"]["team"]
        say(f"  created {name}: {gpus} GPUs, team {team} (the server's default)")
    try:
        await client.create(run_of("odd", 3))
    except Invalid as refusal:
        say(f"  refused odd: {refusal}")
    await client.patch(
        RUNS, "beta", {"status": {"phase": "Running"}}, namespace="default", subresource="status"
    )
    await client.apply(
        {**run_of("gamma", 32), "metadata": {"name": "gamma", "namespace": "default"}},
        field_manager="demo-applier",
        force=True,
    )
    say("  patched the status of beta, applied gamma server-side")
    try:
        await client.apply(run_of("gamma", 2), field_manager="somebody-else")
    except Conflict as conflict:
        say(f"  refused a second applier: {str(conflict).splitlines()[0]}")


def run_of(name: str, gpus: int) -> Object:
    return {
        "apiVersion": RUNS.api_version,
        "kind": RUNS.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"gpus": gpus},
    }


async def state(client: Client) -> dict[str, tuple[str, int, str]]:
    found = await client.list(RUNS, namespace="default")
    return {
        run["metadata"]["name"]: (
            run["metadata"]["resourceVersion"],
            run["spec"]["gpus"],
            (run.get("status") or {}).get("phase", "-"),
        )
        for run in found.items
    }


async def demo(data: Path) -> None:
    server = Server(data)
    say(f"1. fleetqueue serve --data {data}")
    say(f"  the server answers at {server.start()}")
    client = connect(data / "kubeconfig", clock=SystemClock(), random=random.SystemRandom())
    say("2. a CRD and objects, through the Kubernetes API")
    await write(client)
    say("3. a watch from the beginning, and a change while it is open")
    seen: asyncio.Queue[str] = asyncio.Queue()
    watching = asyncio.create_task(follow(client, seen))
    async with asyncio.timeout(PATIENCE_SECONDS):
        for _ in range(3):
            await seen.get()
        await client.patch(
            RUNS, "alpha", {"status": {"phase": "Done"}}, namespace="default", subresource="status"
        )
        await seen.get()
    say("4. jobs of several processes")
    await jobs.run(client, say)
    before = await state(client)
    say("5. kill -9, and a new server on the same data")
    server.kill()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    await client.close()
    server.start()
    client = connect(data / "kubeconfig", clock=SystemClock(), random=random.SystemRandom())
    after = await state(client)
    for name, (version, gpus, phase) in after.items():
        say(f"  {name:<8} {gpus:>2} GPUs  phase {phase:<8} resourceVersion {version}")
    await client.close()
    server.stop()
    if after != before:
        sys.exit("something was lost; this is a bug")
    say("  nothing was lost: every object is there, in the version that was acknowledged")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="fleetqueue-demo-") as folder:
        asyncio.run(demo(Path(folder)))


if __name__ == "__main__":
    main()
