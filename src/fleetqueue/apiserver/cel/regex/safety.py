"""Tells which patterns a backtracking engine matches in bounded time.

`degree` is the exponent: a text of n characters takes about n ** degree steps; None means that the
time could grow exponentially, and the linear-time automaton has to do it.
"""

from fleetqueue.apiserver.cel.regex.tree import (
    Assertion,
    Chars,
    Choice,
    Group,
    Ranges,
    Repeat,
    Sequence,
    Tree,
    normalised,
    overlap,
)

_MANY = 4
"""A counted repetition of more than this is taken for an unbounded one."""


def degree(tree: Tree) -> int | None:
    """For a search that may start anywhere; an anchor at the front saves one."""
    inner = _degree(tree)
    if inner is None:
        return None
    return max(1, inner + (0 if _is_anchored(tree) else 1))


def _degree(tree: Tree) -> int | None:
    match tree:
        case Chars() | Assertion():
            return 0
        case Group(item):
            return _degree(item)
        case Sequence(items):
            return _sum([_degree(item) for item in items])
        case Choice(items):
            found = [_degree(item) for item in items]
            return None if None in found else max(d for d in found if d is not None)
        case Repeat(item, _, most, _):
            inner = _degree(item)
            if inner is None or (most is not None and most <= 1):
                return inner
            if most is not None and most <= _MANY:
                return None if inner is None else inner * most if inner else 1
            return _looped(item, inner)


def _looped(item: Tree, inner: int) -> int | None:
    """A loop is harmless if it is clear from each character whether a new round begins."""
    item = _bare(item)
    if _is_fixed(item):
        return 1
    head, rest = _split(item)
    if head is not None and not overlap(head, _alphabet(rest)):
        return inner + 1
    return None


def _sum(parts: list[int | None]) -> int | None:
    return None if None in parts else sum(part for part in parts if part is not None)


def _bare(tree: Tree) -> Tree:
    while True:
        match tree:
            case Group(item):
                tree = item
            case Sequence(items) if len(items) == 1:
                tree = items[0]
            case _:
                return tree


def _is_fixed(tree: Tree) -> bool:
    """Each round takes one known number of characters, in one way."""
    match _bare(tree):
        case Chars():
            return True
        case Sequence(items):
            return bool(items) and all(_is_fixed(item) for item in items)
        case Repeat(item, least, most, _):
            return least == most and least > 0 and _is_fixed(item)
        case Choice(items):
            return all(isinstance(_bare(i), Chars) for i in items) and _are_apart(items)
        case _:
            return False


def _are_apart(items: tuple[Tree, ...]) -> bool:
    alphabets = [_alphabet(item) for item in items]
    return not any(
        overlap(first, second)
        for index, first in enumerate(alphabets)
        for second in alphabets[index + 1 :]
    )


def _split(tree: Tree) -> tuple[Ranges | None, Tree]:
    """The characters that a round starts with, and what follows them."""
    match tree:
        case Sequence(items) if items:
            head = _bare(items[0])
            if isinstance(head, Chars):
                return head.ranges, Sequence(items[1:])
    return None, tree


def _alphabet(tree: Tree) -> Ranges:
    match tree:
        case Chars(ranges):
            return ranges
        case Assertion():
            return ()
        case Group(item) | Repeat(item):
            return _alphabet(item)
        case Sequence(items) | Choice(items):
            return normalised([pair for item in items for pair in _alphabet(item)])


def _is_anchored(tree: Tree) -> bool:
    match tree:
        case Assertion(kind):
            return kind == "begin"
        case Group(item):
            return _is_anchored(item)
        case Sequence(items):
            return bool(items) and _is_anchored(items[0])
        case Choice(items):
            return all(_is_anchored(item) for item in items)
        case _:
            return False
