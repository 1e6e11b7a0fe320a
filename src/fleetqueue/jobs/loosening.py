"""Takes finalizers away whatever was written of an object meanwhile, for those who ask for that."""

from dataclasses import replace

from fleetqueue.kube.frame import Decide, Operator
from fleetqueue.kube.plan import Look, Patch, Plan, Step
from fleetqueue.kube.resources import Object


def loosened(operator: Operator) -> Operator:
    """The same, but that its patches of finalizers hold for any version of their object."""
    gone = None if operator.gone is None else _loosely(operator.gone)
    return replace(operator, decide=_loosely(operator.decide), gone=gone)


def _loosely(decide: Decide) -> Decide:
    def decided(look: Look) -> Plan:
        plan = decide(look)
        return Plan([_loose(step) for step in plan.steps], plan.after)

    return decided


def _loose(step: Step) -> Step:
    if not isinstance(step, Patch) or not _is_of_finalizers(step.patch):
        return step
    metadata = {key: value for key, value in step.patch["metadata"].items() if key != _VERSION}
    return replace(step, patch={"metadata": metadata})


_VERSION = "resourceVersion"


def _is_of_finalizers(patch: Object) -> bool:
    """And of nothing else, which may need to know the version."""
    is_metadata = isinstance(patch, dict) and patch.keys() == {"metadata"}
    return is_metadata and patch["metadata"].keys() <= {"finalizers", "uid", _VERSION}
