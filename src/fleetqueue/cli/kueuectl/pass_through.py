"""Verbs that kubectl carries out: the process becomes kubectl, with the same arguments."""

import os
import shutil
from typing import Any, NoReturn

import click

from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.cli.kueuectl.verbs import ALIASES, ARGUMENTS, Verb

KINDS = ("clusterqueue", "localqueue", "resourceflavor", "workload")
TITLES = {
    "delete": "Delete",
    "describe": "Show details of",
    "edit": "Edit",
    "get": "Show",
    "patch": "Change fields of",
}


class PassingVerb(Verb):
    """Flags of kubectl may stand before the kind."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        for at, text in enumerate(args):
            if ALIASES.get(text, text) in KINDS:
                return super().resolve_command(ctx, [text, *args[:at], *args[at + 1 :]])
        return super().resolve_command(ctx, args)


def verb(name: str) -> Verb:
    places = dict.fromkeys(KINDS, f"pass_through:to_{name}")
    return _verb(name, f"{TITLES[name]} queues, flavors or workloads, by kubectl.", places)


def delete(name: str) -> Verb:
    places = dict.fromkeys(KINDS, "pass_through:to_delete")
    places["workload"] = "delete_workload:workload"
    return _verb(name, "Delete workloads with their jobs, queues or flavors.", places)


def to_delete(kind: str) -> click.Command:
    return _command("delete", kind)


def to_describe(kind: str) -> click.Command:
    return _command("describe", kind)


def to_edit(kind: str) -> click.Command:
    return _command("edit", kind)


def to_get(kind: str) -> click.Command:
    return _command("get", kind)


def to_patch(kind: str) -> click.Command:
    return _command("patch", kind)


def become_kubectl(arguments: list[str]) -> NoReturn:
    path = shutil.which("kubectl")
    if path is None:
        raise Failure(
            'pass-through command are not available: exec: "kubectl": executable file not found'
            f' in $PATH, PATH="{os.environ.get("PATH", "")}"'
        )
    os.execv(path, ["kubectl", *arguments])


def _verb(name: str, text: str, places: dict[str, str]) -> Verb:
    return PassingVerb(
        name,
        text,
        places,
        context_settings={"ignore_unknown_options": True},
    )


def _command(verb: str, kind: str) -> click.Command:
    @click.command(
        kind,
        help=f"{TITLES[verb]} a {kind}, by kubectl.",
        context_settings={"ignore_unknown_options": True},
        add_help_option=False,
    )
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    @click.pass_context
    def command(context: click.Context, arguments: Any) -> None:
        become_kubectl(context.meta[ARGUMENTS])

    return command
