"""`fleetqueue install`: CRDs, roles, Services and webhook registrations on any Kubernetes
cluster.
"""

import asyncio
from typing import Any

import click

from fleetqueue.cli.attaching import attaching, read_options


@click.command()
@attaching
@click.option("--print", "prints", is_flag=True, help="Print all of it as YAML, and make nothing.")
@click.option(
    "--mutating-admission-policy",
    "has_policy",
    is_flag=True,
    help="Also a policy with which any field manager may nominate workers; Kubernetes 1.36.",
)
def install(prints: bool, **options: Any) -> None:
    """Prepare a Kubernetes cluster for the controllers.

    Makes or updates the CRDs of Kueue, the roles for its users and for the controllers, their
    ServiceAccount, and the registrations of our webhooks. `fleetqueue controller` does the work
    afterwards.
    """
    from fleetqueue import attached, installation

    read = read_options(**options)
    if prints:
        from fleetqueue.base import documents

        objects = installation.objects(attached.wanted(read))
        click.echo(documents.dump_all(objects), nl=False)
        return
    for name in asyncio.run(attached.install(read)):
        click.echo(name)
