"""Sums over the containers of a pod, and the quality of service they make."""

from typing import Any

import pytest

from fleetqueue.apiserver.builtin.pod_resources import quality_of_service, total

Object = dict[str, Any]


def container(requests: Object | None = None, limits: Object | None = None, **more: Any) -> Object:
    return {"resources": {"requests": requests or {}, "limits": limits or {}}, **more}


BOTH = {"cpu": "1", "memory": "1Gi"}
OTHERWISE = {"cpu": "1000m", "memory": "1024Mi"}

CPU = {"cpu": "1"}

# fmt: off
QUALITIES: dict[str, tuple[list[Object], str]] = {
    "asks for nothing":                   ([container()], "BestEffort"),
    "asks for a gpu alone":               ([container({"nvidia.com/gpu": "1"})], "BestEffort"),
    "asks for some cpu":                  ([container(CPU)], "Burstable"),
    "requests are limits":                ([container(BOTH, BOTH)], "Guaranteed"),
    "the same amount, spelled otherwise": ([container(OTHERWISE, BOTH)], "Guaranteed"),
    "limits without memory":              ([container(CPU, CPU)], "Burstable"),
    "one container of two":               ([container(BOTH, BOTH), container()], "Burstable"),
}
# fmt: on


@pytest.mark.parametrize(("containers", "quality"), QUALITIES.values(), ids=QUALITIES.keys())
def test_quality_of_service(containers: list[Object], quality: str) -> None:
    assert quality_of_service({"containers": containers}) == quality


def test_an_init_container_without_limits_spoils_the_guarantee() -> None:
    spec = {"containers": [container(BOTH, BOTH)], "initContainers": [container()]}
    assert quality_of_service(spec) == "Burstable"


def test_the_pods_own_resources_decide_over_its_containers() -> None:
    resources = {"requests": BOTH, "limits": BOTH}
    spec = {"resources": resources, "containers": [container()]}
    assert quality_of_service(spec) == "Guaranteed"


def test_a_pod_needs_its_sidecars_and_its_hungriest_step() -> None:
    spec = {
        "containers": [container({"cpu": "1", "memory": "1Gi"})],
        "initContainers": [
            container({"cpu": "500m"}, restartPolicy="Always"),
            container({"cpu": "4"}),
            container({"memory": "3Gi"}),
        ],
    }
    assert {name: str(amount) for name, amount in total(spec, "requests").items()} == {
        "cpu": "4500m",
        "memory": "3Gi",
    }
