"""The events that tell of pods made and removed, worded alike for all controllers of pods."""

from fleetqueue.kube.errors import KubeError, Refused
from fleetqueue.kube.plan import Create, Look, Note, Plan, Step
from fleetqueue.kube.resources import Object

NAMESPACE_TERMINATING = "NamespaceTerminating"


def created(look: Look, obj: Object) -> Plan:
    """What follows the creation of a pod; other kinds are made without a word."""
    if obj["kind"] != "Pod":
        return Plan()
    return Plan([Note("SuccessfulCreate", f"Created pod: {obj['metadata']['name']}")])


def deleted(pod: Object) -> Note:
    return Note("SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")


def refused(step: Step, error: KubeError) -> Note:
    if isinstance(step, Create):
        return Note("FailedCreate", f"Error creating: {error}", "Warning")
    return Note("FailedDelete", f"Error deleting: {error}", "Warning")


def is_namespace_ending(error: KubeError) -> bool:
    """Every creation will be refused from now on, and nobody needs to be told."""
    causes = error.causes if isinstance(error, Refused) else []
    return any(cause.get("reason") == NAMESPACE_TERMINATING for cause in causes)
