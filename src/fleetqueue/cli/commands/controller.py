"""`fleetqueue controller`: Kueue's controllers against any Kubernetes cluster."""

import asyncio
import contextlib
import gc
import logging
from typing import Any

import click

from fleetqueue.base.loops import new_runner
from fleetqueue.cli.attaching import attaching, read_options

COLLECTED_MIN = 20_000
"""Caches hold nearly all that is made here: looking for garbage more often finds none."""


@click.command()
@attaching
@click.option("--webhook-host", default="0.0.0.0", show_default=True, help="Address to listen on.")
@click.option("--webhook-port", type=click.IntRange(0, 65535), default=9443, show_default=True,
              help="Port to listen on.")  # fmt: skip
@click.option("--leader-elect/--no-leader-elect", default=True, show_default=True,
              help="Work only while holding the lease.")  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="Log what the controllers do.")
def controller(
    webhook_host: str, webhook_port: int, leader_elect: bool, verbose: bool, **options: Any
) -> None:
    """Run Kueue's controllers against any Kubernetes cluster.

    The cluster must have been prepared with `fleetqueue install`.
    """
    from fleetqueue import attached
    from fleetqueue.app import until_stopped

    gc.set_threshold(COLLECTED_MIN, 10, 10)
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    read = read_options(
        **options, host=webhook_host, port=webhook_port, leads_alone=not leader_elect
    )

    async def main() -> None:
        work = asyncio.ensure_future(attached.run(read))
        stop = asyncio.ensure_future(until_stopped())
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            stop.cancel()
            work.result()
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work

    with new_runner() as runner:
        runner.run(main())
