"""`fleetqueue exec`: runs a command in a pod of a job that a manager has sent to a worker."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import click

from fleetqueue.cli.reaching import Asked, containers_of, pods, reaching


@click.command(
    name="exec",
    help="Run a command in a pod of a job that runs on a worker.\n\n"
    "As in `fleetqueue exec JOB -- COMMAND`. JOB is a name, a kind and a name "
    "(pytorchjob/train), or workload/NAME. The way there is the manager's: you need the right to "
    "read its Workloads, its MultiKueueClusters, and the Secret of the worker.",
)
@click.argument("job")
@click.argument("command", nargs=-1, required=True)
@click.option("-i", "--stdin", is_flag=True, help="Give it the input of this command.")
@click.option("-t", "--tty", is_flag=True, help="At a terminal.")
@reaching
def exec(
    job: str,
    command: tuple[str, ...],
    stdin: bool,
    tty: bool,
    namespace: str,
    container: str,
    pod: str,
    kubeconfig: Path | None,
    context: str,
    system_namespace: str,
) -> None:
    asked = Asked(job, namespace, container, pod, kubeconfig, context, system_namespace)
    sys.exit(asyncio.run(_run(asked, command, stdin, tty)))


async def _run(asked: Asked, argv: tuple[str, ...], stdin: bool, tty: bool) -> int:
    from fleetqueue.cli.terminal import Terminal
    from fleetqueue.kube.commands import Command, Streams, execute

    async with pods(asked) as found:
        there = found[0]
        (name,) = containers_of(there.pod, asked.container)
        if len(found) > 1:
            click.echo(f"{len(found)} pods, using {there.name}", err=True)
        terminal = Terminal(is_raw=tty and stdin)
        is_terminal = tty and terminal.is_there
        wanted = Command(there.name, there.namespace, argv, name, stdin, is_terminal)
        inputs: AsyncIterator[bytes] | None = terminal.inputs() if stdin else None
        sizes: Any = terminal.sizes() if is_terminal else None
        with terminal:
            return await execute(there.client, wanted, Streams(terminal.write, inputs, sizes))
