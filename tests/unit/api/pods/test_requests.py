"""What a pod asks for, in whole numbers."""

import pytest

from fleetqueue.api.pods.requests import amounts_of, pod_requests, weighed_requests
from fleetqueue.kube.resources import Object

pytestmark = pytest.mark.rule("jobs C.10")


def container(sidecar: bool = False, limits: Object | None = None, **requests: str) -> Object:
    made: Object = {"name": "c", "resources": {"requests": requests, "limits": limits or {}}}
    return {**made, "restartPolicy": "Always"} if sidecar else made


SPECS: dict[str, tuple[Object, Object]] = {
    "containers are summed": (
        {"containers": [container(cpu="500m"), container(cpu="1", memory="1Gi")]},
        {"cpu": 1500, "memory": 2**30},
    ),
    "a larger init container counts instead": (
        {"containers": [container(cpu="1")], "initContainers": [container(cpu="3")]},
        {"cpu": 3000},
    ),
    "sidecars run beside the containers": (
        {"containers": [container(cpu="1")], "initContainers": [container(True, cpu="2")]},
        {"cpu": 3000},
    ),
    "an init container runs beside the sidecars before it alone": (
        {
            "containers": [container(cpu="1")],
            "initContainers": [
                container(cpu="4"),
                container(True, cpu="2"),
                container(cpu="3"),
            ],
        },
        {"cpu": 5000},
    ),
    "the overhead comes on top": (
        {"containers": [container(cpu="1")], "overhead": {"cpu": "100m", "memory": "1Mi"}},
        {"cpu": 1100, "memory": 2**20},
    ),
    "the pod's own requests replace those of its containers": (
        {
            "containers": [container(cpu="1", memory="1Gi")],
            "resources": {"requests": {"cpu": "5", "example.com/x": "3"}},
        },
        {"cpu": 5000, "memory": 2**30},
    ),
    "a limit is a request where there is none": (
        {"containers": [container(limits={"nvidia.com/gpu": "2", "cpu": "2"}, cpu="1")]},
        {"cpu": 1000, "nvidia.com/gpu": 2},
    ),
    "nothing is asked for": ({"containers": [container()]}, {}),
}


@pytest.mark.parametrize(("spec", "expected"), SPECS.values(), ids=SPECS)
def test_requests_follow_from_all_containers(spec: Object, expected: Object) -> None:
    assert pod_requests(spec) == expected


def test_what_is_asked_for_and_none_of_it_is_named_where_that_is_wanted() -> None:
    spec = {"containers": [container(cpu="0")], "initContainers": [container(memory="0")]}
    assert pod_requests(spec) == {}
    assert pod_requests(spec, keeps_zeros=True) == {"cpu": 0, "memory": 0}


def test_a_container_that_asks_for_nothing_weighs_a_little() -> None:
    assert weighed_requests({"containers": [container(), container(cpu="1")]}) == (
        1100,
        2 * 200 * 2**20,
    )


def test_quantities_become_whole_numbers() -> None:
    found = amounts_of({"cpu": "0.1", "memory": "1.5Ki", "pods": 110, "nvidia.com/gpu": "8"})
    assert found == {"cpu": 100, "memory": 1536, "pods": 110, "nvidia.com/gpu": 8}
