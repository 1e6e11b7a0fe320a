"""A whole cluster in the test's own process, whose pods are real processes."""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fleetqueue.apiserver.instance import Instance, Settings
from fleetqueue.apiserver.log import MemoryLog
from fleetqueue.base.clock import SystemClock
from fleetqueue.embedded import numbers
from fleetqueue.embedded.live import Live, LiveOptions
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.images import ImageTable
from fleetqueue.runtime.kinds import NODE, POD
from fleetqueue.runtime.pod_worker import PodWorker
from fleetqueue.runtime.preparation import Sandbox, log_path

AUTHORITY = b"a certificate"
EVENT = Resource("", "v1", "events", "Event")
NAMESPACE = "default"
SECONDS_MAX = 60.0


class Bench:
    """A cluster as a test uses it."""

    def __init__(self, live: Live, directory: Path) -> None:
        self.live = live
        self.client = live.client
        self.directory = directory
        self.warned: list[str] = []
        """What its log was told of the machine, where a test listens."""

    async def add(self, kind: str, name: str, api_version: str = "v1", **rest: Any) -> Object:
        metadata = {"name": name, "namespace": NAMESPACE, **rest.pop("metadata", {})}
        made = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}
        return await self.client.create(made)

    async def run(
        self, name: str, *command: str, container: Object | None = None, **spec: Any
    ) -> None:
        """A pod with one container."""
        first = {"name": "c", "image": "python:3", "command": list(command), **(container or {})}
        whole = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, **spec}
        metadata = whole.pop("metadata", {})
        await self.add("Pod", name, metadata=metadata, spec={"containers": [first], **whole})

    async def until(
        self, is_so: Callable[[Object], bool], kind: Resource = POD, name: str = ""
    ) -> Object:
        """The first object for which that holds, now or when it changes."""
        namespace = NAMESPACE if kind.namespaced else ""
        async with asyncio.timeout(SECONDS_MAX):
            while True:
                async for event in self.client.watch(kind, namespace):
                    is_meant = not name or event.object["metadata"].get("name") == name
                    if event.type != "BOOKMARK" and is_meant and is_so(event.object):
                        return event.object

    async def phase(self, name: str, *phases: str) -> Object:
        return await self.until(
            lambda pod: (pod.get("status") or {}).get("phase") in phases, name=name
        )

    async def ends(self, name: str) -> Object:
        """How its first container ended."""
        pod = await self.phase(name, "Succeeded", "Failed")
        ended: Object = pod["status"]["containerStatuses"][0]["state"]["terminated"]
        return ended

    async def said(self, name: str, container: str = "c") -> list[str]:
        """What a pod that ended wrote."""
        pod = await self.phase(name, "Succeeded", "Failed")
        directory = self.directory / "runtime" / "pods" / pod["metadata"]["uid"]
        text = log_path(Sandbox(directory, "", ""), container, 0).read_text()
        return [line.split(" ", 3)[3] for line in text.splitlines()]

    @property
    def has_namespaces(self) -> bool:
        assert self.live._processes is not None
        return self.live._processes.has_namespaces

    async def told(self, reason: str, name: str) -> str:
        def holds(event: Object) -> bool:
            return bool(event["reason"] == reason and event["involvedObject"]["name"] == name)

        return str((await self.until(holds, EVENT))["message"])

    async def node(self) -> Object:
        return await self.until(lambda node: bool(node.get("status")), NODE)

    async def worker(self, name: str) -> PodWorker:
        """Of a pod that is ready."""
        pod = await self.until(is_ready, name=name)
        assert self.live._pods is not None
        worker = self.live._pods.find(pod)
        assert worker is not None
        return worker

    async def delete(self, name: str) -> None:
        """Until nothing of it is left."""
        worker = await self.worker(name)
        await self.client.delete(POD, name, NAMESPACE)
        await asyncio.wait_for(worker.ended(), SECONDS_MAX)

    async def execute(self, name: str, *argv: str) -> tuple[int, bytes]:
        """What `kubectl exec` does: the exit code, and what was written."""
        worker = await self.worker(name)
        container = worker.pod["spec"]["containers"][0]
        command = await worker.preparation.hook(worker.pod, container, list(argv), worker.sandbox)
        process = worker.workers[0].process
        assert process is not None
        executed, streams = await process.execute(command)
        said = b""
        while (piece := await streams.read_output()) is not None:
            said += piece[1]
        streams.close()
        return (await executed.wait()).code, said


def is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


class Gate:
    """Where a program waits by the statement `WAIT`, whether it comes there early or late."""

    WAIT = "os.read(os.open(os.environ['GATE'], os.O_RDONLY), 1)"

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.variable = {"name": "GATE", "value": str(path)}

    def open(self) -> None:
        os.write(self._descriptor, b"x")

    def close(self) -> None:
        os.close(self._descriptor)


@asynccontextmanager
async def cluster(
    directory: Path, *, namespaces: bool = True, images: ImageTable | None = None
) -> AsyncIterator[Bench]:
    clock, source = SystemClock(), random.Random(1)
    number = numbers.take(directory / "runtime")
    options = LiveOptions(directory, number=number.value, namespaces=namespaces, images=images)
    settings = Settings(authority=AUTHORITY, service_network=options.service_network)
    instance = Instance(MemoryLog(), clock, source, settings)
    await instance.start()
    live = Live(instance, clock, source, options)
    await live.start()
    try:
        yield Bench(live, directory)
    finally:
        await live.stop()
        await instance.stop()
        number.release()
