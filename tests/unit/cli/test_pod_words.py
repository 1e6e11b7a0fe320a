"""What is said of pods that are not ready, or that failed."""

from typing import Any

import pytest

from fleetqueue.cli.pod_words import CHARACTERS_MAX, Seen, are_ready, clean, why_failed, why_unready

Object = dict[str, Any]
pytestmark = pytest.mark.rule("kueue 11.1")
ENDED = {"terminated": {"reason": "Error", "exitCode": 3, "finishedAt": "2026-01-01T00:00:09Z"}}
STARTED_BADLY = {
    "terminated": {"reason": "StartError", "exitCode": 128, "message": 'exec: "/no": not found'}
}
CRASHING = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting"}}


def waiting(reason: str, message: str = "") -> Object:
    return {"waiting": {"reason": reason, "message": message}}


def pod(name: str = "p", state: Object | None = None, **status: Any) -> Object:
    """Of one container, which is in that state."""
    last = status.pop("last", {})
    containers = [{"name": "main", "state": state, "lastState": last}] if state else []
    told = {"phase": "Pending", "containerStatuses": containers, **status}
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "status": told}


def ready(name: str = "fine") -> Object:
    return pod(name, phase="Running", conditions=[{"type": "Ready", "status": "True"}])


def event(name: str = "p", message: str = "m", reason: str = "Failed", kind: str = "Pod") -> Object:
    uid = f"uid-{name}"
    about = {"kind": kind, "name": name, "uid": uid}
    return {"involvedObject": about, "reason": reason, "message": message}


UNSCHEDULED = [{"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available"}]

# fmt: off
CASES = {
    "a missing ConfigMap": (
        pod(state=waiting("CreateContainerConfigError", 'configmap "x" not found')),
        'container main waits: CreateContainerConfigError: configmap "x" not found'),
    "an image that does not exist": (
        pod(state=waiting("ImagePullBackOff", 'Back-off pulling image "no/such"')),
        'container main waits: ImagePullBackOff: Back-off pulling image "no/such"'),
    "an init container": (
        pod(initContainerStatuses=[{"name": "first", "state": waiting("InvalidImageName", "x")}]),
        "container first waits: InvalidImageName: x"),
    "it ended": (pod(state=ENDED, phase="Failed"), "container main ended: Error, exit code 3"),
    "a command that does not exist": (
        pod(state=STARTED_BADLY),
        'container main ended: StartError, exit code 128: exec: "/no": not found'),
    "it ends again and again": (
        pod(state=CRASHING, last=ENDED),
        "container main waits: CrashLoopBackOff: back-off 10s restarting;"
        " it ended before: Error, exit code 3"),
    "no node": (pod(conditions=UNSCHEDULED), "it is on no node: 0/2 nodes are available"),
    "put out": (pod(phase="Failed", reason="Evicted", message="low on memory"),
                "Evicted: low on memory"),
}
# fmt: on


@pytest.mark.parametrize(("made", "expected"), CASES.values(), ids=CASES.keys())
def test_a_pod_says_why_it_is_not_ready(made: Object, expected: str) -> None:
    for is_told in (True, False):
        assert why_unready(Seen([ready(), made]), is_told=is_told) == [f"pod p: {expected}"]


def test_an_event_says_what_its_status_does_not() -> None:
    fresh = pod(state=waiting("ContainerCreating"))
    events = [
        event(message="Error: ErrImagePull"),
        event(message='MountVolume.SetUp failed: secret "s" not found', reason="FailedMount"),
        event("other", "of another"),
    ]
    expected = ['pod p: FailedMount: MountVolume.SetUp failed: secret "s" not found']
    assert why_unready(Seen([fresh], events), is_told=True) == expected
    ended = pod(state=ENDED)
    assert why_unready(Seen([ended], [event(message="no such file")]), is_told=True) == [
        "pod p: container main ended: Error, exit code 3; Failed: no such file"
    ]


def test_events_about_a_pod_that_had_the_name_before_are_not_told() -> None:
    old = event()
    old["involvedObject"]["uid"] = "another"
    assert why_unready(Seen([pod()], [old]), is_told=False) == []


def test_one_that_is_about_to_begin_is_told_of_only_where_somebody_waits_for_it() -> None:
    seen = Seen([pod(state=waiting("ContainerCreating"))])
    assert why_unready(seen, is_told=False) == []
    assert why_unready(seen, is_told=True) == [
        "pod p: it is not ready (ContainerCreating), and nothing says why yet"
    ]
    blind = Seen([pod()], reads_events=False)
    assert why_unready(blind, is_told=True) == [
        "pod p: it is not ready, and nothing says why yet; its events may not be read"
    ]


def test_three_pods_are_enough_and_failed_ones_come_last() -> None:
    pods = [pod(name, conditions=UNSCHEDULED) for name in "bcde"]
    lines = why_unready(Seen([pod("a", ENDED, phase="Failed"), *pods]), is_told=True)
    assert [line.split(":")[0] for line in lines[:3]] == ["pod b", "pod c", "pod d"]
    assert lines[3:] == ["2 more of its pods are not ready"]


def test_without_pods_the_job_is_asked() -> None:
    about = event("train", "exceeded quota", "FailedCreate", "Job")
    expected = ["job train: FailedCreate: exceeded quota"]
    assert why_unready(Seen(job_warnings=[about]), is_told=True) == expected
    assert why_unready(Seen([ready()], job_warnings=[about]), is_told=True) == expected
    assert why_unready(Seen(), is_told=True) == ["it has no pods yet"]


def test_pods_are_ready_where_there_are_some_and_all_of_them_are() -> None:
    assert are_ready([ready(), pod(phase="Succeeded")])
    assert not are_ready([])
    assert not are_ready([ready(), pod()])


def test_the_last_pod_says_why_a_job_failed() -> None:
    first = {"terminated": {**ENDED["terminated"], "finishedAt": "2026-01-01T00:00:01Z"}}
    pods = [pod("b", first, phase="Failed"), pod("a", ENDED, phase="Failed"), ready()]
    assert why_failed(Seen(pods), "backoff limit") == [
        "pod a: container main ended: Error, exit code 3"
    ]


def test_where_pods_are_gone_events_say_why_a_job_failed() -> None:
    events = [event(message="Error: StartError"), event("q", "no such file"), event("q", "b")]
    assert why_failed(Seen(pod_warnings=events), "") == [
        "pod q: Failed: no such file",
        "pod q: Failed: b",
    ]
    of_job = [event("j", "limit", "BackoffLimitExceeded", "Job"), event("j", "x", "No", "Job")]
    assert why_failed(Seen(job_warnings=of_job), "limit") == ["job j: No: x"]
    assert why_failed(Seen(), "") == ["its pods are gone, and no event says more"]


def test_what_a_container_writes_is_one_line_that_can_be_printed() -> None:
    assert clean("a\n\x1b[31m b\t") == "a [31m b"
    assert clean("x" * CHARACTERS_MAX + "end").endswith("end")
    assert len(clean("x" * 5000)) == CHARACTERS_MAX + 2
