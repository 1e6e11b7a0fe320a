"""What a parsed RE2 pattern consists of: built by the parser, read by emitter and automaton."""

from dataclasses import dataclass
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]
LAST_CODE_POINT = 0x10FFFF


@dataclass(frozen=True, slots=True)
class Chars:
    """One code point out of sorted, disjoint ranges."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Assertion:
    """A place in the text: "begin", "end", "line begin", "line end", "word", "not word"."""

    kind: str


@dataclass(frozen=True, slots=True)
class Sequence:
    items: "tuple[Tree, ...]"


@dataclass(frozen=True, slots=True)
class Choice:
    items: "tuple[Tree, ...]"


@dataclass(frozen=True, slots=True)
class Repeat:
    item: "Tree"
    least: int
    most: int | None
    is_greedy: bool


@dataclass(frozen=True, slots=True)
class Group:
    item: "Tree"


Tree: TypeAlias = Chars | Assertion | Sequence | Choice | Repeat | Group
EMPTY = Sequence(())


class PatternError(ValueError):
    """The pattern is not RE2; the text is what Go's regexp package says about it."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"error parsing regexp: {what}: `{where}`")


def normalised(pairs: list[tuple[int, int]]) -> Ranges:
    """Sorted, with touching ranges joined."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(pairs):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return tuple(joined)


def inverted(ranges: Ranges) -> Ranges:
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if low > start:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= LAST_CODE_POINT:
        gaps.append((start, LAST_CODE_POINT))
    return tuple(gaps)


def overlap(first: Ranges, second: Ranges) -> bool:
    return any(a <= d and c <= b for a, b in first for c, d in second)
