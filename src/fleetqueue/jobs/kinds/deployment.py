"""Deployment (apps/v1): each of its pods is queued by itself."""

from fleetqueue.api.field_errors import FieldError
from fleetqueue.api.kueue import labels
from fleetqueue.jobs.kind import JobKind, PodRole, Sight
from fleetqueue.jobs.resources import DEPLOYMENT
from fleetqueue.jobs.serving import templates
from fleetqueue.kube.resources import Object

FRAMEWORK = "deployment"
TEMPLATE = "spec.template"


def hold(sight: Sight) -> None:
    inherited = {labels.MANAGED: "true", **templates.queue_labels(sight.job)}
    templates.stamp(sight.job, TEMPLATE, FRAMEWORK, labels_too=inherited)


def check(sight: Sight, old: Object | None) -> list[FieldError]:
    return [] if old is None else templates.check_removed_queue(sight, old)


JOB = JobKind(
    framework=FRAMEWORK,
    resource=DEPLOYMENT,
    suspend="",
    roles=[PodRole("main", TEMPLATE, "spec.replicas")],
    active="status.replicas",
    ready="Available",
    is_suspended=lambda job: not templates.has_ready_pods(job),
    queues=False,
    needs=("pod",),
    hold=hold,
    defaults_updates=True,
    validate=check,
    supports_prebuilt=False,
)
