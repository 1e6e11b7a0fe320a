"""`fleetqueue up`: a manager and its workers on this machine, joined and ready for jobs."""

import gc
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fleetqueue.cli.fleets import DIRECTORY, directory_at
from fleetqueue.cli.paths import TextFile
from fleetqueue.errors import UserError
from fleetqueue.local_fleet.directory import Directory, Record
from fleetqueue.local_fleet.held import Phase
from fleetqueue.local_fleet.lock import check_free

INTERRUPTED = 130
"""The exit code of what ends by Ctrl-C, as shells have it."""


@click.command(
    help="Start a manager and workers on this machine, joined and ready for jobs.\n\n"
    "Each is a Kubernetes cluster in a process of its own. Their state is in DIR and survives "
    "`fleetqueue down`; DIR/kubeconfig has a context for each: manager, worker-1, worker-2 …"
)
@DIRECTORY
@click.option("--workers", type=click.IntRange(1, 20), default=None,
              help="How many workers.  [default: 3, or as many as there were]")  # fmt: skip
@click.option("--cpu", default=None,
              help="What each worker offers, whatever this machine has.  [default: 9, or as it "
              "was]")  # fmt: skip
@click.option("--memory", default=None,
              help="The same for memory.  [default: 36Gi, or as it was]")  # fmt: skip
@click.option("--gpus", type=click.IntRange(0, 1024), default=None,
              help="The same for GPUs.  [default: 0, or as it was]")  # fmt: skip
@click.option("--simulate/--no-simulate", default=None,
              help="Pods are simulated: no process is started.")  # fmt: skip
@click.option("--images", type=TextFile(),
              default=None, help="Which environments of this machine stand for which images, as "
              "YAML.  [default: as it was]")  # fmt: skip
@click.option("--no-images", is_flag=True, help="Forget the --images of an earlier start.")
@click.option("--config", type=TextFile(),
              default=None, help="Kueue's configuration file for the manager.  [default: as it "
              "was]")  # fmt: skip
@click.option("--no-config", is_flag=True, help="Forget the --config of an earlier start.")
@click.option("--dashboard-port", type=click.IntRange(0, 65535), default=None, metavar="PORT",
              help="Show queues and workloads in a browser, on this port; 0: do not.  [default: as "
              "it was]")  # fmt: skip
@click.option("--kueue-aware-placements/--no-kueue-aware-placements", "aware", default=None,
              help="Jobs that are placed on workers are followed to their end; or else as "
              "KubeFleet treats them.  [default: followed, or as it was]")  # fmt: skip
@click.option("--bare/--no-bare", default=None,
              help="Join and configure nothing: empty clusters.")  # fmt: skip
def up(
    directory: Path,
    workers: int | None,
    cpu: str | None,
    memory: str | None,
    gpus: int | None,
    simulate: bool | None,
    images: Path | None,
    no_images: bool,
    config: Path | None,
    no_config: bool,
    dashboard_port: int | None,
    aware: bool | None,
    bare: bool | None,
) -> None:
    # All that is loaded here is shared with the clusters, and nothing of it is ever garbage.
    gc.disable()
    from fleetqueue.cli import fleets

    home = directory_at(directory)
    wanted = {
        "cpu": cpu,
        "memory": memory,
        "gpus": gpus,
        "dashboard_port": dashboard_port,
        "is_job_aware": aware,
        "is_bare": bare,
        "simulates": simulate,
        "images": _file("images", images, no_images),
        "config": _file("config", config, no_config),
    }
    asked = {name: value for name, value in wanted.items() if value is not None}
    if home.lock.phase() is not Phase.RUNNING:
        record = _started(home, workers, asked)
    elif workers is not None or asked:
        raise UserError(
            f"a fleet runs in {home.path} already; run `fleetqueue down {home.option}` first to"
            " start it with other options"
        )
    else:
        record = fleets.found_running(home)
    for line in fleets.next_steps(home, record):
        click.echo(line)


def _started(home: Directory, workers: int | None, asked: Mapping[str, Any]) -> Record:
    """Whoever interrupts it is told when all has ended."""
    from fleetqueue.cli import fleets

    check_free(home.path, home.lock.phase())
    if sys.stderr.isatty():
        click.echo(f"starting in {home.path}", err=True)
    try:
        return fleets.start(home, workers, asked)
    except KeyboardInterrupt:
        click.echo(f"\nstopped before all was ready; nothing runs in {home.path}", err=True)
        raise SystemExit(INTERRUPTED) from None


def _file(option: str, named: Path | None, is_forgotten: bool) -> str | None:
    """None: as it was; "": none any more."""
    if named is not None and is_forgotten:
        raise click.UsageError(f"--{option} and --no-{option} exclude each other")
    if is_forgotten:
        return ""
    return None if named is None else str(named.resolve())
