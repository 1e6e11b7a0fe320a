"""The `kueuectl` command; each verb lives in its own file, imported when it is used."""

import os
import sys
from typing import Any

import click

from fleetqueue.cli.kueuectl.verbs import Root

PLACES = {
    "completion": "completion:completion",
    "create": "create:create",
    "delete": "pass_through:delete",
    "describe": "pass_through:verb",
    "edit": "pass_through:verb",
    "get": "pass_through:verb",
    "list": "listing:listing",
    "patch": "pass_through:verb",
    "resume": "stop:resume",
    "stop": "stop:stop",
    "version": "version:version",
}
SUMMARIES = {
    "completion": "Print the completion script of a shell.",
    "create": "Create a queue or a flavor.",
    "delete": "Delete workloads with their jobs, queues or flavors.",
    "describe": "Show details, by kubectl.",
    "edit": "Edit in an editor, by kubectl.",
    "get": "Show, by kubectl.",
    "list": "List queues, flavors, workloads or the pods of a job.",
    "patch": "Change fields, by kubectl.",
    "resume": "Let a queue admit again, or a workload be queued again.",
    "stop": "Hold a queue, or take a workload out of its queue.",
    "version": "Print the versions of this client and of the controller.",
}

kueue = Root("kueue", "Queues and workloads of Kueue.", PLACES, summaries=SUMMARIES, is_root=True)


def main(arguments: list[str] | None = None, obj: Any = None) -> Any:
    """Runs one command; exits with 1 where it failed."""
    if os.environ.get("_KUEUECTL_COMPLETE", "").startswith("powershell"):
        # The one shell that the library does not know.
        from fleetqueue.cli.kueuectl import completion as completion
    try:
        return kueue.main(arguments, prog_name="kueuectl", standalone_mode=False, obj=obj)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        sys.exit(130)
