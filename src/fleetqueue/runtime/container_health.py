"""Asks a running container: its probes and its hooks, in whichever of the ways they are written."""

import asyncio
from datetime import timedelta
from typing import Any

from fleetqueue.api import times
from fleetqueue.api.field_errors import quoted
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import probe_calls
from fleetqueue.runtime.preparation import NotReady
from fleetqueue.runtime.probes import Answer, CannotAsk, Prober, Settings
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
        def tell(words: str) -> None:
            self._around.note("Warning", "Unhealthy", f"{kind} probe {words}")

        return Prober(probe, self.ask, self._late, tell)

    async def hook(self, hook: Object) -> str:
        """Why it failed, in the kubelet's words; nothing where it went well."""
        try:
            answer = await self.ask(hook)
        except CannotAsk as error:
            answer = Answer(False, why=str(error))
        return "" if answer.is_good else self._complaint(hook, answer)

    def _complaint(self, hook: Object, answer: Answer) -> str:
        metadata = self._around.pod["metadata"]
        pod = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
        where = f"for Container {quoted(self._container['name'])} in Pod {quoted(pod)} failed"
        if "httpGet" in hook:
            path = hook["httpGet"].get("path") or ""
            return f"HTTP lifecycle hook ({path}) {where} - error: {answer.why or answer.text}"
        words = f"- error: {answer.why}, message: {quoted(answer.text)}"
        return f"Exec lifecycle hook ([{' '.join(_argv(hook))}]) {where} {words}"

    async def ask(self, action: Object) -> Answer:
        """Raises CannotAsk."""
        address, ports = self._address, self._ports
        action = {name: self._here(call) for name, call in action.items()}
        if "httpGet" in action:
            return await probe_calls.http_get(action["httpGet"], address, ports)
        if "tcpSocket" in action:
            return await probe_calls.tcp_socket(action["tcpSocket"], address, ports)
        if "grpc" in action:
            span = _span(Settings.of(action).timeout)
            return await probe_calls.grpc_health(action["grpc"], address, span)
        if "sleep" in action:
            await asyncio.sleep(float(action["sleep"]["seconds"]))
            return Answer(True)
        return await self._execute(_argv(action))

    def _late(self, probe: Object, seconds: float) -> str:
        if "httpGet" in probe:
            return probe_calls.http_late(probe["httpGet"], self._address, self._ports)
        if "tcpSocket" in probe:
            return probe_calls.tcp_late(probe["tcpSocket"], self._address, self._ports)
        if "grpc" in probe:
            return probe_calls.grpc_late(_span(seconds))
        command = quoted(" ".join(_argv(probe)))
        return f"command timed out: {command} timed out after {_span(seconds)}"

    def _here(self, call: object) -> Any:
        """With the number of the port on which the process listens on this machine."""
        if not isinstance(call, dict) or "port" not in call or call.get("host"):
            return call
        number = str(self._ports.get(call["port"], call["port"]))
        moved = self._around.sandbox.port(int(number)) if number.isdecimal() else number
        return {**call, "port": moved}

    @property
    def _address(self) -> str:
        return self._around.sandbox.address

    @property
    def _ports(self) -> Object:
        named: Object = self._around.sandbox.named_ports.get(self._container["name"]) or {}
        return named

    async def _execute(self, argv: list[str]) -> Answer:
        around = self._around
        try:
            command = await around.preparation.hook(
                around.pod, self._container, argv, around.sandbox
            )
            process, streams = await self._process.execute(command)
        except (CannotStart, NotReady) as error:
            raise CannotAsk(str(error)) from error
        said = {1: b"", 2: b""}
        try:
            while (piece := await streams.read_output()) is not None:
                stream, data = piece
                said[stream] = (said[stream] + data)[:OUTPUT_BYTES_MAX]
            exit = await process.wait()
        finally:
            streams.close()
            process.kill()
        output, complaint = (said[each].decode(errors="replace") for each in (1, 2))
        if exit.code == 0:
            return Answer(True, output + complaint)
        why = f"command '{' '.join(argv)}' exited with {exit.code}: {complaint}"
        return Answer(False, output + complaint, why)


def _argv(action: Object) -> list[str]:
    return list((action.get("exec") or {}).get("command") or [])


def _span(seconds: float) -> str:
    return times.format_duration(timedelta(seconds=seconds))
