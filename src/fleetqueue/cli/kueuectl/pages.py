"""Fetches what a list shows page by page, and prints it: a table, or what `-o` asks for."""

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import click

from fleetqueue.cli.kueuectl import outputs, tables
from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.cli.kueuectl.outputs import Output
from fleetqueue.cli.kueuectl.session import Session
from fleetqueue.kube.calls import Selection
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Expired
from fleetqueue.kube.resources import Resource

LIMIT = "KUEUECTL_LIST_REQUEST_LIMIT"
LIMIT_DEFAULT = 100
NAMESPACE = "Namespace"
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a list is asked for: where, which, and how it is shown."""

    namespace: str = ""
    """"" is everywhere."""
    label_selector: str = ""
    field_selector: str = ""
    output: Output = field(default_factory=Output)
    is_everywhere: bool = False
    """Whether a table tells the namespace."""

    @property
    def selection(self) -> Selection:
        return {"label_selector": self.label_selector, "field_selector": self.field_selector}


@dataclass(frozen=True, slots=True)
class Columns:
    """A table of a kind: its headers, and a row for each object."""

    headers: Sequence[str]
    row: Callable[[Object], Sequence[Any]]


def list_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `selector` and `field_selector`."""
    for names, text in (
        (("--field-selector",), "Fields that are wanted, such as metadata.name=one."),
        (("-l", "--selector"), "Labels that are wanted, such as key=value."),
    ):
        command = click.option(*names, default="", help=text)(command)
    return command


def all_namespaces_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("-A", "--all-namespaces", is_flag=True, help="Look in all namespaces.")(
        command
    )


def asked(
    selector: str, field_selector: str, output: Output, all_namespaces: bool = False
) -> Asked:
    return Asked("", selector, field_selector, output, all_namespaces)


def placed(request: Asked, session: Session) -> Asked:
    return request if request.is_everywhere else replace(request, namespace=session.namespace)


def page_limit(environ: Mapping[str, str] = os.environ) -> int:
    text = environ.get(LIMIT, "")
    if not text:
        return LIMIT_DEFAULT
    if not text.isdecimal():
        raise Failure(f'invalid {LIMIT} environment variable "{text}": it must be a number')
    return int(text)


async def pages(client: Client, kind: Resource, request: Asked) -> AsyncIterator[list[Object]]:
    """Pages of one revision; where the server forgot it meanwhile, the rest comes in one."""
    token, seen, limit = "", 0, page_limit()
    while True:
        try:
            page = await client.list_page(
                kind, request.namespace, limit=limit, token=token, **request.selection
            )
        except Expired:
            page = await client.list_page(kind, request.namespace, limit=0, **request.selection)
            yield list(page.items[seen:])
            return
        seen += len(page.items)
        yield list(page.items)
        token = page.token
        if not token:
            return


async def show(kind: Resource, request: Asked, found: list[Object], columns: Columns) -> None:
    if not request.output.is_own:
        made = outputs.list_of(kind.kind, kind.api_version, found)
        click.echo(request.output.text(made))
    elif found:
        table(request, columns.headers, [(each, columns.row(each)) for each in found])
    else:
        tell_none(request)


def table(
    request: Asked, headers: Sequence[str], rows: Sequence[tuple[Object, Sequence[Any]]]
) -> None:
    if request.is_everywhere:
        headers = [NAMESPACE, *headers]
        lines = [[obj["metadata"].get("namespace"), *row] for obj, row in rows]
    else:
        lines = [list(row) for _, row in rows]
    click.echo(tables.render(headers, lines))


def tell_none(request: Asked) -> None:
    where = f" in {request.namespace} namespace." if request.namespace else ""
    click.echo(f"No resources found{where}", err=True)
