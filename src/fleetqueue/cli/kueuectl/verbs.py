"""The shape of kueuectl's command line: verbs whose commands are loaded when they are used, aliases
of kinds, and connection flags that may stand anywhere.
"""

import importlib
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

import click

from fleetqueue.cli.kueuectl.failures import Failure, as_failure

ARGUMENTS = "fleetqueue.kueuectl.arguments"
FLAGS = "fleetqueue.kueuectl.flags"
SETTINGS: MutableMapping[str, Any] = {"help_option_names": ["-h", "--help"]}
ALIASES = {
    "cq": "clusterqueue",
    "lq": "localqueue",
    "rf": "resourceflavor",
    "kwl": "workload",
    "kueueworkload": "workload",
    "kueueworkloads": "workload",
    "po": "pods",
}
CONNECTION: tuple[tuple[tuple[str, ...], str], ...] = (
    (("--kubeconfig",), "Path of the kubeconfig file."),
    (("--context",), "Name of the kubeconfig's context."),
    (("--cluster",), "Name of the kubeconfig's cluster."),
    (("--user",), "Name of the kubeconfig's user."),
    (("-n", "--namespace"), "Namespace of the request."),
    (("-s", "--server"), "Address of the API server."),
    (("--token",), "Bearer token to show the API server."),
    (("--as",), "User to act as."),
    (("--as-uid",), "UID to act with."),
    (("--certificate-authority",), "File with the authority of the server's certificate."),
    (("--client-certificate",), "File with the certificate to show."),
    (("--client-key",), "File with that certificate's key."),
    (("--tls-server-name",), "Name that the server's certificate must have."),
    (("--request-timeout",), "How long one request may take, such as 10s; 0 is for ever."),
    (("--cache-dir",), "Taken and not used: nothing is cached."),
)


def remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Flags count wherever they stand; the last one wins."""
    if value not in (None, (), False):
        flags = context.meta.setdefault(FLAGS, {})
        flags[str(option.name)] = value


def connection_options(*, hidden: bool) -> list[click.Option]:
    common: dict[str, Any] = {"expose_value": False, "callback": remember, "hidden": hidden}
    made = [
        click.Option([*names, names[-1].lstrip("-").replace("-", "_")], help=text, **common)
        for names, text in CONNECTION
    ]
    groups = ["--as-group", "as_group"]
    made.append(click.Option(groups, multiple=True, help="Group to act as; repeatable.", **common))
    for name, text in (
        ("--insecure-skip-tls-verify", "Do not check the server's certificate."),
        ("--disable-compression", "Ask for answers that are not compressed."),
    ):
        made.append(click.Option([name], is_flag=True, help=text, **common))
    return made


class KubeCommand(click.Command):
    """One that talks to a cluster."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options.setdefault("context_settings", SETTINGS)
        super().__init__(*arguments, **options)
        self.params += connection_options(hidden=True)


class Verb(click.Group):
    """Knows its commands by where they are: `module:attribute` in this package."""

    def __init__(
        self,
        name: str,
        help: str,
        places: Mapping[str, str],
        *,
        summaries: Mapping[str, str] | None = None,
        is_root: bool = False,
        **options: Any,
    ) -> None:
        settings = {**SETTINGS, **options.pop("context_settings", {})}
        super().__init__(
            name, help=help, invoke_without_command=True, context_settings=settings, **options
        )
        self.params += connection_options(hidden=not is_root)
        self.callback = _help_without_command
        self._places = places
        self._summaries = summaries or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        place = self._places.get(name)
        return None if place is None else load(place, name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        found = self.get_command(ctx, args[0])
        if found is None and not ctx.resilient_parsing:
            raise Failure(f'unknown command "{args[0]}" for "{ctx.command_path}"')
        return (None if found is None else found.name), found, args[1:]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            rows = [(name, self._summary(ctx, name)) for name in self._places]
            formatter.write_dl(rows)

    def _summary(self, ctx: click.Context, name: str) -> str:
        if name in self._summaries:
            return self._summaries[name]
        found = self.get_command(ctx, name)
        return "" if found is None else found.get_short_help_str()


class Root(Verb):
    """Keeps the arguments as they came, and words mistakes the same wherever it is mounted."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **options)
        except click.UsageError as error:
            raise as_failure(error) from error

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise as_failure(error) from error


def load(place: str, name: str) -> click.Command:
    module, _, attribute = place.partition(":")
    found = getattr(importlib.import_module(f"fleetqueue.cli.kueuectl.{module}"), attribute)
    command = found(name) if not isinstance(found, click.Command) else found
    assert isinstance(command, click.Command)
    return command


def kube_command(name: str, help: str) -> Callable[[Callable[..., Any]], KubeCommand]:
    def make(function: Callable[..., Any]) -> KubeCommand:
        return click.command(name, cls=KubeCommand, help=help)(function)

    return make


@click.pass_context
def _help_without_command(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
