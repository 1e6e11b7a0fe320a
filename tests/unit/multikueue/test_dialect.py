"""What is said to a worker that knows an older version of Kueue's kinds."""

from typing import Any

import pytest

from fleetqueue.api.kueue.conversion import V1BETA1, V1BETA2
from fleetqueue.kube.errors import BadAnswer
from fleetqueue.multikueue import kinds
from fleetqueue.multikueue.dialect import Dialect, spoken
from fleetqueue.runtime.kinds import JOB

pytestmark = pytest.mark.rule("S000-3")
OLD, NEW = Dialect(V1BETA1), Dialect()
CLASS = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}


def workload(version: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": "Workload", "metadata": {"name": "a"}, **fields}


def test_the_newest_version_of_a_worker_is_spoken() -> None:
    assert spoken([V1BETA2, V1BETA1]) == NEW
    assert spoken([V1BETA1]) == OLD
    assert spoken([]) == NEW


def test_only_kueues_kinds_are_elsewhere() -> None:
    assert OLD.kind(kinds.WORKLOAD).path() == "/apis/kueue.x-k8s.io/v1beta1/workloads"
    assert OLD.kind(JOB) == JOB
    assert NEW.kind(kinds.WORKLOAD) == kinds.WORKLOAD


def test_objects_are_said_and_heard() -> None:
    new = workload(V1BETA2, spec={"priorityClassRef": CLASS, "podSets": []})
    old = OLD.say(new)
    assert old["apiVersion"] == V1BETA1
    assert old["spec"]["priorityClassName"] == "high"
    assert "status" not in old
    assert OLD.hear(old)["spec"]["priorityClassRef"] == CLASS
    assert NEW.say(new) is new
    job = {"apiVersion": "batch/v1", "kind": "Job"}
    assert OLD.say(job) is job
    assert OLD.hear(job) is job


def test_patches_name_what_is_there() -> None:
    patch = {"metadata": {"resourceVersion": "1"}, "spec": {"priority": 3}}
    assert OLD.say_patch(kinds.WORKLOAD, patch) == patch
    gone = OLD.say_patch(kinds.WORKLOAD, {"spec": {"priorityClassRef": None}})
    assert gone == {"spec": {"priorityClassName": None, "priorityClassSource": None}}
    assert NEW.say_patch(kinds.WORKLOAD, patch) is patch
    assert OLD.say_patch(JOB, patch) is patch


def test_what_cannot_be_understood_is_a_bad_answer() -> None:
    with pytest.raises(BadAnswer):
        OLD.hear(workload(V1BETA1, status={"admission": {"podSetAssignments": [3]}}))
