"""`fleetqueue crds`: prints the CustomResourceDefinitions of all kinds as a YAML stream."""

import click

from fleetqueue.errors import UsageError


@click.command()
@click.option("--group", metavar="GROUP", help="Only the kinds of this API group.")
def crds(group: str | None) -> None:
    """Print CustomResourceDefinitions.

    The output can be piped into `kubectl apply --server-side -f -`.
    """
    # Loading every kind takes a while, which other commands need not spend.
    from fleetqueue.api.crds import all_crds
    from fleetqueue.base import documents

    found = all_crds(group)
    if not found:
        groups = sorted({str(crd["spec"]["group"]) for crd in all_crds()})
        raise UsageError(f'no kind belongs to the API group "{group}"; known: {", ".join(groups)}')
    for number, crd in enumerate(found):
        click.echo(("---\n" if number else "") + documents.dump(crd), nl=False)
