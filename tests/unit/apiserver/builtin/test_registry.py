"""The folder of built-in kinds is their registry."""

import pytest

from fleetqueue.apiserver.builtin import strategies

WORKLOADS = [
    ("", "Pod"),
    ("", "PodTemplate"),
    ("", "ReplicationController"),
    ("apps", "ControllerRevision"),
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("batch", "CronJob"),
    ("batch", "Job"),
]


@pytest.mark.parametrize("kind", WORKLOADS)
def test_every_workload_kind_is_found(kind: tuple[str, str]) -> None:
    assert kind in strategies()
