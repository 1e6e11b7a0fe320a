"""What a binding says of itself: ready, failed, may yet be ready."""

from typing import Any

import pytest
from tests.support.choosing import NOW, ago, binding, condition

from fleetqueue.fleet.decide import bindings

pytestmark = [pytest.mark.rule("ROLL-4"), pytest.mark.rule("BIND-2")]
Json = dict[str, Any]

AVAILABLE = condition("Available", reason="AllWorkAreAvailable")
UNTRACKED = "NotAllWorkAreAvailabilityTrackable"
# fmt: off
READY = {
    "nothing is known": ((), None),
    "available": ((AVAILABLE,), 0.0),
    "available, of an older generation": ((AVAILABLE | {"observedGeneration": 2},), None),
    "not available": ((condition("Available", "False", "NotAllWorkAreAvailable"),), None),
    "not trackable, for long": ((condition("Available", reason=UNTRACKED),), 0.0),
    "not trackable, since 20 s":
        ((condition("Available", reason=UNTRACKED, lastTransitionTime=ago(seconds=20)),), 40.0),
    "not trackable, in older words":
        ((condition("Available", reason="WorkNotTrackable", lastTransitionTime=ago(seconds=1)),),
         59.0),
    "diffs are reported": ((condition("DiffReported"),), 0.0),
    "diffs are not reported yet": ((condition("DiffReported", "False"),), None),
}
FAILED = {
    "nothing is known": ((), False),
    "all is well": ((condition("Applied"), AVAILABLE), False),
    "overrides failed": ((condition("Overridden", "False", "OverriddenFailed"),), True),
    "overrides are pending": ((condition("Overridden", "False", "OverriddenPending"),), False),
    "works are not written yet":
        ((condition("WorkSynchronized", "False", "WorkNotSynchronizedYet"),), False),
    "works cannot be written": ((condition("WorkSynchronized", "False", "SyncWorkFailed"),), True),
    "apply is pending": ((condition("Applied", "False", "ApplyPending"),), False),
    "apply is in progress": ((condition("Applied", "False", "ApplyInProgress"),), True),
    "not available, as a placement says it":
        ((condition("Available", "False", "ResourceNotAvailableYet"),), False),
    "not available, as a binding says it":
        ((condition("Available", "False", "NotAllWorkAreAvailable"),), True),
    "it failed with an older generation":
        ((condition("Applied", "False", "Failed", observedGeneration=2),), False),
    "the rollout is blocked": ((condition("RolloutStarted", "False", "Blocked"),), False),
}
# fmt: on


@pytest.mark.parametrize(("conditions", "seconds"), READY.values(), ids=READY.keys())
def test_when_a_binding_is_ready(conditions: tuple[Json, ...], seconds: float | None) -> None:
    found = binding("c", "Bound", *conditions)
    assert bindings.seconds_until_ready(found, NOW, 60) == seconds
    assert bindings.is_ready(found, NOW, 60) is (seconds == 0.0)


@pytest.mark.parametrize(("conditions", "is_failed"), FAILED.values(), ids=FAILED.keys())
def test_when_a_binding_has_failed(conditions: tuple[Json, ...], is_failed: bool) -> None:
    found = binding("c", "Bound", *conditions)
    assert bindings.has_failed(found) is is_failed
    assert bindings.can_be_ready(found) is not is_failed


def test_only_what_is_delivered_can_be_ready() -> None:
    assert bindings.can_be_ready(binding("c", "Unscheduled"))
    assert not bindings.can_be_ready(binding("c", "Scheduled"))
    assert not bindings.can_be_ready(binding("c", "Bound", condition("DiffReported", "False")))


def test_what_a_binding_was_before_it_was_given_up() -> None:
    key = "kubernetes-fleet.io/previous-binding-state"
    assert bindings.previous_state(binding("c", "Unscheduled", annotations={key: "Bound"})) == (
        "Bound"
    )
    assert bindings.previous_state(binding("c")) == ""
