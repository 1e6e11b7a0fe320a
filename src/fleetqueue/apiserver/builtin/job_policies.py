"""Rules for when a Job counts as failed or succeeded, and for lists of indexes such as `1,3-5`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, nonnegative, one_of, wrongs

Object = Mapping[str, Any]

RULES_MAX = 20
EXIT_CODES_MAX = 255
PATTERNS_MAX = 20
INDEXES_LENGTH_MAX = 64 * 1024

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_STATUSES = ("False", "True", "Unknown")
_NUMBER = re.compile("[-+]?[0-9]+")


class IndexesError(ValueError):
    """The text is no list of indexes."""


def validate_failure_policy(spec: Object, path: str) -> Errors:
    rules = spec["podFailurePolicy"].get("rules") or []
    errors: Errors = []
    if len(rules) > RULES_MAX:
        errors.append(fields.too_many(f"{path}.rules", len(rules), RULES_MAX))
    pod = (spec.get("template") or {}).get("spec") or {}
    containers = {
        container.get("name", "")
        for kind in ("containers", "initContainers")
        for container in pod.get(kind) or ()
    }
    for index, rule in enumerate(rules):
        errors += _validate_rule(rule, spec, containers, f"{path}.rules[{index}]")
    return errors


def validate_success_policy(spec: Object, path: str) -> Errors:
    rules = spec["successPolicy"].get("rules") or []
    errors: Errors = []
    if not rules:
        why = "at least one rules must be specified when the successPolicy is specified"
        errors.append(fields.required(f"{path}.rules", why))
    if len(rules) > RULES_MAX:
        errors.append(fields.too_many(f"{path}.rules", len(rules), RULES_MAX))
    for index, rule in enumerate(rules):
        completions = spec.get("completions") or 0
        errors += _validate_success_rule(rule, completions, f"{path}.rules[{index}]")
    return errors


def count_indexes(text: str, completions: int) -> int:
    """How many indexes the list names; they must rise and be below `completions`."""
    total, last = 0, None
    for interval in text.split(",") if text else ():
        first, end = parse_interval(interval, completions)
        if last is not None and last >= first:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def find_overlap(one: str, other: str, completions: int) -> int | None:
    """The first index that both lists name; what cannot be read is passed over."""
    intervals = [_readable(text, completions) for text in (one, other)]
    for first, end in intervals[0]:
        for other_first, other_end in intervals[1]:
            if first <= other_end and other_first <= end:
                return max(first, other_first)
    return None


def parse_interval(interval: str, completions: int) -> tuple[int, int]:
    parts = interval.split("-")
    if len(parts) > 2:
        raise IndexesError(
            f"the fragment {fields.show(interval)} violates the requirement that an index "
            "interval can have at most two parts separated by '-'"
        )
    first = _parse_index(parts[0], completions)
    if len(parts) == 1:
        return first, first
    end = _parse_index(parts[1], completions)
    if first >= end:
        raise IndexesError(f"non-increasing order, previous: {first}, current: {end}")
    return first, end


def _parse_index(text: str, completions: int) -> int:
    if not _NUMBER.fullmatch(text):
        raise IndexesError(f"cannot convert string to integer for index: {fields.show(text)}")
    if int(text) >= completions:
        raise IndexesError(f"too large index: {fields.show(text)}")
    return int(text)


def _readable(text: str, completions: int) -> list[tuple[int, int]]:
    found = []
    for interval in text.split(",") if text else ():
        try:
            found.append(parse_interval(interval, completions))
        except IndexesError:
            continue
    return found


def _validate_rule(rule: Object, spec: Object, containers: set[str], path: str) -> Errors:
    errors = _validate_action(rule.get("action", ""), spec, f"{path}.action")
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
    if codes is not None:
        errors += _validate_exit_codes(codes, containers, f"{path}.onExitCodes")
    errors += _validate_conditions(conditions, f"{path}.onPodConditions")
    if codes is not None and conditions:
        why = "specifying both OnExitCodes and OnPodConditions is not supported"
        errors.append(fields.wrong(path, fields.OMITTED, why))
    if codes is None and not conditions:
        why = "specifying one of OnExitCodes and OnPodConditions is required"
        errors.append(fields.wrong(path, fields.OMITTED, why))
    return errors


def _validate_action(action: str, spec: Object, path: str) -> Errors:
    if not action:
        return [fields.required(path, f"valid values: {_listed(_ACTIONS)}")]
    if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        return [fields.wrong(path, action, "requires the backoffLimitPerIndex to be set")]
    return one_of(action, _ACTIONS, path)


def _validate_conditions(patterns: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    if len(patterns) > PATTERNS_MAX:
        errors.append(fields.too_many(path, len(patterns), PATTERNS_MAX))
    for index, pattern in enumerate(patterns):
        below, kind = f"{path}[{index}]", pattern.get("type", "")
        errors += wrongs(f"{below}.type", kind, names.qualified_name(kind))
        status = pattern.get("status", "")
        if not status:
            why = f"valid values: {_listed(_STATUSES)}"
            errors.append(fields.required(f"{below}.status", why))
        else:
            errors += one_of(status, _STATUSES, f"{below}.status")
    return errors


def _validate_exit_codes(codes: Object, containers: set[str], path: str) -> Errors:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    errors: Errors = []
    if not operator:
        why = f"valid values: {_listed(('In', 'NotIn'))}"
        errors.append(fields.required(f"{path}.operator", why))
    else:
        errors += one_of(operator, ("In", "NotIn"), f"{path}.operator")
    name = codes.get("containerName")
    if name is not None and name not in containers:
        why = "must be one of the container or initContainer names in the pod template"
        errors.append(fields.wrong(f"{path}.containerName", name, why))
    below = f"{path}.values"
    if not values:
        errors.append(fields.wrong(below, codes.get("values"), "at least one value is required"))
    elif len(values) > EXIT_CODES_MAX:
        errors.append(fields.too_many(below, len(values), EXIT_CODES_MAX))
    errors += _validate_values(values, operator, below)
    if values != sorted(values):
        errors.append(fields.wrong(below, values, "must be ordered"))
    return errors


def _validate_values(values: Sequence[int], operator: str, path: str) -> Errors:
    errors: Errors = []
    seen: set[int] = set()
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            why = "must not be 0 for the In operator"
            errors.append(fields.wrong(f"{path}[{index}]", value, why))
        if value in seen:
            errors.append(fields.duplicate(f"{path}[{index}]", value))
        seen.add(value)
    return errors


def _validate_success_rule(rule: Object, completions: int, path: str) -> Errors:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    errors: Errors = []
    if indexes is None and count is None:
        why = "at least one of succeededCount or succeededIndexes must be specified"
        errors.append(fields.required(path, why))
    total = 0
    if indexes is not None:
        below = f"{path}.succeededIndexes"
        if len(indexes) > INDEXES_LENGTH_MAX:
            errors.append(fields.too_long(below, INDEXES_LENGTH_MAX))
        try:
            total = count_indexes(indexes, completions)
        except IndexesError as problem:
            errors.append(
                fields.wrong(below, indexes, f"error parsing succeededIndexes: {problem}")
            )
    if count is None:
        return errors
    below = f"{path}.succeededCount"
    errors += nonnegative(count, below)
    if count > completions:
        why = f"must be less than or equal to {completions} (the number of specified completions)"
        errors.append(fields.wrong(below, count, why))
    if indexes is not None and count > total:
        why = (
            f"must be less than or equal to {total} "
            "(the number of indexes in the specified succeededIndexes field)"
        )
        errors.append(fields.wrong(below, count, why))
    return errors


def _listed(words: Sequence[str]) -> str:
    return f"[{' '.join(fields.show(word) for word in words)}]"
