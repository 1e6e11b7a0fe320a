"""What happens in a cluster, as the scheduler's state."""

from typing import Any

import pytest

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.scheduling.pods import PodInfo
from fleetqueue.runtime.scheduling.tracking import Tracker
from support.scheduling import node, pod

pytestmark = pytest.mark.rule("jobs C.10")


def changed(obj: Object, **parts: Any) -> Object:
    return {**obj, **{name: {**obj[name], **value} for name, value in parts.items()}}


def test_a_pod_that_was_given_a_node_keeps_it_while_the_cluster_does_not_know() -> None:
    tracker = Tracker()
    tracker.node_changed(None, node("a"))
    waiting = pod("p", requests={"cpu": "1"})
    tracker.pod_changed(None, waiting)
    info = tracker.pending.next()
    assert info is not None
    tracker.assume(info, "a")
    labelled = changed(waiting, metadata={"labels": {"a": "b"}})
    tracker.pod_changed(waiting, labelled)
    assert tracker.state.home_of(info.uid) == "a"
    assert not tracker.pending.is_active
    bound = changed(labelled, spec={"nodeName": "a"})
    tracker.pod_changed(labelled, bound)
    assert tracker.state.nodes["a"].used == {"cpu": 1000}
    tracker.pod_changed(bound, None)
    assert tracker.state.nodes["a"].used == {"cpu": 0}


def test_a_pod_that_did_not_get_its_node_waits_again() -> None:
    tracker = Tracker()
    tracker.node_changed(None, node("a"))
    tracker.pod_changed(None, pod("p"))
    info = tracker.pending.next()
    assert info is not None
    tracker.assume(info, "a")
    tracker.give_up(info, comes_back=True)
    assert tracker.state.home_of(info.uid) is None
    assert tracker.pending.next() is info


def test_a_node_that_comes_back_still_has_its_pods() -> None:
    tracker = Tracker()
    tracker.node_changed(None, node("a"))
    tracker.pod_changed(None, pod("p", requests={"cpu": "1"}, nodeName="a"))
    tracker.node_changed(node("a"), None)
    assert tracker.state.node_names() == []
    tracker.node_changed(None, node("a"))
    assert tracker.state.nodes["a"].used == {"cpu": 1000}


def test_pods_on_a_node_that_is_not_known_yet_count_when_it_is() -> None:
    tracker = Tracker()
    tracker.pod_changed(None, pod("p", requests={"cpu": "1"}, nodeName="a"))
    assert tracker.state.node_names() == []
    tracker.node_changed(None, node("a"))
    assert tracker.state.nodes["a"].used == {"cpu": 1000}


def test_a_heartbeat_of_a_node_wakes_nobody() -> None:
    tracker = Tracker()
    tracker.node_changed(None, node("a"))
    tracker.pod_changed(None, pod("p"))
    info = tracker.pending.next()
    assert info is not None
    tracker.pending.failed(info)
    assert tracker.pending.next() is None
    beating = changed(node("a"), status={"conditions": [{"type": "Ready"}]})
    tracker.node_changed(node("a"), beating)
    assert not tracker.pending.is_active
    tracker.node_changed(beating, changed(beating, spec={"unschedulable": True}))
    assert tracker.pending.is_active


def test_a_pod_that_waits_for_room_is_not_tried_until_something_happens() -> None:
    tracker = Tracker()
    tracker.node_changed(None, node("a"))
    tracker.pod_changed(None, pod("victim", nodeName="a"))
    for name in ("p", "q"):
        tracker.pod_changed(None, pod(name, priority=5))
    info = tracker.pending.next()
    assert info is not None
    tracker.wait_for_room(info, "a")
    assert [each.name for each in tracker.state.nominated["a"].values()] == ["p"]
    other = tracker.pending.next()
    assert other is not None
    assert other.name == "q"
    tracker.pending.failed(other)
    assert tracker.pending.next() is None
    tracker.pod_changed(pod("victim", nodeName="a"), None)
    assert tracker.pending.next() is info


def test_lesser_pods_that_wait_for_the_same_node_are_named() -> None:
    tracker = Tracker()
    for name, priority in (("low", 1), ("high", 9)):
        tracker.state.nominate(PodInfo(pod(name, priority=priority)), "a")
    found = tracker.lower_nominated(PodInfo(pod("p", priority=5)), "a")
    assert [each.name for each in found] == ["low"]


def test_claims_that_nobody_uses_any_more_are_forgotten() -> None:
    tracker = Tracker()
    tracker.node_changed(None, node("a"))
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    users = [pod(name, nodeName="a", volumes=volumes) for name in ("p", "q")]
    for each in users:
        tracker.pod_changed(None, each)
    assert tracker.state.claim_users == {(users[0]["metadata"]["namespace"], "data"): 2}
    for each in users:
        tracker.pod_changed(each, None)
    assert len(tracker.state.claim_users) == 0
