"""What a JobSet does when Jobs of it have failed: fail with them, or start all of them again."""

import re
from collections.abc import Iterable

from fleetqueue.kube.plan import Note
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators.job_set_children import replicated_job_of
from fleetqueue.runtime.operators.job_set_status import Draft, true_condition

_DEFAULT_ACTION = "RestartJobSet"


def apply(job_set: Object, failed: list[Object], draft: Draft) -> None:
    policy = job_set["spec"].get("failurePolicy")
    if policy is None:
        text = "jobset failed due to one or more job failures"
        draft.fail("FailedJobs", _with_first_failure(text, failed))
        return
    rule, matching = _first_match(policy.get("rules") or (), failed)
    action = rule["action"] if rule else _DEFAULT_ACTION
    if action == "FailJobSet":
        text = "applying FailJobSet failure policy action"
        draft.fail("FailJobSetFailurePolicyAction", _with_first_failure(text, matching))
    elif action == "RestartJobSet" and _is_used_up(policy, draft):
        text = "jobset failed due to reaching max number of restarts"
        draft.fail("ReachedMaxRestarts", _with_first_failure(text, matching))
    else:
        _restart(draft, action, rule, matching)


def _is_used_up(policy: Object, draft: Draft) -> bool:
    counted = draft.status.get("restartsCountTowardsMax") or 0
    return bool(counted >= (policy.get("maxRestarts") or 0))


def _restart(draft: Draft, action: str, rule: Object | None, matching: list[Object]) -> None:
    """The next look finds the Jobs of the old attempt, and takes them away."""
    draft.status["restarts"] = draft.restarts + 1
    if action == _DEFAULT_ACTION:
        counted = draft.status.get("restartsCountTowardsMax") or 0
        draft.status["restartsCountTowardsMax"] = counted + 1
    text = _with_first_failure(f"applying {action} failure policy action", matching)
    reason = f"FailurePolicy_{rule['name']}" if rule else "DefaultFailurePolicy"
    draft.set("RestartingJobSet", True, reason, text, "Warning")
    draft.notes.append(Note(f"{action}FailurePolicyAction", text, "Warning"))


def _first_match(
    rules: Iterable[Object], failed: list[Object]
) -> tuple[Object | None, list[Object]]:
    """The first rule that any failed Job matches, with all that match it."""
    for rule in rules:
        matching = [job for job in failed if _matches(rule, job)]
        if matching:
            return rule, matching
    return None, failed


def _matches(rule: Object, job: Object) -> bool:
    failure = true_condition(job, "Failed") or {}
    reasons = rule.get("onJobFailureReasons")
    patterns = rule.get("onJobFailureMessagePatterns")
    targets = rule.get("targetReplicatedJobs")
    parent = replicated_job_of(job)
    return (
        (not reasons or failure.get("reason") in reasons)
        and (not patterns or _any_found(patterns, failure.get("message") or ""))
        and bool(parent)
        and (not targets or parent in targets)
    )


def _any_found(patterns: Iterable[str], message: str) -> bool:
    """A pattern that is no regular expression matches nothing."""
    for pattern in patterns:
        try:
            if re.search(pattern, message):
                return True
        except re.error:
            continue
    return False


def _with_first_failure(text: str, failed: list[Object]) -> str:
    first = min(failed, key=_failed_at)
    return f"{text} (first failed job: {first['metadata']['name']})"


def _failed_at(job: Object) -> str:
    """Times of one form sort as their text does."""
    return str((true_condition(job, "Failed") or {}).get("lastTransitionTime") or "")
