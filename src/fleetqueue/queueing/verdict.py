"""How an attempt is told to people: the flavors that were considered, and for every resource what
was needed, what was free, and why that was not enough.
"""

from collections.abc import Iterator
from typing import Any

from fleetqueue.queueing.amounts import print_amount
from fleetqueue.queueing.assignment import (
    Assignment,
    Attempt,
    Chance,
    PodSetResult,
    Trial,
)

Json = dict[str, Any]

_MODES = {
    Chance.NO_FIT: "NoFit",
    Chance.NO_CANDIDATES: "preemptionMode=NoCandidates",
    Chance.PREEMPT: "preemptionMode=Preempt",
    Chance.RECLAIM: "preemptionMode=Reclaim",
    Chance.FIT: "Fit",
}


def considered(assignment: Assignment) -> str:
    """The flavors that were looked at, those that simply fit left out; "" where all did."""
    told = [(each.name, ", ".join(_notable(each))) for each in assignment.pod_sets]
    return " | ".join(f"{name}: {flavors}" for name, flavors in told if flavors)


def explain(assignment: Assignment) -> list[Json]:
    """Per pod set, flavor and resource."""
    return [
        {
            "name": each.name,
            "count": each.count,
            "flavors": {resource: choice.flavor for resource, choice in each.choices.items()},
            "considered": [_attempt(attempt) for group in each.attempts for attempt in group],
            "message": each.message,
        }
        for each in assignment.pod_sets
    ]


def _notable(result: PodSetResult) -> Iterator[str]:
    attempts = [attempt for group in result.attempts for attempt in group]
    for attempt in sorted(attempts, key=lambda each: each.flavor):
        if attempt.chance is not Chance.FIT or attempt.borrowing:
            borrowing = [f"borrow={attempt.borrowing}"] if attempt.borrowing else []
            parts = [_MODES[attempt.chance], *borrowing, *attempt.reasons]
            yield f"{attempt.flavor}({';'.join(parts)})"


def _attempt(attempt: Attempt) -> Json:
    return {
        "flavor": attempt.flavor,
        "mode": _MODES[attempt.chance],
        "borrowing": attempt.borrowing,
        "reasons": list(attempt.reasons),
        "resources": [_trial(trial) for trial in attempt.trials],
    }


def _trial(trial: Trial) -> Json:
    return {
        "resource": trial.resource,
        "needed": print_amount(trial.resource, trial.needed),
        "free": print_amount(trial.resource, trial.free),
        "borrowable": print_amount(trial.resource, trial.borrowable),
        "mode": _MODES[trial.chance],
        "why": trial.why,
    }
