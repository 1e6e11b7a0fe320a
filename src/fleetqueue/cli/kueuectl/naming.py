"""Names of objects, for shells that complete them."""

from collections.abc import Callable

import click

from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.cli.kueuectl.session import Session, run
from fleetqueue.kube.resources import Resource

NAMES_MAX = 100


def complete_names(
    kind: Resource,
) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    def complete(context: click.Context, option: click.Parameter, begun: str) -> list[str]:
        async def work(session: Session) -> list[str]:
            space = session.namespace if kind.namespaced else ""
            page = await session.client.list_page(kind, space, limit=NAMES_MAX)
            return [str(each["metadata"]["name"]) for each in page.items]

        try:
            with context:
                found: list[str] = run(work)
        except Failure:
            # A shell that completes must not be told why it cannot.
            return []
        taken = context.params.get(str(option.name)) or ()
        return [name for name in found if name.startswith(begun) and name not in taken]

    return complete
