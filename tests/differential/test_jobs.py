"""Jobs say the same, move by move, under kube-controller-manager and under our controllers."""

from concurrent.futures import Future

import pytest

from differential.harness import Planes
from differential.job_stories import STORIES

CONTROLLERS = ("job-controller", "ttl-after-finished-controller")
OPERATORS = (
    "fleetqueue.runtime.controllers.job:OPERATORS",
    "fleetqueue.runtime.controllers.ttl_after_finished:OPERATOR",
)


@pytest.fixture(scope="module")
def told(planes: Planes, request: pytest.FixtureRequest) -> dict[str, Future[None]]:
    """All stories that were asked for, under way at once."""
    asked = {item.name for item in request.session.items}
    return planes.tell(
        {name: told for name, told in STORIES.items() if f"test_both_say_the_same[{name}]" in asked}
    )


@pytest.mark.rule("jobs B.1")
@pytest.mark.parametrize("name", STORIES)
def test_both_say_the_same(told: dict[str, Future[None]], name: str) -> None:
    told[name].result()
