"""A hub does not run what its members run."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.api.fleet.labels import PLACED
from fleetqueue.embedded.placed_jobs import spared
from fleetqueue.kube.frame import Operator
from fleetqueue.kube.plan import Look, Note, Plan
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Listed
from fleetqueue.runtime.kinds import JOB, POD

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def seen(look: Look) -> Plan:
    return Plan([Note("Seen", str(look.parent["spec"].get("suspend")))])


OPERATOR = Operator("job-controller", JOB, seen, owns=(POD,))


def job(*, is_placed: bool, **more: Any) -> Object:
    annotations = {PLACED: "true"} if is_placed else {}
    metadata = {"name": "j", "namespace": "n", "uid": "u", "annotations": annotations}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {}, **more}


def pod() -> Object:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    metadata = {"name": "p", "namespace": "n", "uid": "p", "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


@pytest.mark.rule("KJ-3", "KJ-6")
@pytest.mark.parametrize(
    ("parent", "around", "expected"),
    [
        pytest.param(job(is_placed=False), [], ["None"], id="one of its own"),
        pytest.param(job(is_placed=True), [], ["True"], id="a new one is told to be suspended"),
        pytest.param(
            job(is_placed=True, status={"active": 3}), [], [], id="what a member says stays"
        ),
        pytest.param(
            job(is_placed=True, status={"active": 1}), [pod()], ["True"], id="what ran is stopped"
        ),
    ],
)
def test_a_placed_job_is_left_alone(
    parent: Object, around: list[Object], expected: list[str]
) -> None:
    plan = spared(OPERATOR).decide(Look(parent, NOW, Listed(around)))
    assert [step.message for step in plan.steps if isinstance(step, Note)] == expected


def test_what_is_no_job_is_as_it_was() -> None:
    operator = Operator("pods", POD, seen)
    assert spared(operator) is operator
