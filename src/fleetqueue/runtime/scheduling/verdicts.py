"""What filters say about a node."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from fleetqueue.runtime.scheduling.nodes import NodeState


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a node is none for the pod."""

    reasons: tuple[str, ...]
    may_preempt: bool = False
    """Whether it could become one if pods left it."""


Filter: TypeAlias = Callable[[NodeState], Unfit | None]
"""None where it has nothing against the node."""
