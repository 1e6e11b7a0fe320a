"""A call as its price is worked out: what it is given, and how large that is."""

from dataclasses import dataclass
from typing import TypeAlias

from fleetqueue.apiserver.cel.cost.bounds import Bound
from fleetqueue.apiserver.cel.cost.paths import Path, behind, copied, size_at
from fleetqueue.apiserver.cel.cost.sizes import TRAVERSAL, UNKNOWN, Size, add, scale
from fleetqueue.apiserver.cel.cost.tree import Part
from fleetqueue.apiserver.cel.types import Type

Estimate: TypeAlias = tuple[int, Size | None]
"""The cost, and the size of the result where it follows from what was given."""


@dataclass(frozen=True, slots=True)
class Operand:
    """The target or an argument of a call, as it was found when it was its turn."""

    part: Part
    path: Path | None
    known: Size | None

    @property
    def type(self) -> Type:
        return self.part.type

    @property
    def size(self) -> Size:
        return self.known or UNKNOWN

    @property
    def walk(self) -> int:
        """The cost of going over it once."""
        return scale(self.size.most, TRAVERSAL)

    def item(self, root: Bound) -> tuple[Type, Size] | None:
        """The type and size of its items, if it is a list."""
        if not self.type.parameters:
            return None
        size = None if self.path is None else size_at(root, behind(copied(self.path), "@items"))
        return self.type.parameters[0], size or UNKNOWN


@dataclass(frozen=True, slots=True)
class Invocation:
    function: str
    target: Operand | None
    arguments: list[Operand]
    costs: list[int]
    """Of the arguments; that of the target is added elsewhere."""
    root: Bound

    @property
    def argument_cost(self) -> int:
        return add(*self.costs)
