"""The options that `install` and `controller` share."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleetqueue.cli.paths import TextFile

if TYPE_CHECKING:
    from fleetqueue.attached import AttachOptions

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_FILE = TextFile()
CLUSTER = (
    click.option(
        "--kubeconfig", type=_FILE, default=None, help="Which cluster; as kubectl has it."
    ),
    click.option("--context", default="", help="A context of the kubeconfig."),
)
WEBHOOK_URL = click.option(
    "--webhook-url",
    default="",
    metavar="URL",
    help="Where the API server reaches our webhooks; without it, behind the Service fleetwebhook.",
)
_OPTIONS = (
    *CLUSTER,
    click.option("--config", type=_FILE, default=None, help="Kueue's configuration file."),
    click.option("--feature-gates", default="", help="Kueue's gates: A=true,B=false."),
    click.option(
        "--webhook-url",
        default="",
        metavar="URL",
        help="Where the API server reaches our webhooks; without it, behind the Service "
        "kueue-webhook-service.",
    ),
)


def with_all(options: Sequence[Decorator]) -> Decorator:
    """One decorator of several."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


attaching = with_all(_OPTIONS)


def read_options(
    kubeconfig: Path | None,
    context: str,
    config: Path | None,
    feature_gates: str,
    webhook_url: str,
    **more: Any,
) -> "AttachOptions":
    from fleetqueue.api.kueue.config.reading import DEFAULT_NAMESPACE
    from fleetqueue.api.kueue.gates import read_gates
    from fleetqueue.attached import AttachOptions
    from fleetqueue.kube.auth import own_namespace
    from fleetqueue.kueue import read_options

    text = None if config is None else config.read_text()
    namespace = own_namespace(os.environ) or DEFAULT_NAMESPACE
    kueue = read_options(text, read_gates(feature_gates), namespace=namespace)
    return AttachOptions(kueue, kubeconfig, context, url=webhook_url, **more)
