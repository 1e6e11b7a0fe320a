"""`fleetqueue install`: CRDs, roles and webhook registrations on any Kubernetes cluster."""

import asyncio
from typing import Any

import click

from fleetqueue.cli.attaching import attaching, read_options


@click.command()
@attaching
def install(**options: Any) -> None:
    """Prepare a Kubernetes cluster for the controllers.

    Makes or updates the CRDs of Kueue, the roles for its users and the registrations of our
    webhooks. `fleetqueue controller` does the work afterwards.
    """
    from fleetqueue import attached

    for name in asyncio.run(attached.install(read_options(**options))):
        click.echo(name)
