"""Why a container never ran, as its pod says."""

from typing import Any

import pytest

from fleetqueue.cli.unstarted import has_run, told_by_phase, told_by_status

Object = dict[str, Any]
UNSCHEDULED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/1 nodes are available",
}
START_ERROR = {"terminated": {"reason": "StartError", "message": "no such file", "exitCode": 128}}
OVER = {"terminated": {"reason": "Error", "exitCode": 1}}
CREATING = {"waiting": {"reason": "ContainerCreating"}}
BACK_OFF = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
PULLS = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}


def pod(state: Object | None = None, last: Object | None = None, **status: Any) -> Object:
    shown = [] if state is None else [{"name": "main", "state": state, "lastState": last or {}}]
    return {"status": {"containerStatuses": shown, **status}}


# fmt: off
CASES = {  #                             pod                                                has run
    "it runs":                          (pod({"running": {"startedAt": "now"}}),             True),
    "it has ended":                     (pod(OVER),                                          True),
    "it ran before it was restarted":   (pod(BACK_OFF, OVER),                                True),
    "all is over, nobody knows more":   (pod(phase="Succeeded"),                             True),
    "its image cannot be had":          (pod(PULLS),                                         False),
    "its command does not exist":       (pod(START_ERROR),                                   False),
    "its command never existed":        (pod(BACK_OFF, START_ERROR),                         False),
    "it is on no node":                 (pod(phase="Pending", conditions=[UNSCHEDULED]),     False),
}
# fmt: on


@pytest.mark.parametrize(("found", "expected"), CASES.values(), ids=CASES.keys())
def test_whether_it_has_run(found: Object, expected: bool) -> None:
    assert has_run(found, "main") is expected


def test_the_container_or_the_scheduler_says_why() -> None:
    assert told_by_status(pod(PULLS), "main") == "ImagePullBackOff: no such image"
    assert told_by_status(pod(START_ERROR), "main") == "StartError: no such file"
    unscheduled = pod(conditions=[UNSCHEDULED])
    assert told_by_status(unscheduled, "main") == "Unschedulable: 0/1 nodes are available"
    assert told_by_status(pod(CREATING), "main") == ""


def test_where_nobody_says_why_it_is_told_what_it_does() -> None:
    assert told_by_phase(pod(CREATING), "main") == "ContainerCreating"
    assert told_by_phase(
        pod(phase="Failed", reason="Evicted", message="low on memory"), "main"
    ) == ("Evicted: low on memory")
    assert told_by_phase({}, "main") == "Pending"
