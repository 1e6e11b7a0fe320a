"""Paths through a schema, which kube-apiserver keeps in growing arrays that they share.

A step behind a path is written into the array of that path while it has room. A second step behind
the same path lands in the same place, and the first path then leads elsewhere. Whether a rule is
too expensive can depend on it, so it is done likewise.
"""

from fleetqueue.apiserver.cel.cost.bounds import Bound
from fleetqueue.apiserver.cel.cost.sizes import Size


class Path:
    """The first `length` of `steps`: a variable, then fields, `@items`, `@keys` or `@values`."""

    __slots__ = ("length", "steps")

    def __init__(self, steps: list[str], length: int) -> None:
        self.steps = steps
        self.length = length

    @property
    def names(self) -> list[str]:
        return self.steps[: self.length]


def start(name: str) -> Path:
    return Path([name], 1)


def behind(path: Path | None, step: str) -> Path:
    if path is None:
        return start(step)
    steps = path.steps
    if path.length == len(steps):
        # A full array is copied to one of twice its size.
        steps = [*steps, *[""] * len(steps)]
    steps[path.length] = step
    return Path(steps, path.length + 1)


def copied(path: Path) -> Path:
    """The same path in an array of its own."""
    return Path(list(path.names), path.length)


def size_at(root: Bound, path: Path | None) -> Size | None:
    """What the schema says; whatever variable a path begins with, it counts from the root."""
    if path is None:
        return None
    bound: Bound | None = root
    for name in path.names[1:]:
        if bound is None:
            return None
        bound = _below(bound, name)
    return None if bound is None else Size(0, bound.most)


def _below(bound: Bound, name: str) -> Bound | None:
    if name in ("@items", "@values"):
        return bound.item
    return bound.key if name == "@keys" else bound.field(name)
