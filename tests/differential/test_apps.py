"""apps/v1, budgets and endpoints are the same, move by move, under kube-controller-manager and
under our controllers."""

from concurrent.futures import Future

import pytest

from differential import rollout_stories
from differential.app_stories import STORIES
from differential.harness import Planes

CONTROLLERS = (
    "replicaset-controller",
    "deployment-controller",
    "statefulset-controller",
    "daemonset-controller",
    "disruption-controller",
    "endpoints-controller",
    "endpointslice-controller",
)
OPERATORS = (
    "fleetqueue.runtime.controllers.replica_set:OPERATOR",
    "fleetqueue.runtime.controllers.deployment:OPERATOR",
    "fleetqueue.runtime.controllers.stateful_set:OPERATOR",
    "fleetqueue.runtime.controllers.daemon_set:OPERATOR",
    "fleetqueue.runtime.controllers.disruption_budget:OPERATORS",
    "fleetqueue.runtime.controllers.endpoint_slices:OPERATOR",
    "fleetqueue.runtime.controllers.endpoints:OPERATORS",
)


@pytest.fixture(scope="module")
def told(planes: Planes, request: pytest.FixtureRequest) -> dict[str, Future[None]]:
    """All stories that were asked for, under way at once."""
    asked = {item.name for item in request.session.items}
    return planes.tell(
        {name: told for name, told in STORIES.items() if f"test_both_say_the_same[{name}]" in asked}
    )


@pytest.mark.rule("jobs B.2")
@pytest.mark.parametrize("name", STORIES)
def test_both_say_the_same(told: dict[str, Future[None]], name: str) -> None:
    told[name].result()


@pytest.mark.rule("jobs B.2.3")
@pytest.mark.usefixtures("told")
def test_kubectl_rolls_out_and_back(planes: Planes) -> None:
    rollout_stories.tell(planes)
