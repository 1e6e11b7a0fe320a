"""Flags as KubeFleet's programs have them: by their names, `--flag=false` and `--flag=15m`, each
with its range, all from a table.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from fleetqueue.api.times import TimeError, format_duration, parse_duration


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag; `field` is what it sets, "" where it is only understood."""

    name: str
    field: str
    default: Any
    help: str
    kind: str = ""
    """`span`: a duration, in seconds; `list`: several, divided by commas or semicolons."""
    least: float | None = None
    most: float | None = None
    why_idle: str = ""
    """Why it has no effect, for whoever gives it all the same."""

    @property
    def parameter(self) -> str:
        return self.name.replace("-", "_")


def options(flags: Iterable[Flag]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that adds them to a command."""
    made = [_option(flag) for flag in flags]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for each in reversed(made):
            command = each(command)
        return command

    return decorate


def values(flags: Iterable[Flag], given: Mapping[str, Any]) -> dict[str, Any]:
    """By field; a value outside of its range is refused."""
    found = {}
    for flag in flags:
        value = given[flag.parameter]
        _check(flag, value)
        if flag.field:
            found[flag.field] = tuple(_items(value)) if flag.kind == "list" else value
    return found


def idle(flags: Iterable[Flag], given: Mapping[str, Any]) -> list[str]:
    """What to tell of flags that were given and change nothing."""
    return [
        f"--{flag.name} has no effect: {flag.why_idle}"
        for flag in flags
        if flag.why_idle and given[flag.parameter] != _default(flag)
    ]


def _default(flag: Flag) -> Any:
    return _span(flag.default) if flag.kind == "span" else flag.default


def _option(flag: Flag) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    name = f"--{flag.name}"
    if isinstance(flag.default, bool):
        return click.option(
            name,
            flag.parameter,
            type=bool,
            is_flag=False,
            flag_value=True,
            default=flag.default,
            show_default=True,
            help=flag.help,
        )
    more: dict[str, Any] = {}
    if flag.kind == "span":
        more = {"type": _span, "metavar": "DURATION"}
    return click.option(
        name, flag.parameter, default=flag.default, show_default=True, help=flag.help, **more
    )


def _span(text: str) -> float:
    try:
        return parse_duration(text).total_seconds()
    except TimeError as error:
        raise click.BadParameter(f'"{text}" is no duration: write one such as 15m') from error


def _check(flag: Flag, value: Any) -> None:
    if flag.least is None or flag.most is None or flag.least <= value <= flag.most:
        return
    low, high = (_shown(flag, each) for each in (flag.least, flag.most))
    raise click.BadParameter(f"must be from {low} to {high}", param_hint=f"--{flag.name}")


def _shown(flag: Flag, value: float) -> str:
    if flag.kind != "span":
        return f"{value:g}"
    from datetime import timedelta

    return format_duration(timedelta(seconds=value))


def _items(text: str) -> list[str]:
    return [each.strip() for each in text.replace(";", ",").split(",") if each.strip()]
