"""`fleetqueue status`: what runs of the fleet on this machine, and which workers are there."""

import asyncio
from pathlib import Path

import click

from fleetqueue.cli.fleets import DIRECTORY, directory_at
from fleetqueue.errors import UserError
from fleetqueue.local_fleet.held import Phase

NOT_RUNNING = 3
"""The exit code, as `systemctl status` has it."""
PART_NOT_RUNNING = 1


@click.command(
    help="Show the manager and workers of this machine, and the clusters that joined them.\n\n"
    "One that says nothing for 5 seconds does not answer. The exit code is 0 where the manager and "
    "all workers of the fleet run, 1 where one of them has ended or does not answer, and 3 where "
    "the fleet is stopped, starts or stops. Clusters that joined it do not count."
)
@DIRECTORY
def status(directory: Path) -> None:
    from fleetqueue.cli import fleet_table, fleets
    from fleetqueue.kube.errors import BadKubeconfig

    home = directory_at(directory)
    phase = home.lock.phase()
    if phase in (Phase.STARTING, Phase.STOPPING):
        click.echo(f"the fleet in {home.path} is {phase}: ask again in a moment")
        raise SystemExit(NOT_RUNNING)
    record = home.read()
    if record is None:
        raise UserError(f"there is no fleet in {home.path}; start one: fleetqueue up {home.option}")
    try:
        rows = asyncio.run(fleet_table.rows(home, record))
    except BadKubeconfig as error:
        raise UserError(f"{error}: `fleetqueue up {home.option}` makes it anew") from error
    for line in fleet_table.lines(rows):
        click.echo(line)
    if phase is Phase.STOPPED:
        raise SystemExit(NOT_RUNNING)
    told = {fleet_table.ENDED: fleets.told_ended, fleet_table.SILENT: fleet_table.told_silent}
    troubles = [told[row[1]](home, row[0]) for row in rows if row[1] in told]
    for line in troubles:
        click.echo(line)
    if troubles:
        raise SystemExit(PART_NOT_RUNNING)
