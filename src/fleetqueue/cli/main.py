"""The `fleetqueue` command. Each verb lives in its own file, imported when it is used."""

import importlib
import sys
from typing import Any

import click

from fleetqueue import __version__
from fleetqueue.errors import FleetqueueError

COMMANDS = (
    "up", "down", "status", "join", "leave", "explain", "logs", "exec", "approve", "controller",
    "crds", "dashboard", "draincluster", "install", "kueue", "serve", "uncordoncluster", "version",
)  # fmt: skip
HELP = {
    "approve": "Let an update run of a hub go on.",
    "controller": "Run Kueue's controllers against any Kubernetes cluster.",
    "crds": "Print the CustomResourceDefinitions that fleetqueue knows.",
    "dashboard": "Show queues and workloads in a browser.",
    "down": "Stop the manager and workers of this machine.",
    "draincluster": "Evict all that a hub has placed on a member.",
    "explain": "Say whether a job runs, and if not, why not.",
    "exec": "Run a command in a pod of a job that runs on a worker.",
    "join": "Add a cluster to the workers of a manager.",
    "leave": "Take a cluster off the workers of a manager.",
    "logs": "Print the logs of a job that runs on a worker.",
    "status": "Show the manager and workers of this machine.",
    "up": "Start a manager and workers on this machine, joined and ready for jobs.",
    "install": "Prepare a Kubernetes cluster for the controllers.",
    "kueue": "Queues and workloads of Kueue, as kueuectl has them.",
    "serve": "Run a Kubernetes API server in this process.",
    "uncordoncluster": "Let a hub place on a drained member again.",
    "version": "Print the version of fleetqueue and of the Kubernetes API it speaks.",
}


class LazyGroup(click.Group):
    """Knows its commands by name, so that `--help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"fleetqueue.cli.commands.{cmd_name}")
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, HELP[name]) for name in COMMANDS])


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="One queue in front of many Kubernetes clusters, for AI and batch jobs.",
)
@click.version_option(__version__, prog_name="fleetqueue")
def cli() -> None:
    pass


def main(arguments: list[str] | None = None) -> Any:
    """Run a command; what goes wrong is told in a sentence, and the exit code says whose turn it
    is.
    """
    return run(cli, "fleetqueue", arguments)


def run(command: click.Command, name: str, arguments: list[str] | None = None) -> Any:
    try:
        return command.main(arguments, prog_name=name, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        sys.exit(130)
    except FleetqueueError as error:
        click.echo(error.render(), err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
