"""Labels, taints and tolerations as they are written on a command line."""

from collections.abc import Iterable
from typing import Any

from fleetqueue.api import names
from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.cli.kueuectl.quotas import split

Object = dict[str, Any]
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def read_pairs(texts: Iterable[str], flag: str) -> dict[str, str]:
    """`key=value,…`"""
    found: dict[str, str] = {}
    for text in split(texts):
        key, equals, value = text.partition("=")
        if not equals:
            why = f"{text} must be formatted as key=value"
            raise Failure(f'invalid argument "{text}" for "{flag}" flag: {why}')
        found[key.strip()] = value
    return found


def read_taints(texts: Iterable[str]) -> list[Object]:
    """`key=value:Effect` or `key:Effect`; one of each key and effect."""
    made: list[Object] = []
    for text in split(texts):
        taint = _read(text, "taint")
        if "effect" not in taint:
            raise Failure(f"invalid taint spec: {text}")
        if any((taint["key"], taint["effect"]) == (e["key"], e["effect"]) for e in made):
            shown = f"{{{taint['key']} {taint.get('value', '')} {taint['effect']} <nil>}}"
            raise Failure(f"duplicated taints with the same key and effect: {shown}")
        made.append(taint)
    return made


def read_tolerations(texts: Iterable[str]) -> list[Object]:
    """As taints, and `key` alone; without a value, any value is tolerated."""
    made = []
    for text in split(texts):
        read = _read(text, "toleration")
        made.append({**read, "operator": "Equal" if "value" in read else "Exists"})
    return made


def _read(text: str, what: str) -> Object:
    bad = f"invalid {what} spec: {text}"
    pair, colon, effect = text.partition(":")
    if ":" in effect or pair.count("=") > 1:
        raise Failure(bad)
    if colon and effect not in EFFECTS:
        raise Failure(f"invalid {what} effect: {effect}, unsupported {what} effect")
    key, equals, value = pair.partition("=")
    problems = names.qualified_name(key)
    if equals:
        problems += names.label_value(value)
    if problems:
        raise Failure(f"{bad}, {'; '.join(problems)}")
    made: Object = {"key": key}
    if equals:
        made["value"] = value
    return {**made, "effect": effect} if colon else made
