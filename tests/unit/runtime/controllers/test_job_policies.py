"""What podFailurePolicy and successPolicy make of pods and indexes."""

from typing import Any

import pytest

from fleetqueue.runtime.controllers.job_failure_policy import Verdict, judge
from fleetqueue.runtime.controllers.job_indexes import Indexes
from fleetqueue.runtime.controllers.job_success_policy import reached

pytestmark = pytest.mark.rule("jobs B.1")


def exits(action: str, operator: str, *values: int, **more: Any) -> dict[str, Any]:
    return {"action": action, "onExitCodes": {"operator": operator, "values": values, **more}}


def has(action: str, *types: str) -> dict[str, Any]:
    patterns = [{"type": type, "status": "True"} for type in types]
    return {"action": action, "onPodConditions": patterns}


def pod(*codes: int, init: tuple[int, ...] = (), conditions: tuple[str, ...] = ()) -> Any:
    def ended(kind: str, codes: tuple[int, ...]) -> list[Any]:
        return [
            {"name": f"{kind}{number}", "state": {"terminated": {"exitCode": code}}}
            for number, code in enumerate(codes)
        ]

    return {
        "metadata": {"namespace": "ns", "name": "p"},
        "status": {
            "containerStatuses": [*ended("c", codes), {"name": "r", "state": {"running": {}}}],
            "initContainerStatuses": ended("i", init),
            "conditions": [{"type": type, "status": "True"} for type in conditions],
        },
    }


def why(container: str, code: int, rule: int) -> str:
    return (
        f"Container {container} for pod ns/p failed with exit code {code}"
        f" matching FailJob rule at index {rule}"
    )


JUDGED: dict[str, Any] = {
    "no policy": ([], pod(1), Verdict()),
    "a listed code": ([exits("FailJob", "In", 3, 42)], pod(42), why("c0", 42, 0)),
    "a code that is not listed": ([exits("FailJob", "In", 3)], pod(42), Verdict()),
    "none of those": ([exits("FailJob", "NotIn", 3)], pod(42), why("c0", 42, 0)),
    "one of those": ([exits("FailJob", "NotIn", 3)], pod(3), Verdict()),
    "zero is no failure": ([exits("FailJob", "NotIn", 3)], pod(0), Verdict()),
    "the second container": ([exits("FailJob", "In", 7)], pod(1, 7), why("c1", 7, 0)),
    "an init container": ([exits("FailJob", "In", 7)], pod(init=(7,)), why("i0", 7, 0)),
    "regular ones come first": ([exits("FailJob", "In", 7)], pod(7, init=(7,)), why("c0", 7, 0)),
    "another container": (
        [exits("FailJob", "In", 7, containerName="c1")],
        pod(7, 1),
        Verdict(),
    ),
    "the first rule that fits": (
        [exits("Ignore", "In", 1), exits("Count", "In", 2), exits("FailIndex", "In", 2)],
        pod(2),
        Verdict("Count"),
    ),
    "ignored": ([exits("Ignore", "In", 2)], pod(2), Verdict("Ignore")),
    "the index": ([exits("FailIndex", "In", 2)], pod(2), Verdict("FailIndex")),
    "a condition": (
        [exits("FailJob", "In", 9), has("FailJob", "A", "B")],
        pod(1, conditions=("B",)),
        "Pod ns/p has condition B matching FailJob rule at index 1",
    ),
    "no such condition": ([has("FailJob", "A")], pod(1, conditions=("B",)), Verdict()),
}


@pytest.mark.parametrize(("rules", "failed", "verdict"), JUDGED.values(), ids=JUDGED.keys())
def test_the_first_rule_that_fits_decides(rules: Any, failed: Any, verdict: Any) -> None:
    expected = Verdict("FailJob", verdict) if isinstance(verdict, str) else verdict
    found = judge({"rules": rules}, failed)
    assert found == expected
    assert found.counts == (found.action != "Ignore")


REACHED: dict[str, Any] = {
    "nothing has succeeded": ([{"succeededCount": 0}], [], ""),
    "all the listed": ([{"succeededIndexes": "0,2-3"}], [0, 2, 3], "0"),
    "not all the listed": ([{"succeededIndexes": "0,2-3"}], [0, 1, 3], ""),
    "enough of any": ([{"succeededCount": 2}], [0, 4], "0"),
    "too few of any": ([{"succeededCount": 3}], [0, 4], ""),
    "enough of the listed": (
        [{"succeededIndexes": "1-3", "succeededCount": 2}],
        [0, 1, 3],
        "0",
    ),
    "too few of the listed": (
        [{"succeededIndexes": "1-3", "succeededCount": 2}],
        [0, 1, 4],
        "",
    ),
    "the second rule": ([{"succeededIndexes": "4"}, {"succeededCount": 1}], [0], "1"),
    "a list beyond the completions": ([{"succeededIndexes": "7"}], [0], ""),
}


@pytest.mark.parametrize(("rules", "succeeded", "rule"), REACHED.values(), ids=REACHED.keys())
def test_a_success_policy_is_met(rules: Any, succeeded: list[int], rule: str) -> None:
    said = f"Matched rules at index {rule}" if rule else ""
    assert reached({"rules": rules}, 5, Indexes(succeeded)) == said


def test_no_policy_is_never_met() -> None:
    assert reached(None, 5, Indexes([0])) == ""
