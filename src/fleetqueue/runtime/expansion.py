"""Replaces `$(NAME)` in commands, arguments and values by what a container's variables hold."""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Unknown names stay as they are written, `$$` is a dollar; nothing is expanded twice."""

    def replace(found: re.Match[str]) -> str:
        if found.group(1) is None:
            return "$"
        return variables.get(found.group(1), found.group())

    return _REFERENCE.sub(replace, text)


def missing_values(text: str, variables: Mapping[str, str]) -> list[str]:
    """The names in a text that nobody defined or that are empty."""
    found = {match.group(1) for match in _REFERENCE.finditer(text)} - {None}
    return sorted(name for name in found if name is not None and not variables.get(name))
