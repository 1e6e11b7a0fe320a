"""Whether the indexes that succeeded are enough by a Job's successPolicy."""

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers.job_indexes import Indexes


def reached(policy: Object | None, completions: int, succeeded: Indexes) -> str:
    """Which rule is met, in words; "" where none is."""
    if not len(succeeded):
        return ""
    for number, rule in enumerate((policy or {}).get("rules") or ()):
        if _is_met(rule, completions, succeeded):
            return f"Matched rules at index {number}"
    return ""


def _is_met(rule: Object, completions: int, succeeded: Indexes) -> bool:
    count = rule.get("succeededCount")
    if rule.get("succeededIndexes") is None:
        return count is not None and len(succeeded) >= count
    required = Indexes.parse(rule["succeededIndexes"], completions)
    if not len(required):
        return False
    have = required.common(succeeded)
    return have == len(required) or (count is not None and have >= count)
