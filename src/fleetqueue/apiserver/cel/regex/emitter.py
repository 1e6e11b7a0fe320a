"""Writes a parsed pattern in the syntax of Python's `re`."""

from fleetqueue.apiserver.cel.regex.tree import (
    LAST_CODE_POINT,
    Assertion,
    Chars,
    Choice,
    Group,
    Ranges,
    Repeat,
    Sequence,
    Tree,
    inverted,
)

_PLACES = {
    "begin": r"\A",
    "end": r"\Z",
    "line begin": "(?m:^)",
    "line end": "(?m:$)",
    "word": r"(?a:\b)",
    "not word": r"(?a:\B)",
}


def emit(tree: Tree) -> str:
    match tree:
        case Chars(ranges):
            return _class(ranges)
        case Assertion(kind):
            return _PLACES[kind]
        case Sequence(items):
            return "".join(emit(i) if not isinstance(i, Choice) else _group(i) for i in items)
        case Choice(items):
            return "|".join(emit(item) for item in items)
        case Group(item):
            return f"({emit(item)})"
        case Repeat(item, least, most, is_greedy):
            bounds = f"{{{least},{'' if most is None else most}}}"
            return f"{_group(item)}{bounds}{'' if is_greedy else '?'}"


def _group(tree: Tree) -> str:
    return emit(tree) if isinstance(tree, Chars | Group) else f"(?:{emit(tree)})"


def _class(ranges: Ranges) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _point(ranges[0][0])
    if not ranges:
        return r"(?!)"
    if ranges[0][0] == 0 and ranges[-1][1] == LAST_CODE_POINT:
        gaps = inverted(ranges)
        return f"[^{_pairs(gaps)}]" if gaps else r"(?s:.)"
    return f"[{_pairs(ranges)}]"


def _pairs(ranges: Ranges) -> str:
    return "".join(
        _point(low) if low == high else f"{_point(low)}-{_point(high)}" for low, high in ranges
    )


def _point(point: int) -> str:
    char = chr(point)
    if char.isascii() and char.isalnum():
        return char
    return f"\\x{point:02x}" if point < 256 else f"\\U{point:08x}"
