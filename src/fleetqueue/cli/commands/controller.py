"""`fleetqueue controller`: Kueue's controllers against any Kubernetes cluster; with `hub` those of
a hub, with `member` the agent of a member.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleetqueue.base import garbage
from fleetqueue.base.loops import new_runner
from fleetqueue.cli import dispatch_flags, flags, hub_flags, member_flags
from fleetqueue.cli.attaching import CLUSTER, WEBHOOK_URL, attaching, read_options, with_all
from fleetqueue.cli.paths import TextFile

if TYPE_CHECKING:
    from fleetqueue.kube.webhook_serving import Reach

VERBOSE = click.option("-v", "--verbose", is_flag=True, help="Log what the controllers do.")

QUIET = ("", "info", "error", "panic")
ZAP = (
    click.option("--zap-log-level", default="", metavar="LEVEL",
                 help="info, error or panic; debug, or a number, is like --verbose."),
    *(click.option(f"--zap-{name}", expose_value=False, metavar="VALUE",
                   help="Taken, and without effect.")
      for name in ("encoder", "stacktrace-level", "time-encoding")),
    click.option("--zap-devel", expose_value=False, is_flag=False, flag_value="true",
                 metavar="VALUE", help="Taken, and without effect."),
)  # fmt: skip
"""How Kueue's own program is told to log."""


@click.group(invoke_without_command=True)
@attaching
@click.option("--webhook-host", default="",
              help="Address to listen on.  [default: the configuration's, or 0.0.0.0]")  # fmt: skip
@click.option("--webhook-port", type=click.IntRange(0, 65535), default=None,
              help="Port to listen on.  [default: the configuration's, or 9443]")  # fmt: skip
@click.option("--leader-elect/--no-leader-elect", default=True, show_default=True,
              help="Work only while holding the lease, unless the configuration says that nobody"
              " does.")  # fmt: skip
@dispatch_flags.dispatching
@with_all(ZAP)
@VERBOSE
@click.pass_context
def controller(
    context_: click.Context,
    /,
    webhook_host: str,
    webhook_port: int | None,
    leader_elect: bool,
    zap_log_level: str,
    verbose: bool,
    **options: Any,
) -> None:
    """Run Kueue's controllers against any Kubernetes cluster.

    The cluster must have been prepared with `fleetqueue install`. With `hub` or `member` it is
    placement that runs, after `fleetqueue install hub` or `fleetqueue install member`.
    """
    if context_.invoked_subcommand is not None:
        return
    from fleetqueue import attached

    sent = dispatch_flags.taken(options)
    read = read_options(
        **options, host=webhook_host, port=webhook_port, leads_alone=not leader_elect
    )
    read = replace(read, kueue=replace(read.kueue, **sent))
    _warn(unreached(read.reach))
    _run(attached.run(read), verbose or zap_log_level not in QUIET)


@controller.command()
@with_all(CLUSTER)
@WEBHOOK_URL
@click.option("--webhook-host", default="0.0.0.0", show_default=True, help="Address to listen on.")
@click.option("--webhook-port", type=click.IntRange(0, 65535), default=9443, show_default=True,
              help="Port to listen on.")  # fmt: skip
@flags.options(hub_flags.ALL)
@VERBOSE
def hub(
    kubeconfig: Path | None,
    context: str,
    webhook_url: str,
    webhook_host: str,
    webhook_port: int,
    verbose: bool,
    **given: Any,
) -> None:
    """Run the controllers of a hub: members, placements, update runs."""
    from fleetqueue.cli.fleet_options import hub_options
    from fleetqueue.fleet.attached import hub as attached

    read = hub_options(
        given, kubeconfig, context, webhook_url, host=webhook_host, port=webhook_port
    )
    _warn(flags.idle(hub_flags.ALL, given))
    if read.settings.enable_webhook:
        _warn(unreached(read.reach))
    _run(attached.run(read), verbose)


@controller.command()
@with_all(CLUSTER)
@click.option("--name", default="", help="Of its MemberCluster.  [default: as the Secret says]")
@click.option("--node-prices", type=TextFile(),
              default=None, help="What an hour costs, by machine size, as YAML.")  # fmt: skip
@flags.options(member_flags.ALL)
@VERBOSE
def member(
    kubeconfig: Path | None,
    context: str,
    name: str,
    node_prices: Path | None,
    verbose: bool,
    **given: Any,
) -> None:
    """Run the agent of a member.

    Where its hub is, HUB_SERVER_URL and MEMBER_CLUSTER_NAME say, with CONFIG_PATH, or the Secret
    that `fleetqueue join --fleet` makes.
    """
    from fleetqueue.cli.fleet_options import member_options
    from fleetqueue.fleet.attached import member as attached

    read = member_options(given, kubeconfig, context, name, node_prices)
    _warn(flags.idle(member_flags.ALL, given))
    _run(attached.run(read), verbose)


def unreached(reach: "Reach") -> list[str]:
    """Whoever starts it outside of the cluster and forgot the URL finds all writes refused."""
    from fleetqueue.kube.auth import is_in_cluster

    if reach.url or is_in_cluster(os.environ):
        return []
    return [
        f"the cluster asks webhooks of its Service {reach.namespace}/{reach.service}: unless that "
        "leads to this process, start it with --webhook-url, and `fleetqueue install` with the same"
    ]


def _warn(lines: list[str]) -> None:
    for line in lines:
        click.echo(f"Warning: {line}", err=True)


def _run(running: Coroutine[Any, Any, None], verbose: bool) -> None:
    """Until it is told to stop."""
    from fleetqueue.app import until_stopped

    garbage.keep_pauses_short()
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")

    async def main() -> None:
        work = asyncio.ensure_future(running)
        stop = asyncio.ensure_future(until_stopped())
        looking = asyncio.ensure_future(garbage.look_at_all())
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        looking.cancel()
        if work.done():
            stop.cancel()
            work.result()
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work

    with new_runner() as runner:
        runner.run(main())
