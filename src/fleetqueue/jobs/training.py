"""The kinds of the Kubeflow training operator, which differ in their names and roles alone."""

from typing import Any

from fleetqueue.jobs.kind import JobKind, Outcome, PodRole
from fleetqueue.kube.resources import Resource

_OF_TRAINING_OPERATOR: dict[str, Any] = {
    "own_name": "kubeflow.org/training-operator",
    "hands_over": lambda settings: settings.gates.training_managed_by,
}


def training_job(
    kind: str, specs: str, roles: tuple[str, ...], *, version: str = "v1", **more: Any
) -> JobKind:
    """`specs`: the field of the spec that holds the replica specs; roles in the order of their
    pod sets.
    """
    plural = f"{kind.lower()}s"
    return JobKind(
        framework=f"kubeflow.org/{kind.lower()}",
        resource=Resource("kubeflow.org", version, plural, kind),
        suspend="spec.runPolicy.suspend",
        managed_by="spec.runPolicy.managedBy",
        roles=[_role(specs, name) for name in roles],
        priority_class=["spec.runPolicy.schedulingPolicy.priorityClass"],
        pod_index_label="training.kubeflow.org/replica-index",
        active="status.replicaStatuses.*.active",
        ready="Running",
        finished=Outcome(succeeded="Succeeded", failed="Failed"),
        **(_OF_TRAINING_OPERATOR | more),
    )


def _role(specs: str, name: str) -> PodRole:
    at = f"spec.{specs}.{name}"
    return PodRole(name.lower(), template=f"{at}.template", count=f"{at}.replicas")
