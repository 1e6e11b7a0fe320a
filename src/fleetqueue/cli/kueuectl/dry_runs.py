"""The flag `--dry-run`: whether a change is made, sent to be checked, or only shown."""

from collections.abc import Callable
from enum import Enum
from typing import Any

import click

from fleetqueue.cli.kueuectl.failures import Failure


class DryRun(Enum):
    """The value is what is put behind the verb."""

    NONE = ""
    CLIENT = " (client dry run)"
    SERVER = " (server dry run)"

    @property
    def is_sent(self) -> bool:
        return self is not DryRun.CLIENT


_MEANINGS = {"none": DryRun.NONE, "client": DryRun.CLIENT, "server": DryRun.SERVER}


def read_dry_run(text: str) -> DryRun:
    if text not in _MEANINGS:
        raise Failure(f'Invalid dry-run value ({text}). Must be "none", "server", or "client".')
    return _MEANINGS[text]


def dry_run_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `dry_run: DryRun`; the flag alone means the client's."""
    return click.option(
        "--dry-run", is_flag=False, flag_value="client", default="none", callback=_read,
        metavar="none|client|server", help="Only show, or only have checked, what would be done.",
    )(command)  # fmt: skip


def _read(context: click.Context, option: click.Parameter, value: str) -> DryRun:
    return DryRun.NONE if context.resilient_parsing else read_dry_run(value)
