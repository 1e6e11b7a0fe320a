"""CronJobs say the same under kube-controller-manager and under our controllers."""

from concurrent.futures import Future

import pytest

from differential.cron_stories import STORIES
from differential.harness import Planes

CONTROLLERS = ("job-controller", "cronjob-controller")
OPERATORS = (
    "fleetqueue.runtime.controllers.job:OPERATORS",
    "fleetqueue.runtime.controllers.cron_job:OPERATOR",
)


@pytest.fixture(scope="module")
def told(planes: Planes, request: pytest.FixtureRequest) -> dict[str, Future[None]]:
    """All stories that were asked for, under way at once."""
    asked = {item.name for item in request.session.items}
    return planes.tell(
        {name: told for name, told in STORIES.items() if f"test_both_do_the_same[{name}]" in asked}
    )


@pytest.mark.parametrize("name", STORIES)
def test_both_do_the_same(told: dict[str, Future[None]], name: str) -> None:
    told[name].result()
