"""The PodsReady condition."""

from typing import Any

import pytest

from fleetqueue.jobs.pods_ready import readiness

pytestmark = [pytest.mark.rule("jobs A.4"), pytest.mark.rule("kueue 3.7")]

# fmt: off
CASES = {  #               admitted  before             ready   answer
    "waits for quota":    (False,    "",                False,  "F WaitForStart"),
    "was evicted":        (False,    "T Started",       True,   "F WaitForStart"),
    "starts":             (True,     "F WaitForStart",  False,  "F WaitForStart"),
    "never told before":  (True,     "",                False,  "F WaitForStart"),
    "is ready":           (True,     "F WaitForStart",  True,   "T Started"),
    "stays ready":        (True,     "T Started",       True,   "T Started"),
    "loses a pod":        (True,     "T Started",       False,  "F WaitForRecovery"),
    "still lacks it":     (True,     "F WaitForRecovery", False, "F WaitForRecovery"),
    "is ready again":     (True,     "F WaitForRecovery", True, "T Recovered"),
    "stays ready again":  (True,     "T Recovered",     True,   "T Recovered"),
    "loses another":      (True,     "T Recovered",     False,  "F WaitForRecovery"),
}
# fmt: on
WORDS = {"T": "True", "F": "False"}


@pytest.mark.parametrize(("admitted", "before", "ready", "answer"), CASES.values(), ids=CASES)
def test_readiness(admitted: bool, before: str, ready: bool, answer: str) -> None:
    conditions: list[dict[str, Any]] = [{"type": "Admitted", "status": str(admitted)}]
    if before:
        status, reason = before.split()
        conditions.append({"type": "PodsReady", "status": WORDS[status], "reason": reason})
    found = readiness({"status": {"conditions": conditions}}, ready)
    assert f"{'T' if found.value else 'F'} {found.reason}" == answer
    messages = {
        "WaitForStart": "Not all pods are ready or succeeded",
        "WaitForRecovery": "At least one pod has failed, waiting for recovery",
    }
    running = "All pods reached readiness and the workload is running"
    assert found.message == messages.get(found.reason, running)
