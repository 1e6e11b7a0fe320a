"""What goes wrong in a command of kueuectl, in the words and with the exit code of its users'
scripts.
"""

from typing import IO, Any

import click


class Failure(click.ClickException):
    """Told on one line behind `Error:`; `hint` may say more on the next."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"Error: {self.message}", err=True)
        if self.hint:
            click.echo(f"  {self.hint}", err=True)


def exactly_one(names: tuple[str, ...]) -> str:
    if len(names) != 1:
        raise Failure(f"accepts 1 arg(s), received {len(names)}")
    return names[0]


def no_arguments(names: tuple[str, ...], command: str) -> None:
    if names:
        raise Failure(f'unknown command "{names[0]}" for "{command}"')


def as_failure(error: click.UsageError) -> Failure:
    """A mistake on the command line, in cobra's words where it has some."""
    if isinstance(error, click.NoSuchOption):
        name = error.option_name
        if name.startswith("--"):
            return Failure(f"unknown flag: {name}")
        return Failure(f"unknown shorthand flag: '{name[1:2]}' in {name}")
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option):
        return Failure(f'required flag(s) "{error.param.opts[-1].lstrip("-")}" not set')
    if isinstance(error, click.BadOptionUsage) and "requires an argument" in error.message:
        return Failure(f"flag needs an argument: {error.option_name}")
    if isinstance(error, click.MissingParameter):
        return Failure("accepts 1 arg(s), received 0")
    return Failure(error.format_message().removesuffix("."))
