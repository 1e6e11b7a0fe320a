"""Flags of a manager for what Kueue's configuration file cannot say of its workers."""

from collections.abc import Callable
from typing import Any

import click

from fleetqueue.cli import flags
from fleetqueue.cli.flags import Flag

DAY_SECONDS = 86_400.0
PERIODS = (
    Flag(
        "multikueue-batch-period",
        "batch_seconds",
        "20ms",
        "How long changes on workers are gathered before workloads, or quota, are looked at.",
        "span",
        least=0,
        most=60,
    ),
    Flag(
        "multikueue-incremental-round",
        "round_seconds",
        "5m",
        "How long the Incremental dispatcher waits before it nominates more workers.",
        "span",
        least=1,
        most=DAY_SECONDS,
    ),
    Flag(
        "multikueue-preemption-turn",
        "preemption_seconds",
        "5m",
        "How long a worker that may preempt for a workload has, before another may.",
        "span",
        least=1,
        most=DAY_SECONDS,
    ),
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
    return _TOLERATES(flags.options(PERIODS)(command))


def taken(given: dict[str, Any]) -> dict[str, Any]:
    """Fields of KueueOptions; what they are made of is given no more."""
    found = flags.values(PERIODS, given)
    for flag in PERIODS:
        del given[flag.parameter]
    return {**found, "tolerates_missing_kinds": given.pop("tolerates_missing_kinds")}
