"""What options name of a machine's files: what cannot be is refused before anything begins."""

from pathlib import Path
from typing import Any

import click


class Place(click.Path):
    """A directory that is named: a variable that is not set must not make it whatever directory
    this is.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("it is empty", param, ctx)
        return super().convert(value, param, ctx)


class TextFile(click.Path):
    """One that exists, with text in it."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, exists=True, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        # A pipe can be read but once.
        if isinstance(path, Path) and path.is_file():
            try:
                path.read_text()
            except UnicodeDecodeError:
                self.fail(f"File '{path}' is not a text file.", param, ctx)
        return path
