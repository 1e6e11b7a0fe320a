"""What the commands about a hub share: which hub, and how long they may take."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleetqueue.api.times import TimeError, parse_duration
from fleetqueue.errors import UserError

if TYPE_CHECKING:
    from fleetqueue.kube.client import Client


def span(text: str) -> float:
    """A duration such as 5m or 90s, in seconds."""
    try:
        return parse_duration(text).total_seconds()
    except TimeError as error:
        raise click.BadParameter(f'"{text}" is no duration: write one such as 5m') from error


HUB_CONTEXT = click.option(
    "--hub-cluster-context", "context", default="",
    help="The context of the hub.  [default: the current one]",
)  # fmt: skip
KUBECONFIG = click.option(
    "--kubeconfig", type=click.Path(path_type=Path, exists=True, dir_okay=False), default=None,
    help="Where that context is; as kubectl has it.",
)  # fmt: skip
TIMEOUT = click.option(
    "--timeout", "seconds", type=span, metavar="DURATION", default="5m", show_default=True,
    help="How long to wait at most.",
)  # fmt: skip
CLUSTER_NAME = click.option("--cluster-name", required=True, help="The member.")


def on_hub(
    kubeconfig: Path | None, context: str, seconds: float, act: "Callable[[Client], Awaitable[Any]]"
) -> Any:
    """Does it with a client of the hub, in time or not at all."""
    return asyncio.run(_on_hub(kubeconfig, context, seconds, act))


async def _on_hub(
    kubeconfig: Path | None, context: str, seconds: float, act: "Callable[[Client], Awaitable[Any]]"
) -> Any:
    from random import SystemRandom

    from fleetqueue.base.clock import SystemClock
    from fleetqueue.kube.connect import connect

    client = connect(kubeconfig, context, clock=SystemClock(), random=SystemRandom())
    try:
        async with asyncio.timeout(seconds):
            return await act(client)
    except TimeoutError as error:
        raise UserError(f"not done within {seconds:.0f} s") from error
    finally:
        await client.close()
