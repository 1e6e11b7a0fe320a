"""Regular expressions with RE2's syntax and meaning, safe against patterns and texts of strangers.

Most patterns run on Python's `re` after translation. Those that could backtrack without end, and
texts too long for the pattern's shape, run on an automaton whose time is linear.
"""

import re
from functools import lru_cache

from fleetqueue.apiserver.cel.regex.automaton import Automaton, TooExpensive
from fleetqueue.apiserver.cel.regex.emitter import emit
from fleetqueue.apiserver.cel.regex.parser import parse
from fleetqueue.apiserver.cel.regex.safety import degree
from fleetqueue.apiserver.cel.regex.tree import PatternError

__all__ = ["Pattern", "PatternError", "TooExpensive", "compile_pattern"]

_STEPS = 2_000_000


class Pattern:
    """One compiled pattern; `matches` looks for it anywhere in the text."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tree = parse(source)
        exponent = degree(self.tree)
        self._length_max = 0 if exponent is None else int(_STEPS ** (1 / exponent))
        self._automaton: Automaton | None = None
        self._search = re.compile(emit(self.tree)).search

    def matches(self, text: str) -> bool:
        if len(text) <= self._length_max:
            return self._search(text) is not None
        return self._slow().find(text) is not None

    def find(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """Where the leftmost match at or after `start` begins and ends."""
        if len(text) <= self._length_max:
            found = self._search(text, start)
            return found.span() if found else None
        return self._slow().find(text, start)

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        found: list[str] = []
        at = 0
        last_end = -1
        while at <= len(text) and (limit < 0 or len(found) < limit):
            span = self.find(text, at)
            if span is None:
                break
            begin, end = span
            # An empty match right behind the previous one does not count, as in Go.
            if end > begin or begin != last_end:
                found.append(text[begin:end])
            last_end = end
            at = end if end > begin else end + 1
        return found

    def _slow(self) -> Automaton:
        if self._automaton is None:
            self._automaton = Automaton(self.tree)
        return self._automaton


@lru_cache(maxsize=4096)
def compile_pattern(source: str) -> Pattern:
    """Raises PatternError if the source is not RE2."""
    return Pattern(source)
