"""Which words of a placement may wait for their turn."""

from collections.abc import Sequence
from typing import Any

import pytest

from fleetqueue.fleet.decide import status

Json = dict[str, Any]


def condition(aspect: str, told: str = "True") -> Json:
    return {"type": f"ClusterResourcePlacement{aspect}", "status": told}


SCHEDULED = condition("Scheduled")
PENDING = condition("Scheduled", "Unknown")
STARTING = condition("RolloutStarted", "Unknown")
APPLYING = condition("Applied", "Unknown")
FAILED = condition("Applied", "False")
ON_A, ON_B = [{"clusterName": "a"}], [{"clusterName": "b"}]


def says(*told: Json, on: Sequence[Json] = ()) -> Json:
    return {"conditions": list(told), "placementStatuses": list(on)}


# fmt: off
STEPS = {
    "nothing is chosen yet": ({}, says(PENDING), True),
    "clusters are chosen": (says(PENDING), says(SCHEDULED, STARTING, on=ON_A), False),
    "others are": (says(SCHEDULED, APPLYING, on=ON_A), says(SCHEDULED, STARTING, on=ON_B), False),
    "a step": (says(SCHEDULED, STARTING, on=ON_A), says(SCHEDULED, APPLYING, on=ON_A), True),
    "a failure": (says(SCHEDULED, APPLYING, on=ON_A), says(SCHEDULED, FAILED, on=ON_A), False),
    "the end": (says(SCHEDULED, APPLYING, on=ON_A), says(SCHEDULED, on=ON_A), False),
    "all has to be chosen anew": (says(SCHEDULED, on=ON_A), says(PENDING), False),
}
# fmt: on


@pytest.mark.parametrize(("before", "told", "is_so"), STEPS.values(), ids=STEPS.keys())
def test_only_steps_on_the_way_may_wait(before: Json, told: Json, is_so: bool) -> None:
    assert status.is_under_way(before, told) == is_so
