"""Who has a say in which fields of an object, as its server keeps it: a manager that made an object
in one write and applies it later is two to the server, and what it no longer applies would stay.
"""

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]


def folded(entries: Sequence[Json], manager: str) -> list[Json] | None:
    """With what the manager wrote as if it had applied that, as kubectl does it; None where there
    is nothing of the kind. What it wrote to subresources stays apart.
    """
    written = [each for each in entries if _is_own(each, manager, "Update")]
    if not written:
        return None
    applied = next((each for each in entries if _is_own(each, manager, "Apply")), None)
    kept = [each for each in entries if each is not applied and each not in written]
    whole = applied or {**written[0], "operation": "Apply"}
    for each in written:
        if each.get("apiVersion") == whole.get("apiVersion"):
            fields = _union(whole.get("fieldsV1") or {}, each.get("fieldsV1") or {})
            whole = {**whole, "fieldsV1": fields}
    return [whole, *kept]


def _is_own(entry: Json, manager: str, operation: str) -> bool:
    told = (entry.get("manager"), entry.get("operation"), entry.get("subresource") or "")
    return told == (manager, operation, "")


def _union(one: Json, other: Json) -> Json:
    """Of two sets of fields: trees whose leaves are empty."""
    return {**one, **{name: _union(one.get(name) or {}, below) for name, below in other.items()}}
