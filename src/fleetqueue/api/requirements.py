"""One condition of a label selector: how it is checked when it is made, how it matches and how it
is printed."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fleetqueue.api import names
from fleetqueue.api.field_errors import aggregate
from fleetqueue.errors import InvalidInput

Labels = Mapping[str, str]

_SIGNS = {"gt": ">", "lt": "<", "in": " in ", "notin": " notin "}


class SelectorError(InvalidInput, ValueError):
    """The selector cannot be understood; the message is kube-apiserver's."""


class Fault(NamedTuple):
    """What is wrong with one field of a selector object, in the shape of a field error."""

    reason: str
    path: str
    value: str
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: Invalid value: {self.value}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label; `operator` is `in`, `notin`, `=`, `==`, `!=`, `gt`, `lt`,
    `exists` or `!`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """One with an operator that nobody knows matches nothing."""
        matcher = _MATCHERS.get(self.operator)
        return matcher is not None and matcher(labels.get(self.key), self.values)

    def wrong(self) -> str:
        """What kube-apiserver has against it, in one text; "" where nothing. What was read without
        being checked may have anything.
        """
        faults = key_faults(self.key, "key") + _value_count_faults(self.operator, self.values)
        if self.operator not in _MATCHERS:
            faults.append(fault("operator", self.operator, "not a valid selector operator"))
        for index, value in enumerate(self.values):
            if wrong := names.label_value(value):
                faults.append(fault(f"values[{index}][{self.key}]", value, "; ".join(wrong)))
        return aggregate(faults) if faults else ""

    def __str__(self) -> str:
        if self.operator == "exists":
            return self.key
        if self.operator == "!":
            return f"!{self.key}"
        values = ",".join(sorted(self.values))
        shown = f"({values})" if self.operator in ("in", "notin") else values
        return f"{self.key}{_SIGNS.get(self.operator, self.operator)}{shown}"


def new_requirement(key: str, operator: str, values: Sequence[str]) -> Requirement:
    """Refuses keys, operators and values that kube-apiserver refuses."""
    made = Requirement(key, operator, tuple(values))
    if wrong := made.wrong():
        raise SelectorError(wrong)
    return made


def quote(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def fault(path: str, value: Any, detail: str) -> Fault:
    return Fault("FieldValueInvalid", path, quote(value), detail)


def key_faults(key: str, path: str) -> list[Fault]:
    wrong = names.qualified_name(key)
    return [fault(path, key, "; ".join(wrong))] if wrong else []


def _value_count_faults(operator: str, values: Sequence[str]) -> list[Fault]:
    shown, count = list(values), len(values)
    if operator in ("in", "notin") and not count:
        detail = "for 'in', 'notin' operators, values set can't be empty"
    elif operator in ("=", "==", "!=") and count != 1:
        detail = "exact-match compatibility requires one single value"
    elif operator in ("exists", "!") and count:
        detail = "values set must be empty for exists and does not exist"
    elif operator in ("gt", "lt"):
        return _number_faults(values)
    else:
        return []
    return [fault("values", shown, detail)]


def _number_faults(values: Sequence[str]) -> list[Fault]:
    faults = []
    if len(values) != 1:
        detail = "for 'Gt', 'Lt' operators, exactly one value is required"
        faults.append(fault("values", list(values), detail))
    for index, value in enumerate(values):
        if _int64(value) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            faults.append(fault(f"values[{index}]", value, detail))
    return faults


def _int64(text: str) -> int | None:
    if not re.fullmatch(r"[-+]?[0-9]{1,40}", text, re.ASCII):
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


def _greater(found: str | None, values: tuple[str, ...]) -> bool:
    return _ordered(found, values, lambda left, right: left > right)


def _less(found: str | None, values: tuple[str, ...]) -> bool:
    return _ordered(found, values, lambda left, right: left < right)


def _ordered(found: str | None, values: tuple[str, ...], holds: Callable[[int, int], bool]) -> bool:
    left, right = _int64(found or ""), _int64(values[0]) if len(values) == 1 else None
    return left is not None and right is not None and holds(left, right)


_MATCHERS: dict[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "in": lambda found, values: found in values,
    "=": lambda found, values: found == values[0],
    "==": lambda found, values: found == values[0],
    "notin": lambda found, values: found not in values,
    "!=": lambda found, values: found != values[0],
    "exists": lambda found, values: found is not None,
    "!": lambda found, values: found is None,
    "gt": _greater,
    "lt": _less,
}
