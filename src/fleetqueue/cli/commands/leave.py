"""`fleetqueue leave`: a worker of the manager is one no more."""

import asyncio
from pathlib import Path

import click

from fleetqueue.cli.fleets import DIRECTORY, MANAGER_CONTEXT, MANAGER_KUBECONFIG, directory_at


@click.command(
    help="Take a cluster off the workers of a manager.\n\n"
    "What it runs for the manager is sent elsewhere. The account on the worker stays; the last "
    "line says how to remove it."
)
@click.argument("name")
@click.option("--config", "config_name", default="multikueue", show_default=True,
              help="The MultiKueueConfig that lists it.")  # fmt: skip
@DIRECTORY
@MANAGER_KUBECONFIG
@MANAGER_CONTEXT
def leave(
    name: str,
    config_name: str,
    directory: Path,
    manager_kubeconfig: Path | None,
    manager_context: str,
) -> None:
    from fleetqueue.cli import fleets

    manager = fleets.manager_access(directory_at(directory), manager_kubeconfig, manager_context)
    told = asyncio.run(fleets.leave(manager, name, config_name))
    if not told:
        raise click.ClickException(f'the manager has no worker "{name}"')
    for each in told:
        click.echo(each)
    click.echo(
        "on the worker: kubectl delete clusterrole/multikueue-sa-role"
        " clusterrolebinding/multikueue-sa-crb;"
        " kubectl -n kueue-system delete serviceaccount/multikueue-sa secret/multikueue-sa-token"
    )
