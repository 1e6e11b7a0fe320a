"""Finds and sets conditions; the transition time moves only when the status does."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from fleetqueue.api.meta import Condition, ConditionStatus


def find(conditions: Iterable[Condition] | None, type: str) -> Condition | None:
    return next((each for each in conditions or () if each.type == type), None)


def is_true(conditions: Iterable[Condition] | None, type: str) -> bool:
    found = find(conditions, type)
    return found is not None and found.status == ConditionStatus.TRUE


def is_false(conditions: Iterable[Condition] | None, type: str) -> bool:
    found = find(conditions, type)
    return found is not None and found.status == ConditionStatus.FALSE


def condition(
    type: str,
    status: bool | ConditionStatus,
    reason: str,
    message: str,
    *,
    now: datetime,
    generation: int = 0,
) -> Condition:
    """A condition as of now; times on the wire have no fractions of a second."""
    if isinstance(status, bool):
        status = ConditionStatus.TRUE if status else ConditionStatus.FALSE
    return Condition(
        type=type,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=now.replace(microsecond=0),
        observed_generation=generation,
    )


def set_condition(conditions: Sequence[Condition] | None, new: Condition) -> list[Condition]:
    """The conditions with this one in place of its like, or at the end; the others untouched."""
    settled = settle(conditions, new)
    others = list(conditions or ())
    for index, old in enumerate(others):
        if old.type == new.type:
            return [*others[:index], settled, *others[index + 1 :]]
    return [*others, settled]


def settle(conditions: Iterable[Condition] | None, new: Condition) -> Condition:
    """The new condition, with the old one's transition time where the status did not change."""
    old = find(conditions, new.type)
    if old is None or old.status != new.status:
        return new
    return msgspec.structs.replace(new, last_transition_time=old.last_transition_time)


def remove(conditions: Sequence[Condition] | None, type: str) -> list[Condition]:
    return [each for each in conditions or () if each.type != type]
