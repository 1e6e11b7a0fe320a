"""What went wrong, as data that any surface can show, and the one tree of our exceptions.

FleetqueueError              anything we raise on purpose; carries Problems
├── UserError                the user must act: something they wrote or asked for is wrong
│   ├── UsageError           the command line itself is wrong; the process exits with 2
│   └── InvalidInput         a file, an object or a value that was handed in is wrong
├── ClusterError             the cluster must act, or come back: it refused or cannot be reached
│   ├── Refused              it answered, and said no
│   └── Unreachable          it did not answer; trying again may help
└── Bug                      we must act: a promise inside this program was broken
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: whose it is, what, where in it, and what to do about it."""

    object: str
    what: str
    field: str = ""
    fix: str = ""

    def render(self) -> str:
        lines = [f"error: {f'{self.object} {self.what}'.strip()}"]
        if self.field:
            lines.append(f"  at   {self.field}")
        if self.fix:
            lines.append(f"  fix  {self.fix}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"{self.object} {self.what}".strip()


class FleetqueueError(Exception):
    """Made from a sentence, or from one or more Problems."""

    who_acts: ClassVar[str] = ""
    exit_code: ClassVar[int] = 1

    def __init__(self, *problems: Problem | str) -> None:
        self.problems: Sequence[Problem] = [
            Problem("", problem) if isinstance(problem, str) else problem for problem in problems
        ]
        super().__init__("; ".join(str(problem) for problem in self.problems))

    def render(self) -> str:
        return "\n".join(problem.render() for problem in self.problems)


class UserError(FleetqueueError):
    who_acts = "user"


class UsageError(UserError):
    exit_code = 2


class InvalidInput(UserError):
    """Also for values: a quantity, a selector, a document that cannot be read."""


class ClusterError(FleetqueueError):
    who_acts = "cluster"


class Refused(ClusterError):
    """The cluster understood and said no."""


class Unreachable(ClusterError):
    """No answer; the same request may succeed later."""


class Bug(FleetqueueError):
    who_acts = "us"
