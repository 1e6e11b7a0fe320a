"""`kueuectl list pods`: the pods of a job, printed as `kubectl get pods` prints them."""

from dataclasses import replace
from typing import Any

import click

from fleetqueue.cli.kueuectl import owners, pages
from fleetqueue.cli.kueuectl.failures import no_arguments
from fleetqueue.cli.kueuectl.outputs import WIDE, Output, output_options
from fleetqueue.cli.kueuectl.pages import Asked, Columns, all_namespaces_option, list_options
from fleetqueue.cli.kueuectl.pod_selectors import selector_of
from fleetqueue.cli.kueuectl.session import Session, run
from fleetqueue.cli.kueuectl.verbs import kube_command
from fleetqueue.kube import calls
from fleetqueue.kube.resources import PODS, Object
from fleetqueue.kube.transport import Call

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@kube_command("pods", "List the pods of a job.")
@click.argument("name", nargs=-1, metavar="")
@click.option("--for", "owner", required=True, metavar="TYPE[.GROUP]/NAME", help="The job.")
@all_namespaces_option
@list_options
@output_options(allows_wide=True)
def pods(
    name: tuple[str, ...],
    owner: str,
    all_namespaces: bool,
    selector: str,
    field_selector: str,
    output: Output,
) -> Any:
    no_arguments(name, "kueuectl list pods")
    job = owners.read_pod_owner(owner)
    base = pages.asked(selector, field_selector, output, all_namespaces)

    async def work(session: Session) -> None:
        theirs = selector_of(*await owners.find(session, job))
        labels = ",".join(filter(None, (selector, theirs)))
        request = replace(pages.placed(base, session), label_selector=labels)
        if output.is_own:
            await _show_table(session, request)
            return
        found = [each async for page in pages.pages(session.client, PODS, request) for each in page]
        await pages.show(PODS, request, found, Columns((), lambda each: ()))

    return run(work)


async def _show_table(session: Session, request: Asked) -> None:
    headers: list[str] = []
    rows: list[tuple[Object, list[Any]]] = []
    token = ""
    while True:
        query = calls.selection_query(request.selection)
        query += calls.list_query({}, pages.page_limit(), token)
        call = Call("GET", PODS.path(request.namespace), query, {"accept": TABLE})
        table = (await session.client.call(call)).payload.decoded()
        shown = _shown(table, request.output.format == WIDE)
        headers = headers or [table["columnDefinitions"][at]["name"] for at in shown]
        for row in table.get("rows") or ():
            rows.append((row["object"], [row["cells"][at] for at in shown]))
        token = (table.get("metadata") or {}).get("continue") or ""
        if not token:
            break
    if rows:
        pages.table(request, headers, rows)
    else:
        pages.tell_none(request)


def _shown(table: Object, is_wide: bool) -> list[int]:
    definitions = table.get("columnDefinitions") or ()
    return [at for at, each in enumerate(definitions) if is_wide or not each.get("priority")]
