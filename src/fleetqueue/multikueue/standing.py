"""Where a workload stands with each worker that it was offered to: why nobody has admitted it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.kube.resources import Object


@dataclass(frozen=True, slots=True)
class Standing:
    """What one worker says."""

    worker: str
    reason: str
    message: str

    def __str__(self) -> str:
        why = f" ({self.message})" if self.message else ""
        return f"{self.worker}: {self.reason}{why}"


def standings(
    copies: Mapping[str, Object | None], problems: Mapping[str, Sequence[str]]
) -> list[Standing]:
    """Of each worker that has a copy, or problems that keep it from getting one."""
    found = []
    for worker in dict.fromkeys([*copies, *problems]):
        copy = copies.get(worker)
        if copy is not None:
            found.append(_of_copy(worker, copy))
        elif problems.get(worker):
            found.append(Standing(worker, "CannotRun", " ".join(problems[worker])))
    return found


def reasons(found: Sequence[Standing]) -> tuple[tuple[str, str], ...]:
    """What has to change for it to be told again; messages count what changes all the time."""
    return tuple((each.worker, each.reason) for each in found)


def told(found: Sequence[Standing]) -> str:
    """The text of an event."""
    return status.event_message("; ".join(map(str, found)))


def _of_copy(worker: str, copy: Object) -> Standing:
    condition = status.find_condition(copy, status.QUOTA_RESERVED)
    if condition is None:
        return Standing(worker, "PendingEvaluation", "")
    return Standing(worker, str(condition["reason"]), str(condition.get("message") or ""))
