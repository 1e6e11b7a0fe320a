"""The status of a Job: which reports the server believes."""

from collections.abc import Callable
from typing import Any

import pytest

from fleetqueue.apiserver.builtin import strategies

Object = dict[str, Any]
Make = Callable[..., Object]

JOB = strategies()["batch", "Job"]
EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
PODS = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}


def conditions(*names: str) -> list[Object]:
    """The conditions of these names, true unless they start with a minus."""
    return [
        {"type": name.lstrip("-"), "status": "False" if name.startswith("-") else "True"}
        for name in names
    ]


DONE = {
    "conditions": conditions("SuccessCriteriaMet", "Complete"),
    "startTime": EARLY,
    "completionTime": LATE,
}
LOST = {"conditions": conditions("FailureTarget", "Failed"), "startTime": EARLY}
INDEXED = {"completionMode": "Indexed", "completions": 5, "backoffLimitPerIndex": 1}
WITH_POLICY = INDEXED | {"successPolicy": {"rules": [{"succeededCount": 1}]}}
CONDITIONS = "status.conditions: Invalid value: "

CASES: dict[str, tuple[Object, Object, Object, list[str]]] = {
    "it runs": ({}, {}, {"active": 1, "ready": 1, "startTime": EARLY}, []),
    "it is done": ({}, {}, DONE, []),
    "it is lost": ({}, {}, LOST, []),
    "fewer than none": (
        {},
        {},
        {"active": -1},
        ["status.active: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "more ready than active": (
        {},
        {},
        {"active": 1, "ready": 2},
        ["status.ready: Invalid value: 2: cannot set more ready pods than active"],
    ),
    "done without a reason": (
        {},
        {},
        {"conditions": conditions("Complete"), "startTime": EARLY, "completionTime": LATE},
        [
            f"{CONDITIONS}cannot set Complete=True condition "
            "without the SuccessCriteriaMet=true condition"
        ],
    ),
    "done at no time": (
        {},
        {},
        {"conditions": DONE["conditions"]},
        [
            "status.completionTime: Required value: completionTime is required for Complete jobs",
            "status.startTime: Required value: startTime is required for finished job",
        ],
    ),
    "done before it began": (
        {},
        {},
        DONE | {"startTime": LATE, "completionTime": EARLY},
        [f'status.completionTime: Invalid value: "{EARLY}": must be equal to or after `startTime`'],
    ),
    "lost without a reason": (
        {},
        {},
        LOST | {"conditions": conditions("Failed")},
        [f"{CONDITIONS}cannot set Failed=True condition without the FailureTarget=true condition"],
    ),
    "done with pods still active": (
        {},
        {},
        DONE | {"active": 1},
        ["status.active: Invalid value: 1: active>0 is invalid for finished job"],
    ),
    "done with pods not counted": (
        {},
        {},
        DONE | {"uncountedTerminatedPods": {"failed": ["x"]}},
        [
            'status.uncountedTerminatedPods: Invalid value: {"Succeeded":null,"Failed":["x"]}: '
            "must be empty for finished job"
        ],
    ),
    "alive again": (
        {},
        LOST,
        {"startTime": EARLY},
        [
            f"{CONDITIONS}cannot disable the terminal Failed=True condition",
            f"{CONDITIONS}cannot disable the terminal FailureTarget=True condition",
        ],
    ),
    "failures forgotten": (
        {},
        {"failed": 2},
        {"failed": 1},
        ["status.failed: Invalid value: 1: cannot decrease the failed counter"],
    ),
    "fewer successes of an elastic job": (
        INDEXED | {"parallelism": 5},
        {"succeeded": 2},
        {"succeeded": 1},
        [],
    ),
    "another beginning": (
        {},
        {"startTime": EARLY},
        {"startTime": LATE},
        ["status.startTime: Required value: startTime cannot be removed for unsuspended job"],
    ),
    "another beginning after a pause": (
        {},
        {"startTime": EARLY, "conditions": conditions("Suspended")},
        {"startTime": LATE, "conditions": conditions("-Suspended")},
        [],
    ),
    "indexes of a plain job": (
        {},
        {},
        {"completedIndexes": "0"},
        [
            'status.completedIndexes: Invalid value: "0": '
            "cannot set non-empty completedIndexes when non-indexed completion mode"
        ],
    ),
    "an index both done and lost": (
        INDEXED,
        {},
        {"completedIndexes": "0-2", "failedIndexes": "2-3"},
        [
            'status.failedIndexes: Invalid value: "2-3": '
            "failedIndexes and completedIndexes overlap at index: 2"
        ],
    ),
    "done against its own policy": (
        WITH_POLICY,
        {},
        {"conditions": conditions("Complete"), "startTime": EARLY, "completionTime": LATE},
        [
            f"{CONDITIONS}cannot set Complete=True condition "
            "without the SuccessCriteriaMet=true condition",
            f"{CONDITIONS}cannot set Complete=True for Job with SuccessPolicy "
            "unless SuccessCriteriaMet=True",
        ],
    ),
}


@pytest.mark.parametrize(("spec", "before", "after", "errors"), CASES.values(), ids=CASES.keys())
def test_a_report(
    stored: Make, spec: Object, before: Object, after: Object, errors: list[str]
) -> None:
    job = stored("batch", "Job", {"template": PODS} | spec)
    old, new = {**job, "status": before}, {**job, "status": after}
    assert [str(error) for error in JOB.validate_status(new, old)] == errors
