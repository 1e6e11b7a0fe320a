"""Dotted paths into JSON: get, set, remove, and `*` for every child.

`spec.containers[0].image`, `spec.containers[*].image`, `metadata.labels["example.com/team"]`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final


class _Every:
    def __repr__(self) -> str:
        return "*"


EVERY: Final = _Every()
"""The step that goes to every child of a list or an object."""

Step = str | int | _Every
Path = tuple[Step, ...]

_STEP = re.compile(
    r"""
    \[ \s* (?: (?P<index>-?\d+) | (?P<star>\*) | "(?P<double>(?:[^"\\]|\\.)*)"
             | '(?P<single>(?:[^'\\]|\\.)*)' | (?P<bare>[^\]"'*]+) ) \s* \]
    | \.? (?P<key> (?: [^.\[\]\\] | \\. )+ )
    """,
    re.VERBOSE,
)


class PathError(ValueError):
    """The text is no path, or the path leads through something that has no children."""


@lru_cache(maxsize=2048)
def parse(text: str) -> Path:
    steps: list[Step] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None or (position == 0 and text[0] == "."):
            raise PathError(f'"{text}" is not a path: cannot read "{text[position:]}"')
        steps.append(_step(match))
        position = match.end()
    return tuple(steps)


def render(path: Path) -> str:
    """The text that `parse` reads back."""
    return "".join(_render_step(step) for step in path).removeprefix(".")


def get(document: Any, path: str | Path, default: Any = None) -> Any:
    """What lies at the path; with `*` in it, the first of what lies there."""
    for _, value in walk(document, path):
        return value
    return default


def find(document: Any, path: str | Path) -> list[Any]:
    return [value for _, value in walk(document, path)]


def walk(document: Any, path: str | Path) -> Iterator[tuple[Path, Any]]:
    """Every place that the path names and that exists, with its own path free of `*`."""
    yield from _walk(document, _as_path(path), ())


def set_in_place(document: Any, path: str | Path, value: Any) -> None:
    """Makes missing objects on the way; `[n]` must exist or be the next free index."""
    steps = _as_path(path)
    if not steps:
        raise PathError("the empty path names the document itself, which cannot be set in place")
    for parent in _parents(document, steps):
        for key in _keys(parent, steps[-1]):
            _assign(parent, key, value)


def with_value(document: Any, path: str | Path, value: Any) -> Any:
    """A document with the value set; the input is untouched and all else is shared with it."""
    return _with_value(document, _as_path(path), value)


def without(document: Any, path: str | Path) -> Any:
    """A document with the path removed; the input is untouched and all else is shared with it."""
    return _without(document, _as_path(path))


def _as_path(path: str | Path) -> Path:
    return parse(path) if isinstance(path, str) else path


def _step(match: re.Match[str]) -> Step:
    groups = match.groupdict()
    if groups["index"] is not None:
        return int(groups["index"])
    if groups["star"] is not None or groups["key"] == "*":
        return EVERY
    text = next(groups[name] for name in ("double", "single", "bare", "key") if groups[name])
    return re.sub(r"\\(.)", r"\1", text)


def _render_step(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if isinstance(step, _Every):
        return "[*]"
    if re.fullmatch(r"[A-Za-z0-9_$-]+", step):
        return f".{step}"
    quoted = step.replace("\\", "\\\\").replace('"', '\\"')
    return f'["{quoted}"]'


def _keys(parent: Any, step: Step) -> list[Any]:
    """The keys or indexes of `parent` that a step names, whether they exist or not."""
    if not isinstance(step, _Every):
        return [step]
    if isinstance(parent, dict):
        return list(parent)
    return list(range(len(parent))) if isinstance(parent, list) else []


def _children(parent: Any, step: Step) -> Iterator[tuple[Any, Any]]:
    for key in _keys(parent, step):
        if isinstance(parent, dict) and isinstance(key, str) and key in parent:
            yield key, parent[key]
        elif (
            isinstance(parent, list) and isinstance(key, int) and -len(parent) <= key < len(parent)
        ):
            yield key % len(parent), parent[key]


def _walk(value: Any, steps: Path, done: Path) -> Iterator[tuple[Path, Any]]:
    if not steps:
        yield done, value
        return
    for key, child in _children(value, steps[0]):
        yield from _walk(child, steps[1:], (*done, key))


def _parents(document: Any, steps: Path) -> Iterator[Any]:
    if len(steps) == 1:
        yield document
        return
    for key in _keys(document, steps[0]):
        if not any(True for _ in _children(document, key)):
            _assign(document, key, [] if isinstance(steps[1], int) else {})
        yield from _parents(document[key], steps[1:])


def _assign(parent: Any, key: Any, value: Any) -> None:
    if isinstance(parent, dict) and isinstance(key, str):
        parent[key] = value
    elif isinstance(parent, list) and isinstance(key, int) and key == len(parent):
        parent.append(value)
    elif isinstance(parent, list) and isinstance(key, int) and -len(parent) <= key < len(parent):
        parent[key] = value
    else:
        raise PathError(f"cannot set {_render_step(key)} in {_kind(parent)}")


def _with_value(document: Any, steps: Path, value: Any) -> Any:
    if not steps:
        return value
    fresh = _empty_for(steps[0]) if document is None else _shallow(document, steps[0])
    for key in _keys(fresh, steps[0]):
        child = next((child for _, child in _children(fresh, key)), None)
        _assign(fresh, key, _with_value(child, steps[1:], value))
    return fresh


def _without(document: Any, steps: Path) -> Any:
    found = list(_children(document, steps[0])) if steps else []
    if not found:
        return document
    changed = {key: _without(child, steps[1:]) for key, child in found} if steps[1:] else {}
    if steps[1:] and all(changed[key] is child for key, child in found):
        return document
    fresh = _shallow(document, steps[0])
    for key, _ in reversed(found):
        if steps[1:]:
            fresh[key] = changed[key]
        else:
            del fresh[key]
    return fresh


def _empty_for(step: Step) -> Any:
    return [] if isinstance(step, int) else {}


def _shallow(value: Any, step: Step) -> Any:
    if isinstance(value, dict | list):
        return value.copy()
    raise PathError(f"cannot set {_render_step(step)} in {_kind(value)}")


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", type(None): "null"}.get(type(value), "a plain value")
