"""`kueuectl version`."""

from typing import Any

import click

from fleetqueue import __version__
from fleetqueue.cli.kueuectl.failures import Failure, no_arguments
from fleetqueue.cli.kueuectl.kinds import DEPLOYMENT
from fleetqueue.cli.kueuectl.session import Session, run
from fleetqueue.cli.kueuectl.verbs import kube_command
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.resources import Object

NAMESPACE = "kueue-system"
NAME = "kueue-controller-manager"
CONTAINER = "manager"


@kube_command("version", "Print the versions of this client and of the controller.")
@click.argument("arguments", nargs=-1, metavar="")
def version(arguments: tuple[str, ...]) -> Any:
    no_arguments(arguments, "kueuectl version")
    click.echo(f"Client Version: v{__version__}")
    try:
        return run(_tell_image)
    except Failure:
        # No cluster, or none that may be asked: the client's own version is enough.
        return None


async def _tell_image(session: Session) -> None:
    try:
        found = await session.client.get(DEPLOYMENT, NAME, NAMESPACE)
    except KubeError:
        return
    image = image_of(found)
    if image:
        click.echo(f"Kueue Controller Manager Image: {image}")


def image_of(deployment: Object) -> str:
    containers = deployment["spec"]["template"]["spec"].get("containers") or ()
    return next((str(e["image"]) for e in containers if e["name"] == CONTAINER), "")
