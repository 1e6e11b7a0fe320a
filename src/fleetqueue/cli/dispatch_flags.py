"""Flags of a manager for what Kueue's configuration file cannot say of its workers."""

from collections.abc import Callable
from typing import Any

import click

from fleetqueue.cli import flags
from fleetqueue.cli.flags import Flag

BATCH_PERIOD = Flag(
    "multikueue-batch-period",
    "batch_seconds",
    "20ms",
    "How long changes on workers are gathered before workloads, or quota, are looked at.",
    "span",
    least=0,
    most=60,
)
_TOLERATES = click.option(
    "--tolerate-missing-kinds/--no-tolerate-missing-kinds",
    "tolerates_missing_kinds",
    default=False,
    show_default=True,
    help="A worker that lacks a kind of job is used for the others; or else for none, as Kueue "
    "does it.",
)


def dispatching(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds them to a command."""
    return _TOLERATES(flags.options([BATCH_PERIOD])(command))


def taken(given: dict[str, Any]) -> dict[str, Any]:
    """Fields of KueueOptions; what they are made of is given no more."""
    found = flags.values([BATCH_PERIOD], given)
    del given[BATCH_PERIOD.parameter]
    return {**found, "tolerates_missing_kinds": given.pop("tolerates_missing_kinds")}
