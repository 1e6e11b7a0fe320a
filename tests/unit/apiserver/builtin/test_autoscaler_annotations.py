"""What autoscaling/v1 cannot say goes into annotations and comes back."""

from typing import Any

import pytest

from fleetqueue.apiserver.builtin import autoscaler_annotations as annotated
from fleetqueue.apiserver.builtin.conversions import BEHAVIOR, METRICS, convert_autoscaler

Object = dict[str, Any]

METRICS_BOTH_WAYS: dict[str, tuple[Object, Object]] = {
    "memory": (
        {
            "type": "Resource",
            "resource": {
                "name": "memory",
                "target": {"type": "AverageValue", "averageValue": "1Gi"},
            },
        },
        {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}},
    ),
    "pods": (
        {
            "type": "Pods",
            "pods": {
                "metric": {"name": "m", "selector": {"matchLabels": {"a": "b"}}},
                "target": {"type": "AverageValue", "averageValue": "5"},
            },
        },
        {
            "type": "Pods",
            "pods": {
                "metricName": "m",
                "targetAverageValue": "5",
                "selector": {"matchLabels": {"a": "b"}},
            },
        },
    ),
    "external": (
        {
            "type": "External",
            "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": "5"}},
        },
        {"type": "External", "external": {"metricName": "m", "targetValue": "5"}},
    ),
    "a container": (
        {
            "type": "ContainerResource",
            "containerResource": {
                "name": "cpu",
                "container": "c",
                "target": {"type": "Utilization", "averageUtilization": 50},
            },
        },
        {
            "type": "ContainerResource",
            "containerResource": {
                "name": "cpu",
                "targetAverageUtilization": 50,
                "container": "c",
            },
        },
    ),
}


@pytest.mark.parametrize("name", METRICS_BOTH_WAYS)
def test_a_metric_is_the_same_in_both_versions(name: str) -> None:
    newer, older = METRICS_BOTH_WAYS[name]
    assert annotated.metric_to_v1(newer, "target") == older
    assert annotated.metric_to_v2(older, "target") == newer


def test_the_average_of_an_object_needs_a_value_in_the_older_version() -> None:
    target = {"type": "AverageValue", "averageValue": "2"}
    described = {"kind": "Service", "name": "s"}
    newer = {
        "type": "Object",
        "object": {"describedObject": described, "metric": {"name": "m"}, "target": target},
    }
    older = annotated.metric_to_v1(newer, "target")
    assert older["object"] == {
        "target": described,
        "metricName": "m",
        "targetValue": "0",
        "averageValue": "2",
    }
    assert annotated.metric_to_v2(older, "target") == newer


def test_behaviour_is_written_with_the_names_of_the_inner_form() -> None:
    policy = {"type": "Pods", "value": 1, "periodSeconds": 60}
    behavior = {"scaleDown": {"selectPolicy": "Max", "policies": [policy]}}
    older = annotated.behavior_to_v1(behavior)
    assert older == {
        "ScaleUp": None,
        "ScaleDown": {
            "StabilizationWindowSeconds": None,
            "SelectPolicy": "Max",
            "Policies": [{"Type": "Pods", "Value": 1, "PeriodSeconds": 60}],
            "Tolerance": None,
        },
    }
    assert annotated.behavior_to_v2(older) == behavior


def test_an_autoscaler_survives_the_older_version() -> None:
    metric, _ = METRICS_BOTH_WAYS["memory"]
    policy = {"type": "Pods", "value": 1, "periodSeconds": 60}
    spec = {
        "maxReplicas": 5,
        "metrics": [metric],
        "behavior": {"scaleUp": {"selectPolicy": "Min", "policies": [policy]}},
    }
    newer = {"apiVersion": "autoscaling/v2", "metadata": {"name": "a"}, "spec": spec}
    older = convert_autoscaler(newer, "autoscaling/v1")
    assert older["spec"] == {"maxReplicas": 5}
    assert set(older["metadata"]["annotations"]) == {METRICS, BEHAVIOR}
    assert convert_autoscaler(older, "autoscaling/v2") == newer
