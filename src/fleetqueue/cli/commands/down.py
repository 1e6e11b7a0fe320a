"""`fleetqueue down`: stops what `fleetqueue up` started; the state stays."""

from pathlib import Path

import click

from fleetqueue.cli.fleets import DIRECTORY, directory_at


@click.command(help="Stop the manager and workers of this machine; their state stays in DIR.")
@DIRECTORY
def down(directory: Path) -> None:
    from fleetqueue.cli import fleets

    home = directory_at(directory)
    if home.pid() is None:
        click.echo(f"no fleet runs in {home.path}")
        return
    fleets.stop(home)
    click.echo(f"stopped; `fleetqueue up {home.option}` starts it again with all it had")
