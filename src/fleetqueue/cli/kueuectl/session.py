"""Carries out what a command is about: with a client of the cluster that its flags name."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import click

from fleetqueue.base.clock import Clock, SystemClock
from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.cli.kueuectl.verbs import FLAGS
from fleetqueue.errors import FleetqueueError
from fleetqueue.kube.client import Client

NAME = "kueuectl"


@dataclass(frozen=True, slots=True)
class Session:
    """A client, the namespace that counts, and what time it is."""

    client: Client
    namespace: str
    clock: Clock


Work: TypeAlias = Callable[[Session], Awaitable[Any]]


class Outside:
    """Where work is done: over the network, on a loop of its own."""

    def run(self, flags: Mapping[str, Any], work: Work) -> Any:
        return asyncio.run(self._run(flags, work))

    async def _run(self, flags: Mapping[str, Any], work: Work) -> Any:
        from fleetqueue.cli.kueuectl.connection import connect

        clock = SystemClock()
        client = connect(flags, clock)
        try:
            return await work(Session(client, client.namespace, clock))
        finally:
            await client.close()


def run(work: Work) -> Any:
    """For the last line of a command; refusals of the cluster become failures of the command."""
    context = click.get_current_context()
    outside = context.find_object(Outside) or Outside()

    async def told(session: Session) -> Any:
        with failures_told():
            return await work(session)

    with failures_told():
        return outside.run(context.meta.get(FLAGS, {}), told)


class failures_told:
    """A sentence for every failure that we know of."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, FleetqueueError):
            raise Failure(str(error)) from error


def warn(text: str) -> None:
    click.echo(f"Warning: {text}", err=True)
