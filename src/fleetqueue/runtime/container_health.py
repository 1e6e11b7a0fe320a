"""Asks a running container: its probes and its hooks, in whichever of the ways they are written."""

import asyncio

from fleetqueue.kube.resources import Object
from fleetqueue.runtime import probe_calls
from fleetqueue.runtime.probes import Answer, Prober
from fleetqueue.runtime.processes import CannotStart, Process
from fleetqueue.runtime.surroundings import Surroundings

OUTPUT_BYTES_MAX = 10 * 1024


class Health:
    """Of one process of a container."""

    def __init__(self, around: Surroundings, container: Object, process: Process) -> None:
        self._around = around
        self._container = container
        self._process = process

    def prober(self, probe: Object, kind: str) -> Prober:
        def failed(text: str) -> None:
            self._around.note("Warning", "Unhealthy", f"{kind} probe failed: {text}")

        return Prober(probe, self.ask, failed)

    async def hook(self, hook: Object) -> Answer:
        try:
            return await self.ask(hook)
        except (OSError, ValueError) as error:
            return Answer(False, str(error))

    async def ask(self, action: Object) -> Answer:
        address = self._around.sandbox.address
        ports = self._around.sandbox.named_ports.get(self._container["name"]) or {}
        if "httpGet" in action:
            return await probe_calls.http_get(action["httpGet"], address, ports)
        if "tcpSocket" in action:
            return await probe_calls.tcp_socket(action["tcpSocket"], address, ports)
        if "grpc" in action:
            return await probe_calls.grpc_health(action["grpc"], address)
        if "sleep" in action:
            await asyncio.sleep(float(action["sleep"]["seconds"]))
            return Answer(True)
        return await self._execute(list((action.get("exec") or {}).get("command") or []))

    async def _execute(self, argv: list[str]) -> Answer:
        around = self._around
        command = await around.preparation.hook(around.pod, self._container, argv, around.sandbox)
        try:
            process, streams = await self._process.execute(command)
        except CannotStart as error:
            return Answer(False, str(error))
        said = b""
        try:
            while (piece := await streams.read_output()) is not None:
                said = (said + piece[1])[:OUTPUT_BYTES_MAX]
            exit = await process.wait()
        finally:
            streams.close()
            process.kill()
        return Answer(exit.code == 0, said.decode(errors="replace"))
