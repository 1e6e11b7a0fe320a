"""Creates one object, or shows it, and says so."""

from typing import Any

import click

from fleetqueue.cli.kueuectl import outputs
from fleetqueue.cli.kueuectl.dry_runs import DryRun
from fleetqueue.cli.kueuectl.outputs import Output
from fleetqueue.cli.kueuectl.session import Session
from fleetqueue.kube.resources import Resource

Object = dict[str, Any]


async def create(
    session: Session, kind: Resource, obj: Object, dry_run: DryRun, output: Output
) -> None:
    if dry_run.is_sent:
        obj = dict(
            await session.client.create(obj, resource=kind, dry_run=dry_run is DryRun.SERVER)
        )
    tell(obj, f"created{dry_run.value}", output)


def tell(obj: Object, verb: str, output: Output) -> None:
    """A line with the object's name and what was done to it, or the object as it was asked for."""
    click.echo(outputs.title(obj, verb) if output.is_own else output.text(obj))


def new_object(kind: Resource, name: str, spec: Object, namespace: str = "") -> Object:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": metadata,
        "spec": spec,
    }
