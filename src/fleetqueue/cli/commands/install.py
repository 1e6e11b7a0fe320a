"""`fleetqueue install`: CRDs, roles, Services and webhook registrations on any Kubernetes
cluster; with `hub` and `member` those that placement needs.
"""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from fleetqueue.cli import flags, hub_flags
from fleetqueue.cli.attaching import CLUSTER, WEBHOOK_URL, attaching, read_options, with_all

PRINT = click.option(
    "--print", "prints", is_flag=True, help="Print all of it as YAML, and make nothing."
)


@click.group(invoke_without_command=True)
@attaching
@PRINT
@click.option(
    "--mutating-admission-policy",
    "has_policy",
    is_flag=True,
    help="Also a policy with which any field manager may nominate workers; Kubernetes 1.36, or "
    "earlier with its feature gate.",
)
@click.option(
    "--image",
    default="",
    help="Also the Deployment kueue-controller-manager, which runs `fleetqueue controller` in this "
    "image; without it the controllers run wherever you start them.",
)
@click.option(
    "--replicas", type=click.IntRange(1), default=1, show_default=True, help="Of the Deployment."
)
@click.pass_context
def install(context_: click.Context, /, prints: bool, **options: Any) -> None:
    """Prepare a Kubernetes cluster for the controllers.

    Makes or updates the CRDs of Kueue, the roles for its users and for the controllers, their
    ServiceAccount, and the registrations of our webhooks. `fleetqueue controller` does the work
    afterwards. `hub` and `member` prepare a cluster for `fleetqueue controller hub` and
    `fleetqueue controller member`.
    """
    if context_.invoked_subcommand is not None:
        return
    from fleetqueue import attached, installation

    if options["image"] and options["webhook_url"]:
        raise click.UsageError("--image runs the controllers in the cluster, --webhook-url outside")
    read = read_options(**options)
    if prints:
        _print(installation.objects(attached.wanted(read)))
        return
    _tell(asyncio.run(attached.install(read)))


@install.command()
@with_all(CLUSTER)
@WEBHOOK_URL
@PRINT
@flags.options(hub_flags.ALL)
def hub(
    kubeconfig: Path | None, context: str, webhook_url: str, prints: bool, **given: Any
) -> None:
    """Prepare a cluster to be a hub: the CRDs of KubeFleet, a role, its webhooks."""
    from fleetqueue.cli.fleet_options import hub_options
    from fleetqueue.fleet.attached import hub as attached
    from fleetqueue.fleet.attached import installation

    read = hub_options(given, kubeconfig, context, webhook_url)
    if prints:
        _print(installation.hub_objects(read.settings, read.reach))
        return
    _tell(asyncio.run(attached.install(read)))


@install.command()
@with_all(CLUSTER)
@PRINT
def member(kubeconfig: Path | None, context: str, prints: bool) -> None:
    """Prepare a cluster to be a member: the CRD of AppliedWorks, an account for its agent."""
    from fleetqueue.fleet.attached import installation
    from fleetqueue.fleet.attached import member as attached
    from fleetqueue.fleet.attached.member import MemberOptions
    from fleetqueue.fleet.settings import MemberSettings

    if prints:
        _print(installation.member_objects())
        return
    options = MemberOptions(MemberSettings(name=""), kubeconfig, context)
    _tell(asyncio.run(attached.install(options)))


def _print(objects: Iterable[dict[str, Any]]) -> None:
    from fleetqueue.base import documents

    click.echo(documents.dump_all(objects), nl=False)


def _tell(names: Iterable[str]) -> None:
    for name in names:
        click.echo(name)
