"""The pod sets of a list of replicated jobs, which JobSets and TrainJobs share."""

from collections.abc import Iterable

from fleetqueue.jobs.kind import Role
from fleetqueue.kube.resources import Object

INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
GROUP_LABEL = "jobset.sigs.k8s.io/job-index"


def replicated_roles(jobs: Iterable[Object], path: str) -> list[Role]:
    """`path` leads to the list."""
    return [
        Role(
            str(job["name"]),
            f"{path}[{index}].template.spec.template",
            replicas_of(job) * pods_per_replica(job),
            _spec(job).get("template") or {},
            sub_group_index_label=GROUP_LABEL,
            sub_group_count=replicas_of(job),
        )
        for index, job in enumerate(jobs)
    ]


def replicas_of(job: Object) -> int:
    replicas = job.get("replicas")
    return 1 if replicas is None else int(replicas)


def pods_per_replica(job: Object) -> int:
    spec = _spec(job)
    parallelism = 1 if spec.get("parallelism") is None else int(spec["parallelism"])
    completions = spec.get("completions")
    return parallelism if completions is None else min(parallelism, int(completions))


def are_ready(jobs: Iterable[Object], statuses: Iterable[Object]) -> bool:
    """Whether every replica is ready or has succeeded."""
    reached = sum((each.get("ready") or 0) + (each.get("succeeded") or 0) for each in statuses)
    return bool(sum(replicas_of(job) for job in jobs) == reached)


def reclaimable_pods(jobs: Iterable[Object], statuses: Iterable[Object]) -> dict[str, int]:
    """The pods of replicas that have succeeded."""
    done = {each["name"]: each.get("succeeded") or 0 for each in statuses}
    return {
        job["name"].lower(): done[job["name"]] * pods_per_replica(job)
        for job in jobs
        if 0 < done.get(job["name"], 0) <= replicas_of(job)
    }


def _spec(job: Object) -> Object:
    return (job.get("template") or {}).get("spec") or {}
