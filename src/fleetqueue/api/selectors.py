"""Label and field selectors: read, checked, matched and printed as kube-apiserver does, down to the
words of its errors."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from fleetqueue.api import names
from fleetqueue.api.requirements import (
    Fault,
    Labels,
    Requirement,
    SelectorError,
    fault,
    new_requirement,
    quote,
)
from fleetqueue.api.selector_syntax import Parser
from fleetqueue.base.kept_texts import kept_texts

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "Fault",
    "FieldSelector",
    "FieldTerm",
    "LabelSelector",
    "Labels",
    "Requirement",
    "SelectorError",
    "escape_field_value",
    "labels_from_object",
    "labels_from_set",
    "new_requirement",
    "parse_fields",
    "parse_labels",
    "shown",
    "validate_object",
]

_KIND_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All requirements must hold; without any it matches everything, and `NOTHING` nothing."""

    requirements: tuple[Requirement, ...] = ()
    matches_nothing: bool = False

    def matches(self, labels: Labels | None) -> bool:
        if self.matches_nothing:
            return False
        found = labels or {}
        return all(requirement.matches(found) for requirement in self.requirements)

    def is_empty(self) -> bool:
        return not self.requirements and not self.matches_nothing

    def exact_value(self, key: str) -> str | None:
        """The one value that the label must have, where the selector asks for one."""
        for requirement in self.requirements:
            if requirement.key == key:
                one = requirement.operator in ("=", "==", "in") and len(requirement.values) == 1
                return requirement.values[0] if one else None
        return None

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)


EVERYTHING = LabelSelector()
NOTHING = LabelSelector(matches_nothing=True)


@kept_texts(1024)
def parse_labels(text: str) -> LabelSelector:
    """The string form: `app=web,tier in (a, b),!canary,weight>3`."""
    return LabelSelector(_sorted(Parser(text).parse()))


def labels_from_set(labels: Labels) -> LabelSelector:
    """Exactly these labels, unchecked."""
    return LabelSelector(_sorted([Requirement(k, "=", (v,)) for k, v in labels.items()]))


def labels_from_object(selector: Mapping[str, Any] | None) -> LabelSelector:
    """A `metav1.LabelSelector`; none at all matches nothing, an empty one everything."""
    if selector is None:
        return NOTHING
    made = [new_requirement(k, "=", [v]) for k, v in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or []:
        operator = expression.get("operator", "")
        if operator not in _KIND_OPERATORS:
            raise SelectorError(f"{quote(operator)} is not a valid label selector operator")
        values = expression.get("values") or []
        made.append(new_requirement(expression.get("key", ""), _KIND_OPERATORS[operator], values))
    return LabelSelector(_sorted(made))


def shown(selector: Mapping[str, Any]) -> str:
    """A selector object as Go prints it in messages."""
    labels = selector.get("matchLabels") or {}
    expressions = selector.get("matchExpressions") or ()
    matched = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    required = "".join(f"{_shown_expression(each)}," for each in expressions)
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{matched}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{required}}},}}"
    )


def _shown_expression(expression: Mapping[str, Any]) -> str:
    values = " ".join(expression.get("values") or ())
    return (
        f"LabelSelectorRequirement{{Key:{expression.get('key', '')},"
        f"Operator:{expression.get('operator', '')},Values:[{values}],}}"
    )


def validate_object(
    selector: Mapping[str, Any] | None, path: str, allow_invalid_values: bool = False
) -> list[Fault]:
    """Checks a `metav1.LabelSelector` that somebody stores."""
    faults: list[Fault] = []
    for key, value in ((selector or {}).get("matchLabels") or {}).items():
        here = f"{path}.matchLabels"
        faults += [fault(here, key, message) for message in names.qualified_name(key)]
        faults += [fault(here, value, message) for message in names.label_value(value)]
    for index, expression in enumerate((selector or {}).get("matchExpressions") or []):
        here = f"{path}.matchExpressions[{index}]"
        faults += _validate_expression(expression, here, allow_invalid_values)
    return faults


def _validate_expression(
    expression: Mapping[str, Any], path: str, allow_invalid_values: bool
) -> list[Fault]:
    operator, values = expression.get("operator", ""), expression.get("values") or []
    key = expression.get("key", "")
    faults = []
    if operator not in _KIND_OPERATORS:
        faults.append(fault(f"{path}.operator", operator, "not a valid selector operator"))
    elif operator in ("In", "NotIn") and not values:
        detail = "must be specified when `operator` is 'In' or 'NotIn'"
        faults.append(Fault("FieldValueRequired", f"{path}.values", "", detail))
    elif operator in ("Exists", "DoesNotExist") and values:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        faults.append(Fault("FieldValueForbidden", f"{path}.values", "", detail))
    faults += [fault(f"{path}.key", key, message) for message in names.qualified_name(key)]
    if not allow_invalid_values:
        for index, value in enumerate(values):
            here = f"{path}.values[{index}]"
            faults += [fault(here, value, message) for message in names.label_value(value)]
    return faults


class FieldTerm(NamedTuple):
    """One condition on one field; `operator` is `=` or `!=`."""

    field: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{escape_field_value(self.value)}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """All terms must hold. A field that an object lacks counts as empty."""

    terms: tuple[FieldTerm, ...] = ()

    def matches(self, fields: Mapping[str, str]) -> bool:
        return all(
            (fields.get(term.field, "") == term.value) == (term.operator == "=")
            for term in self.terms
        )

    def is_empty(self) -> bool:
        return not self.terms

    def exact_value(self, field: str) -> str | None:
        for term in self.terms:
            if term.field == field and term.operator == "=":
                return term.value
        return None

    def __str__(self) -> str:
        return ",".join(str(term) for term in self.terms)


@kept_texts(1024)
def parse_fields(text: str) -> FieldSelector:
    """The string form: `metadata.name=a,status.phase!=Running`; `\\`, `,` and `=` are escaped."""
    parts = sorted(re.findall(r"(?:\\.|[^,\\]|\\$)+", text, re.DOTALL))
    terms = [_field_term(part, text) for part in parts]
    return FieldSelector(tuple(term for term in terms if term.field or term.value))


def escape_field_value(value: str) -> str:
    return re.sub(r"[\\,=]", r"\\\g<0>", value)


def _field_term(part: str, whole: str) -> FieldTerm:
    match = re.search(r"!=|==|=", part)
    if match is None:
        raise SelectorError(f"invalid selector: '{whole}'; can't understand '{part}'")
    operator = "!=" if match.group() == "!=" else "="
    return FieldTerm(part[: match.start()], operator, _unescape(part[match.end() :]))


def _unescape(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        found = match.group()
        if found in (",", "="):
            word = "unescaped character in value"
            raise SelectorError(f"invalid field selector: {word}: {ord(found)}")
        if found not in ("\\\\", "\\,", "\\="):
            raise SelectorError(f"invalid field selector: invalid escape sequence: {found}")
        return found[1]

    return re.sub(r"\\.|[,=]|\\$", one, text, flags=re.DOTALL)


def _sorted(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    return tuple(sorted(requirements, key=lambda requirement: requirement.key))
