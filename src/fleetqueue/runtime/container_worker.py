"""One container of a pod: starts its process, probes it, starts it again, and ends it.

The worker shows every change through `shown`; the pod worker turns that into the pod's status.
"""

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

from fleetqueue.api import times
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import container_images, logs
from fleetqueue.runtime.container_health import Health
from fleetqueue.runtime.pod_status import ContainerFacts, Running, State, Terminated, Waiting
from fleetqueue.runtime.preparation import NotReady, log_path, message_path, process_id
from fleetqueue.runtime.processes import CannotStart, Command, Exit, Process
from fleetqueue.runtime.surroundings import Surroundings

CONFIG_RETRY_SECONDS = 5.0
START_RETRY_SECONDS = 1.0
"""How long a failed start is shown, where nothing else delays the next."""
GRACE_SECONDS_MIN = 2.0
"""What a process has in any case after its hook."""
MESSAGE_BYTES_MAX = 4096
LOST = "container process was lost"

Role = Literal["init", "sidecar", "main"]


class ContainerWorker:
    """Runs one container until it ends for good."""

    def __init__(
        self, around: Surroundings, spec: Object, role: Role, shown: ContainerFacts
    ) -> None:
        self._around = around
        self._spec = spec
        self.role: Role = role
        self.shown = shown
        self.process: Process | None = None
        self.task: asyncio.Task[Exit] | None = None
        """Where it runs beside what comes after it: a sidecar."""
        self.started = asyncio.Event()
        """Set when the container counts as started: its startup probe went well, or it runs."""
        self._stopping = asyncio.Event()
        self._restarts_in_a_row = 0
        self._is_live = False
        self._ended = asyncio.Event()
        self._trouble: Waiting | None = None
        """Why the last attempt did not come to run, until there is another one."""
        self._has_warned: Process | None = None
        """The process whose preStop hook was run."""

    @property
    def name(self) -> str:
        return str(self._spec["name"])

    @property
    def is_live(self) -> bool:
        """Whether it has begun and not yet ended for good."""
        return self._is_live

    async def run(self) -> Exit:
        self._is_live = True
        try:
            return await self._run()
        finally:
            self._is_live = False
            self._ended.set()

    def forbid(self) -> None:
        """It is not started any more, nor again."""
        self._stopping.set()

    async def settle(self) -> None:
        """Show how it ended under an earlier runtime, if it ran at all; nothing is started."""
        self.forbid()
        await self._find_ended()

    async def _run(self) -> Exit:
        found = await self._find_ended()
        while True:
            exit = found if found is not None else await self._attempt()
            found = None
            if self._stopping.is_set() or not self._restarts(exit):
                return exit
            await self._back_off()
            if self._stopping.is_set():
                return exit
            self._trouble = None
            self._show(self.shown.state, restarts=self.shown.restarts + 1)

    # What happened before the runtime was started

    async def _find_ended(self) -> Exit | None:
        """How the present attempt ended, if it ran at all under an earlier runtime."""
        state = self.shown.state
        if isinstance(state, Terminated):
            return Exit(state.exit_code, state.signal)
        known = await self._around.processes.ended(self._id())
        if known is None and not isinstance(state, Running):
            return None
        exit = known or Exit(137, int(signal.SIGKILL), message=LOST, finished_at=self._now())
        self._show_end(exit, state.started_at if isinstance(state, Running) else None)
        return exit

    # One attempt

    async def _attempt(self) -> Exit:
        if self._stopping.is_set():
            return Exit(0)
        stop = asyncio.ensure_future(self._stopping.wait())
        attempt = asyncio.ensure_future(self._prepare_and_start())
        try:
            await asyncio.wait((stop, attempt), return_when=asyncio.FIRST_COMPLETED)
            if not attempt.done():
                # Nothing runs yet, so nothing has to be ended.
                attempt.cancel()
                await asyncio.gather(attempt, return_exceptions=True)
                return Exit(0)
            process = attempt.result()
        except CannotStart as error:
            return self._could_not_start(str(error))
        finally:
            stop.cancel()
        if self._stopping.is_set():
            # Whoever stops the container did not find a process yet.
            process.kill()
        return await self._until_end(process)

    async def _prepare_and_start(self) -> Process:
        around = self._around
        image = await container_images.obtain(around, self._spec, self._show)
        command = await self._command()
        log = log_path(around.sandbox, self.name, self.shown.restarts)
        message = message_path(around.sandbox, self.name)
        message.parent.mkdir(parents=True, exist_ok=True)
        message.write_bytes(b"")
        log.parent.mkdir(parents=True, exist_ok=True)
        self._show(self.shown.state, image_id=image.id)
        around.note("Normal", "Created", f"Created container: {self.name}")
        return await around.processes.start(self._id(), command, log)

    async def _command(self) -> Command:
        around = self._around
        while True:
            try:
                return await around.preparation.command(around.pod, self._spec, around.sandbox)
            except NotReady as missing:
                self._show(Waiting(missing.reason, missing.message))
                around.note("Warning", "Failed", f"Error: {missing.message}")
                await asyncio.sleep(CONFIG_RETRY_SECONDS)

    def _could_not_start(self, why: str) -> Exit:
        exit = Exit(128, message=why, finished_at=self._now())
        self._around.note("Warning", "Failed", f"Error: {why}")
        ended = Terminated(
            128,
            "StartError",
            why,
            started_at=self._now(),
            finished_at=self._now(),
            id=self._id(),
        )
        self._show(ended, id=self._id(), is_ready=False, is_started=False)
        self._trouble = Waiting("RunContainerError", why)
        return exit

    async def _until_end(self, process: Process) -> Exit:
        self.process = process
        self._around.note("Normal", "Started", f"Started container {self.name}")
        lifecycle = self._spec.get("lifecycle") or {}
        has_startup = bool(self._spec.get("startupProbe"))
        helpers: list[asyncio.Task[None]] = []
        if not lifecycle.get("postStart"):
            self._runs(process, is_started=not has_startup)
        helpers.append(self._spawn(self._look_after(process)))
        try:
            exit = await process.wait()
        finally:
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
            self.process = None
            self.started.clear()
        ran = (self._now() - process.started_at).total_seconds()
        if ran >= self._around.backoff.reset_after:
            self._restarts_in_a_row = 0
        self._show_end(exit, process.started_at)
        return exit

    def _runs(self, process: Process, *, is_started: bool) -> None:
        is_ready = is_started and not self._spec.get("readinessProbe")
        self._show(
            Running(process.started_at),
            id=self._id(),
            is_started=is_started,
            is_ready=is_ready,
        )
        if is_started:
            self.started.set()

    # Hooks and probes

    async def _look_after(self, process: Process) -> None:
        hook = (self._spec.get("lifecycle") or {}).get("postStart")
        startup = self._spec.get("startupProbe")
        health = Health(self._around, self._spec, process)
        if hook:
            wrong = await health.hook(hook)
            if wrong:
                # The words may hold secrets, and events have other readers than pods.
                self._around.note("Warning", "FailedPostStartHook", "PostStartHook failed")
                self._trouble = Waiting("PostStartHookError", wrong)
                self._kill_unhealthy(process, "FailedPostStartHook", {})
                return
            self._runs(process, is_started=not startup)
        if startup:
            if not await health.prober(startup, "Startup").first_verdict():
                self._kill_unhealthy(process, self._failed("startup"), startup)
                return
            self.started.set()
            is_ready = not self._spec.get("readinessProbe")
            self._show(self.shown.state, is_started=True, is_ready=is_ready)
        async with asyncio.TaskGroup() as group:
            if self._spec.get("livenessProbe"):
                group.create_task(self._watch_liveness(process, health))
            if self._spec.get("readinessProbe"):
                group.create_task(self._watch_readiness(health))

    async def _watch_liveness(self, process: Process, health: Health) -> None:
        probe = self._spec["livenessProbe"]
        await health.prober(probe, "Liveness").until(verdict=False)
        self._kill_unhealthy(process, self._failed("liveness"), probe)

    async def _watch_readiness(self, health: Health) -> None:
        def changed(is_ready: bool) -> None:
            self._show(self.shown.state, is_ready=is_ready)

        await health.prober(self._spec["readinessProbe"], "Readiness").follow(changed)

    def _failed(self, kind: str) -> str:
        coda = ", will be restarted" if self._restarts(Exit(1)) else ""
        return f"Container {self.name} failed {kind} probe{coda}"

    def _kill_unhealthy(self, process: Process, why: str, probe: Object) -> None:
        self._around.note("Normal", "Killing", why)
        grace = probe.get("terminationGracePeriodSeconds")
        if grace is None:
            grace = self._around.pod["spec"].get("terminationGracePeriodSeconds", 30)
        # Not awaited here: this task is cancelled when the process ends.
        self._later = asyncio.ensure_future(self._end(process, float(grace)))

    # Restarting

    def _restarts(self, exit: Exit) -> bool:
        if self.role == "sidecar":
            return True
        policy = self._around.pod["spec"].get("restartPolicy") or "Always"
        if self.role == "init":
            return policy != "Never" and exit.code != 0
        return policy == "Always" or (policy == "OnFailure" and exit.code != 0)

    async def _back_off(self) -> None:
        seconds = self._around.backoff.seconds(self._restarts_in_a_row)
        self._restarts_in_a_row += 1
        if not seconds:
            await self._show_trouble()
            return
        span = times.format_duration(timedelta(seconds=seconds))
        metadata = self._around.pod["metadata"]
        who = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
        message = f"back-off {span} restarting failed container={self.name} pod={who}"
        self._around.note(
            "Warning", "BackOff", f"Back-off restarting failed container {self.name} in pod {who}"
        )
        self._show(Waiting("CrashLoopBackOff", message), is_ready=False, is_started=False)
        await self._pause(seconds)

    async def _show_trouble(self) -> None:
        if self._trouble is not None:
            self._show(self._trouble)
            await self._pause(START_RETRY_SECONDS)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    # Ending

    async def stop(self, grace: float) -> None:
        """End it within `grace` seconds and for good; its preStop hook counts against them."""
        self._stopping.set()
        process = self.process
        if process is not None:
            self._around.note("Normal", "Killing", f"Stopping container {self.name}")
            await self._end(process, grace)
        await self._ended.wait()

    async def _end(self, process: Process, grace: float) -> None:
        if grace > 0:
            ends_at = asyncio.get_running_loop().time() + grace
            await self._pre_stop(process, grace)
            left = ends_at - asyncio.get_running_loop().time()
            named = (self._spec.get("lifecycle") or {}).get("stopSignal") or "SIGTERM"
            process.signal(getattr(signal, named, signal.SIGTERM))
            with contextlib.suppress(TimeoutError):
                # What the hook used up is not taken from the process altogether.
                async with asyncio.timeout(max(left, GRACE_SECONDS_MIN)):
                    await process.wait()
        process.kill()
        await process.wait()

    async def _pre_stop(self, process: Process, grace: float) -> None:
        hook = (self._spec.get("lifecycle") or {}).get("preStop")
        if not hook or self._has_warned is process:
            return
        self._has_warned = process
        doing = asyncio.ensure_future(Health(self._around, self._spec, process).hook(hook))
        gone = asyncio.ensure_future(process.wait())
        await asyncio.wait((doing, gone), timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        if doing.done() and doing.result():
            self._around.note("Warning", "FailedPreStopHook", "PreStopHook failed")
        for task in (doing, gone):
            task.cancel()

    # Showing

    def _show_end(self, exit: Exit, started_at: datetime | None) -> None:
        reason = "OOMKilled" if exit.is_out_of_memory else "Error" if exit.code else "Completed"
        ended = Terminated(
            exit.code,
            reason,
            self._last_words(exit),
            exit.signal,
            started_at,
            exit.finished_at or self._now(),
            self._id(),
        )
        self._show(ended, id=self._id(), is_ready=False, is_started=False)

    def _last_words(self, exit: Exit) -> str:
        if exit.message or not self._around.has_sandbox:
            return exit.message
        sandbox = self._around.sandbox
        path = message_path(sandbox, self.name)
        data = path.read_bytes()[:MESSAGE_BYTES_MAX] if path.is_file() else b""
        falls_back = self._spec.get("terminationMessagePolicy") == "FallbackToLogsOnError"
        if not data and exit.code and falls_back:
            return logs.tail(log_path(sandbox, self.name, self.shown.restarts), 80, 2048)
        return data.decode(errors="replace")

    def _show(self, state: State, **changes: object) -> None:
        last = self.shown.last
        if isinstance(self.shown.state, Terminated) and not isinstance(state, Terminated):
            last = self.shown.state
        self.shown = replace(self.shown, state=state, last=last, **changes)  # type: ignore[arg-type]
        self._around.changed()

    def _id(self) -> str:
        uid = str(self._around.pod["metadata"]["uid"])
        return process_id(uid, self.name, self.shown.restarts)

    def _now(self) -> datetime:
        return self._around.clock.now()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.create_task(work, name=f"container {self.name}")
