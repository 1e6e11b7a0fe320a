"""Matches in time that grows with the text times the pattern, whatever the pattern is.

Every (instruction, position) is visited at most once, so nothing can backtrack without end. Used
for patterns that Python's `re` might take exponential time for.
"""

from typing import NamedTuple

from fleetqueue.apiserver.cel.regex.tree import (
    Assertion,
    Chars,
    Choice,
    Group,
    Ranges,
    Repeat,
    Sequence,
    Tree,
)

STEPS_MAX = 300_000


class TooExpensive(ValueError):
    """The match would take too many steps."""


class Instruction(NamedTuple):
    """`accept`, `chars`, `assert`, or `split` (tries `first`, then `second`)."""

    kind: str
    first: int = 0
    second: int = 0
    ranges: Ranges = ()
    place: str = ""


class Automaton:
    """A program for one pattern."""

    def __init__(self, tree: Tree) -> None:
        self.code: list[Instruction] = [Instruction("accept")]
        self.start = self._compile(tree, 0)

    def find(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """The leftmost match from `start` on, the first one by priority, as RE2 finds it."""
        visited: set[int] = set()
        for begin in range(start, len(text) + 1):
            end = self._run(text, begin, visited)
            if end is not None:
                return begin, end
        return None

    def _run(self, text: str, begin: int, visited: set[int]) -> int | None:
        code, size = self.code, len(text)
        width = size + 1
        stack = [(self.start, begin)]
        while stack:
            at, position = stack.pop()
            key = at * width + position
            if key in visited:
                continue
            visited.add(key)
            if len(visited) > STEPS_MAX:
                raise TooExpensive("the pattern takes too many steps on this text")
            step = code[at]
            if step.kind == "chars":
                if position < size and _holds(step.ranges, ord(text[position])):
                    stack.append((step.first, position + 1))
            elif step.kind == "split":
                stack.append((step.second, position))
                stack.append((step.first, position))
            elif step.kind == "accept":
                return position
            elif _is_at(step.place, text, position):
                stack.append((step.first, position))
        return None

    def _add(self, instruction: Instruction) -> int:
        if len(self.code) > 20_000:
            raise TooExpensive("the pattern is too large")
        self.code.append(instruction)
        return len(self.code) - 1

    def _compile(self, tree: Tree, following: int) -> int:
        """Instructions for `tree` that go on at `following`; returns where they start."""
        match tree:
            case Chars(ranges):
                return self._add(Instruction("chars", following, ranges=ranges))
            case Assertion(kind):
                return self._add(Instruction("assert", following, place=kind))
            case Sequence(items):
                for item in reversed(items):
                    following = self._compile(item, following)
                return following
            case Choice(items):
                entry = self._compile(items[-1], following)
                for item in reversed(items[:-1]):
                    first = self._compile(item, following)
                    entry = self._add(Instruction("split", first, entry))
                return entry
            case Group(item):
                return self._compile(item, following)
            case Repeat():
                return self._repeat(tree, following)

    def _repeat(self, tree: Repeat, following: int) -> int:
        if tree.most is None:
            loop = self._add(Instruction("split"))
            body = self._compile(tree.item, loop)
            self.code[loop] = self._choose(tree.is_greedy, body, following)
            entry = loop
        else:
            entry = following
            for _ in range(tree.most - tree.least):
                body = self._compile(tree.item, entry)
                entry = self._add(self._choose(tree.is_greedy, body, following))
        for _ in range(tree.least):
            entry = self._compile(tree.item, entry)
        return entry

    @staticmethod
    def _choose(is_greedy: bool, body: int, skip: int) -> Instruction:
        return Instruction("split", body, skip) if is_greedy else Instruction("split", skip, body)


def _holds(ranges: Ranges, point: int) -> bool:
    return any(low <= point <= high for low, high in ranges)


def _is_at(place: str, text: str, position: int) -> bool:
    match place:
        case "begin":
            return position == 0
        case "end":
            return position == len(text)
        case "line begin":
            return position == 0 or text[position - 1] == "\n"
        case "line end":
            return position == len(text) or text[position] == "\n"
    before = position > 0 and _is_word(text[position - 1])
    after = position < len(text) and _is_word(text[position])
    return (before != after) == (place == "word")


def _is_word(char: str) -> bool:
    return char == "_" or (char.isascii() and char.isalnum())
