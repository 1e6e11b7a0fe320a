"""`fleetqueue leave`: a worker of the manager, or a member of the hub, is one no more."""

import asyncio
from pathlib import Path

import click

from fleetqueue.cli.fleets import DIRECTORY, MANAGER_CONTEXT, MANAGER_KUBECONFIG, directory_at
from fleetqueue.errors import UserError

FORGET = "on the member: kubectl -n fleet-system delete secret/hub-kubeconfig-secret"
CLEAN_UP = (
    "kubectl delete clusterrole/multikueue-sa-role clusterrolebinding/multikueue-sa-crb"
    " --ignore-not-found",
    "kubectl -n kueue-system delete serviceaccount/multikueue-sa secret/multikueue-sa-token"
    " --ignore-not-found",
)
"""The token goes with its account, sometimes before anybody asks for it."""


@click.command(
    help="Take a cluster off the workers of a manager.\n\n"
    "What it runs for the manager is ended there and sent elsewhere; while it is out of reach, "
    "that takes --force. The account on the worker stays, and lets in who has its token; the last "
    "lines say how to remove it.\n\n"
    "With --fleet it leaves the hub as a member; what was placed on it stays there."
)
@click.argument("name")
@click.option("--config", "config_name", default="multikueue", show_default=True,
              help="The MultiKueueConfig that lists it.")  # fmt: skip
@click.option("--force", "is_forced", is_flag=True,
              help="Also while it is out of reach and may still run what starts elsewhere."
              )  # fmt: skip
@click.option("--fleet", "is_member", is_flag=True, help="It is a member of a hub.")
@click.option("--kubeconfig", type=click.Path(path_type=Path, exists=True, dir_okay=False),
              default=None, help="The member's, so that it forgets the hub.")  # fmt: skip
@click.option("--context", default="", help="Which context of it.  [default: NAME]")
@DIRECTORY
@MANAGER_KUBECONFIG
@MANAGER_CONTEXT
def leave(
    name: str,
    config_name: str,
    is_forced: bool,
    is_member: bool,
    kubeconfig: Path | None,
    context: str,
    directory: Path,
    manager_kubeconfig: Path | None,
    manager_context: str,
) -> None:
    from fleetqueue.cli import fleets

    if is_member and is_forced:
        raise click.UsageError("--force is for workers: what was placed on a member stays there")
    manager = fleets.manager_access(directory_at(directory), manager_kubeconfig, manager_context)
    if is_member:
        member = None if kubeconfig is None else fleets.access(kubeconfig, context or name)
        _leave_fleet(name, asyncio.run(fleets.leave_fleet(manager, member, name)))
        if member is None:
            click.echo(FORGET)
        return
    told = asyncio.run(fleets.leave(manager, name, config_name, is_forced=is_forced))
    if not told:
        raise UserError(f'the manager has no worker "{name}"')
    for each in told:
        click.echo(each)
    click.echo("to remove the manager's account, run on the worker:")
    for each in CLEAN_UP:
        click.echo(f"  {each}")


def _leave_fleet(name: str, told: list[str]) -> None:
    if not told:
        raise UserError(f'the hub has no member "{name}"')
    for each in told:
        click.echo(each)
