"""`fleetqueue version`."""

import click

from fleetqueue import __version__


@click.command(help="Print the version of fleetqueue, and of what it speaks.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text")
def version(output: str) -> None:
    from fleetqueue.api.kueue.group import LEVEL
    from fleetqueue.apiserver.pages import KUBERNETES
    from fleetqueue.base import codec

    if output == "json":
        facts = {"fleetqueue": __version__, "kubernetes": KUBERNETES, "kueue": LEVEL}
        click.echo(codec.encode(facts).decode())
        return
    click.echo(f"fleetqueue {__version__}")
    click.echo(f"Kubernetes API {KUBERNETES}")
    click.echo(f"Kueue {LEVEL}")
