"""The child's side: one cluster on an event loop of its own, until it is told to stop or its parent
is gone.
"""

import asyncio
import contextlib
import gc
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from fleetqueue import app
from fleetqueue.app import Running, ServeOptions
from fleetqueue.base.loops import new_runner
from fleetqueue.dashboard.beside import shown_beside
from fleetqueue.errors import FleetqueueError
from fleetqueue.nursery import disks

logger = logging.getLogger(__name__)

Live = Callable[[Running], Awaitable[None]]
"""To be called when a cluster is ready; returns when it has to end."""
Body = Callable[[ServeOptions, Live], Awaitable[None]]
"""Runs a cluster."""


@dataclass(frozen=True, slots=True)
class Birth:
    """What a child is given."""

    channel: socket.socket
    options: ServeOptions
    output: Path | None
    name: str


async def serve(options: ServeOptions, live: Live) -> None:
    async with (
        app.serving(options) as running,
        shown_beside(running.kubeconfig, options.dashboard_port),
    ):
        await live(running)


def run(body: Body, birth: Birth) -> int:
    """The exit code of the process."""
    # For those who look at the processes of a machine: all have the parent's command line.
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(birth.name)
    try:
        if birth.output is not None:
            _redirect(birth.output)
        with new_runner() as runner:
            runner.run(_live(body, birth))
    except FleetqueueError as error:
        _tell(birth.channel, problem=str(error))
        _say(error.render())
        return error.exit_code
    except OSError as error:
        problem = disks.told(error, birth.options.data)
        _tell(birth.channel, problem=problem)
        _say(f"error: {problem}")
        return 1
    except BaseException as error:
        logger.exception("the cluster %s failed", birth.name)
        _tell(birth.channel, problem=f"{birth.name} failed: {error!r}")
        return 1
    finally:
        # It ends already; being told so again must not change how.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


async def _live(body: Body, birth: Birth) -> None:
    """What is not ready yet when it is told to stop is given up."""
    stopped, ready = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def live(running: Running) -> None:
        ready.set()
        gc.freeze()
        gc.enable()
        _tell(birth.channel, url=running.url, kubeconfig=str(running.kubeconfig))
        await stopped.wait()

    def stop() -> None:
        # The parent never writes, so that its end can be read means that it is gone.
        loop.remove_reader(birth.channel)
        stopped.set()
        if not ready.is_set():
            life.cancel()

    life = asyncio.ensure_future(body(birth.options, live))
    loop.add_reader(birth.channel, stop)
    app.on_stop(stop)
    try:
        await life
    except asyncio.CancelledError:
        if not stopped.is_set():
            raise


def _tell(channel: socket.socket, **facts: str) -> None:
    try:
        channel.sendall(json.dumps(facts).encode() + b"\n")
    except OSError:
        # Nobody is there to hear it any more.
        return


def _say(text: str) -> None:
    """Where its log is; a disk that is full takes no more of it."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def _redirect(output: Path) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    for standard in (1, 2):
        os.dup2(target, standard)
    os.close(target)
