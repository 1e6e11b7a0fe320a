"""`kueuectl list resourceflavor`."""

from datetime import datetime
from typing import Any

import click

from fleetqueue.cli.kueuectl import pages
from fleetqueue.cli.kueuectl.failures import no_arguments
from fleetqueue.cli.kueuectl.kinds import RESOURCE_FLAVOR
from fleetqueue.cli.kueuectl.outputs import Output, output_options
from fleetqueue.cli.kueuectl.pages import Columns, list_options
from fleetqueue.cli.kueuectl.session import Session, run
from fleetqueue.cli.kueuectl.tables import age
from fleetqueue.cli.kueuectl.verbs import kube_command

Object = dict[str, Any]
HEADERS = ("Name", "Node Labels", "Age")


@kube_command("resourceflavor", "List ResourceFlavors.")
@click.argument("name", nargs=-1, metavar="")
@list_options
@output_options()
def resource_flavors(
    name: tuple[str, ...], selector: str, field_selector: str, output: Output
) -> Any:
    no_arguments(name, "kueuectl list resourceflavor")
    request = pages.asked(selector, field_selector, output)

    async def work(session: Session) -> None:
        found = [
            each
            async for page in pages.pages(session.client, RESOURCE_FLAVOR, request)
            for each in page
        ]
        now = session.clock.now()
        shown = Columns(HEADERS, lambda each: row(each, now))
        await pages.show(RESOURCE_FLAVOR, request, found, shown)

    return run(work)


def row(flavor: Object, now: datetime) -> list[Any]:
    labels = (flavor.get("spec") or {}).get("nodeLabels") or {}
    return [
        flavor["metadata"]["name"],
        ", ".join(f"{key}={value}" for key, value in sorted(labels.items())),
        age(now, flavor["metadata"].get("creationTimestamp")),
    ]
