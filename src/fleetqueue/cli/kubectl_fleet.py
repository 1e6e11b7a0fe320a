"""`kubectl fleet`: the verbs about a fleet as a plugin of kubectl, which finds it by its name."""

from typing import Any

import click

from fleetqueue.cli.commands.approve import approve
from fleetqueue.cli.commands.draincluster import draincluster
from fleetqueue.cli.commands.uncordoncluster import uncordoncluster
from fleetqueue.cli.main import run


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Approve stages of update runs, drain members, and let them be used again.",
)
def fleet() -> None:
    pass


for verb in (approve, draincluster, uncordoncluster):
    fleet.add_command(verb)


def main(arguments: list[str] | None = None) -> Any:
    return run(fleet, "kubectl fleet", arguments)
