"""Optional values: making them, and taking out what they hold."""

from typing import Any

from fleetqueue.apiserver.cel.errors import CelError
from fleetqueue.apiserver.cel.overloads import overload
from fleetqueue.apiserver.cel.times import Duration, Timestamp
from fleetqueue.apiserver.cel.values import NONE, Optional

_ZERO_TIME = -62135596800 * 10**9


def _of_non_zero(value: Any) -> Optional:
    if isinstance(value, Duration):
        is_zero = value.nanoseconds == 0
    elif isinstance(value, Timestamp):
        is_zero = value.nanoseconds == _ZERO_TIME
    else:
        is_zero = not value
    return NONE if is_zero else Optional(value)


def _value(box: Optional) -> Any:
    if not box.is_present:
        raise CelError("optional.none() dereference")
    return box.held


def _or_value(box: Optional, other: Any) -> Any:
    return box.held if box.is_present else other


def _or(box: Optional, other: Optional) -> Optional:
    return box if box.is_present else other


OVERLOADS = [
    overload("optional.of", "(V) -> optional_type(V)", Optional),
    overload("optional.ofNonZeroValue", "(V) -> optional_type(V)", _of_non_zero),
    overload("optional.none", "() -> optional_type(V)", lambda: NONE),
    overload("hasValue", "optional_type(V).() -> bool", lambda box: box.is_present),
    overload("value", "optional_type(V).() -> V", _value),
    overload("orValue", "optional_type(V).(V) -> V", _or_value),
    overload("or", "optional_type(V).(optional_type(V)) -> optional_type(V)", _or),
]
