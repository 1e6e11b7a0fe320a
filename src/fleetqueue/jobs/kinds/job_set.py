"""JobSet (jobset.x-k8s.io/v1alpha2): several Jobs, each in several replicas, as one."""

from fleetqueue.jobs import replicated_jobs as replicated
from fleetqueue.jobs.kind import JobKind, Outcome, Role, Sight
from fleetqueue.kube.resources import Object, Resource


def jobs_of(sight: Sight) -> list[Object]:
    return sight.spec.get("replicatedJobs") or []


def statuses_of(sight: Sight) -> list[Object]:
    return sight.status.get("replicatedJobsStatus") or []


def roles(sight: Sight) -> list[Role]:
    return replicated.replicated_roles(jobs_of(sight), "spec.replicatedJobs")


JOB = JobKind(
    framework="jobset.x-k8s.io/jobset",
    resource=Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"),
    suspend="spec.suspend",
    managed_by="spec.managedBy",
    own_name="jobset.sigs.k8s.io/jobset-controller",
    roles=roles,
    pod_index_label=replicated.INDEX_LABEL,
    active="status.replicatedJobsStatus[*].active",
    ready=lambda sight: replicated.are_ready(jobs_of(sight), statuses_of(sight)),
    finished=Outcome(succeeded="Completed", failed="Failed"),
    reclaimable=lambda sight: replicated.reclaimable_pods(jobs_of(sight), statuses_of(sight)),
)
