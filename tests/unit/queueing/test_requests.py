"""What quota has to cover for a pod: what its namespace adds, and what rules make of it."""

from fractions import Fraction
from typing import Any

import pytest

from fleetqueue.queueing.admissibility import resources_problem
from fleetqueue.queueing.requests import (
    Limits,
    RequestRules,
    Surroundings,
    Transformation,
    completed,
    merged_limits,
    node_requests,
    quota_requests,
)

pytestmark = pytest.mark.rule("kueue 6.7")

Json = dict[str, Any]


def pod(limits: Json | None = None, **requests: str) -> Json:
    resources = {"requests": requests, "limits": limits or {}}
    return {"containers": [{"name": "c", "resources": resources}]}


@pytest.mark.rule("kueue 8.5", "kueue 13.8")
def test_none_of_something_is_asked_for_like_some() -> None:
    asks = pod(cpu="0", memory="1Ki")
    assert node_requests(asks) == quota_requests(asks) == {"cpu": 0, "memory": 1024}
    before = {**asks, "initContainers": pod(gpu="0")["containers"]}
    assert node_requests(before) == {"cpu": 0, "memory": 1024, "gpu": 0}


DEFAULTS = Limits(default={"cpu": "8", "gpu": "1"}, default_request={"cpu": "1"})
COMPLETED: dict[str, tuple[Json, Json]] = {
    "nothing said": (pod(), {"cpu": 1000, "gpu": 1}),
    "a request": (pod(cpu="3"), {"cpu": 3000, "gpu": 1}),
    "a limit, and a default for requests": (pod({"cpu": "4"}), {"cpu": 1000, "gpu": 1}),
    "a limit, and none": (pod({"memory": "1Ki"}), {"cpu": 1000, "gpu": 1, "memory": 1024}),
}


@pytest.mark.rule("kueue 13.2")
@pytest.mark.parametrize(("spec", "asked"), COMPLETED.values(), ids=COMPLETED.keys())
def test_defaults_come_first_and_then_limits(spec: Json, asked: Json) -> None:
    assert quota_requests(completed(spec, Surroundings(containers=DEFAULTS))) == asked


@pytest.mark.rule("kueue 3.2")
def test_none_of_something_is_less_than_the_least() -> None:
    limits = merged_limits([{"limits": [{"type": "Pod", "min": {"cpu": "1"}}]}], "Pod")
    told = resources_problem([pod(cpu="0")], Surroundings(pods=limits))
    assert told.endswith("requests must not be below the limitRange min")
    assert resources_problem([pod()], Surroundings(pods=limits)) == ""


MULTIPLIED = {
    "asked for": ({"mig": "2", "factor": "4"}, 2 * 5 * 4),
    "none asked for": ({"mig": "2", "factor": "0"}, 0),
    "not asked for": ({"mig": "2"}, 2 * 5),
}


@pytest.mark.rule("kueue 13.2")
@pytest.mark.parametrize(("asks", "counted"), MULTIPLIED.values(), ids=MULTIPLIED.keys())
def test_what_multiplies_does_so_where_it_is_asked_for(asks: Json, counted: int) -> None:
    rule = Transformation({"memory-units": Fraction(5)}, keeps_input=False, multiply_by="factor")
    found = quota_requests(pod(**asks), RequestRules(transformations={"mig": rule}))
    assert found["memory-units"] == counted
    assert "mig" not in found
