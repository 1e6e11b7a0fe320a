"""When two pod sets are the same to a queue."""

from typing import Any

import pytest

from fleetqueue.jobs.pod_sets import are_equivalent

Object = dict[str, Any]


def pods(**container: Any) -> list[Object]:
    spec = {"containers": [{"name": "main", "image": "busybox", **container}]}
    return [{"name": "main", "count": 1, "template": {"spec": spec}}]


def asking(cpu: Any, memory: Any = "1Gi") -> list[Object]:
    return pods(resources={"requests": {"cpu": cpu}, "limits": {"memory": memory}})


@pytest.mark.rule("kueue 9.4")
@pytest.mark.parametrize("other", [asking("1000m"), asking(1), asking("1", "1024Mi")])
def test_an_amount_may_be_written_in_several_ways(other: list[Object]) -> None:
    assert are_equivalent(asking("1"), other)


@pytest.mark.rule("kueue 9.4")
@pytest.mark.parametrize("other", [asking("1001m"), asking("1", "1G"), asking("one"), pods()])
def test_another_amount_is_another(other: list[Object]) -> None:
    assert not are_equivalent(asking("1"), other)


PROBE = {"httpGet": {"port": 80}}
FILLED_IN_PROBE = {
    "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}


@pytest.mark.rule("kueue 9.4")
@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ({}, {"imagePullPolicy": "Always"}),
        ({"image": "busybox:1.36"}, {"image": "busybox:1.36", "imagePullPolicy": "IfNotPresent"}),
        ({}, {"terminationMessagePath": "/dev/termination-log"}),
        ({}, {"terminationMessagePolicy": "File"}),
        ({"readinessProbe": PROBE}, {"readinessProbe": FILLED_IN_PROBE}),
    ],
)
def test_what_an_api_server_fills_in_may_be_missing(written: Object, stored: Object) -> None:
    assert are_equivalent(pods(**written), pods(**stored))


@pytest.mark.rule("kueue 9.4")
@pytest.mark.parametrize(
    "other",
    [
        {"imagePullPolicy": "Never"},
        {"imagePullPolicy": "IfNotPresent"},
        {"terminationMessagePolicy": "FallbackToLogsOnError"},
        {"readinessProbe": FILLED_IN_PROBE},
    ],
)
def test_what_is_written_besides_makes_another(other: Object) -> None:
    assert not are_equivalent(pods(), pods(**other))
