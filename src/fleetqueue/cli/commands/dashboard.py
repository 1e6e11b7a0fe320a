"""`fleetqueue dashboard`: queues and workloads in a browser."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleetqueue.base.loops import new_runner

if TYPE_CHECKING:
    from fleetqueue.dashboard.running import DashboardOptions

PORT = 8090


@click.command(
    help="Show queues and workloads of any cluster with Kueue's kinds in a browser.\n\n"
    "Whoever opens the page sees what the kubeconfig may see; with --login, what the token that "
    "they show may see."
)
@click.option("--kubeconfig", type=click.Path(path_type=Path, exists=True, dir_okay=False),
              default=None, help="Which cluster; as kubectl has it.")  # fmt: skip
@click.option("--context", default="", help="A context of the kubeconfig.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True,
              help="Port to listen on; 0 takes a free one.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True,
              help="Address to listen on; others than this machine's need --login.")  # fmt: skip
@click.option("--login", is_flag=True, help="Ask for a token of the cluster, and go by its rights.")
@click.option("-v", "--verbose", is_flag=True, help="Log what the dashboard does.")
def dashboard(
    kubeconfig: Path | None, context: str, port: int, host: str, login: bool, verbose: bool
) -> None:
    from fleetqueue.dashboard.running import DashboardOptions

    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with new_runner() as runner:
        runner.run(_show(DashboardOptions(kubeconfig, context, host, port, login)))


async def _show(options: "DashboardOptions") -> None:
    from fleetqueue.app import until_stopped
    from fleetqueue.dashboard.running import showing

    async with showing(options) as url:
        click.echo(f"the dashboard is at {url}")
        await until_stopped()
