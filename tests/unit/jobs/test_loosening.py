"""Finalizers can be taken away whatever was written meanwhile; nothing else can."""

from typing import Any

import pytest

from fleetqueue.jobs.loosening import loosened
from fleetqueue.kube import finalizers
from fleetqueue.kube.frame import Operator
from fleetqueue.kube.plan import Look, Note, Patch, Plan
from fleetqueue.kube.resources import Resource

pytestmark = pytest.mark.rule("kueue 10.3")

Json = dict[str, Any]
OBJ: Json = {
    "metadata": {"name": "w", "uid": "u", "resourceVersion": "5", "finalizers": ["a", "b"]}
}
OTHER = {"metadata": {"resourceVersion": "5", "labels": {"a": "b"}}}
MORE = {"metadata": {"resourceVersion": "5", "finalizers": None}, "spec": {"active": False}}
KIND = Resource("", "v1", "pods", "Pod")


def test_only_patches_of_finalizers_hold_for_any_version() -> None:
    removal = finalizers.removed(OBJ, "a")
    note = Note("Reason", "message")
    plan = Plan([Patch(OBJ, removal), Patch(OBJ, OTHER), Patch(OBJ, MORE), note], after=3)

    def decide(look: Look) -> Plan:
        return plan

    operator = loosened(Operator("o", KIND, decide, gone=decide))

    assert operator.gone is not None
    for decided in (operator.decide, operator.gone):
        found = decided(None)  # type: ignore[arg-type]
        first, *others = found.steps
        assert isinstance(first, Patch)
        assert first.patch == {"metadata": {"finalizers": ["b"], "uid": "u"}}
        assert others == plan.steps[1:]
        assert found.after == 3
    assert removal is not None
    assert removal["metadata"]["resourceVersion"] == "5"


def test_an_operator_that_does_nothing_when_a_parent_is_gone_still_does_nothing() -> None:
    assert loosened(Operator("o", KIND, lambda look: Plan())).gone is None
