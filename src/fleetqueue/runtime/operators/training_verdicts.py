"""What the counts of a training job's replicas mean: running, succeeded, failed or restarting."""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from fleetqueue.runtime.operators.training_kinds import Replica, TrainingJob
from fleetqueue.runtime.operators.training_status import Draft

Judge: TypeAlias = Callable[[Draft, TrainingJob], None]


def judge(
    *,
    any_runs: bool = False,
    one_worker_is_enough: Callable[[TrainingJob], bool] = lambda job: False,
) -> Judge:
    """By the master where there is one, or else by the workers.

    `any_runs`: one active replica of any role makes the job run.
    """
    return partial(_judge, any_runs, one_worker_is_enough)


def _judge(
    any_runs: bool,
    one_worker_is_enough: Callable[[TrainingJob], bool],
    draft: Draft,
    job: TrainingJob,
) -> None:
    for replica in job.replicas:
        counts = draft.counts(replica.role)
        decides = job.leader is replica or (job.leader is None and replica.role == "Worker")
        is_done = decides and counts["succeeded"] == replica.count
        if decides and job.leader is None and one_worker_is_enough(job):
            is_done = counts["succeeded"] > 0
        if counts["active"] and (any_runs or (decides and not is_done)):
            _runs(draft, job)
        if is_done:
            draft.finish("Succeeded", f"{job.family.name} {_done(job)}")
            return
        if counts["failed"] and replica.count > counts["succeeded"] + counts["active"]:
            _failed(draft, job, replica, counts["failed"])


def _failed(draft: Draft, job: TrainingJob, replica: Replica, failed: int) -> None:
    who, why = (
        f"{job.family.name} {job.name}",
        f"because {failed} {replica.role} replica(s) failed.",
    )
    if replica.is_retried:
        draft.set("Restarting", "Restarting", f"{who} is restarting {why}", event="Warning")
    else:
        draft.finish("Failed", f"{who} is failed {why}")


def _runs(draft: Draft, job: TrainingJob) -> None:
    where = job.name if job.leader else f"{job.namespace}/{job.name}"
    draft.set("Running", "Running", f"{job.family.name} {where} is running.")


def _done(job: TrainingJob) -> str:
    if job.leader:
        return f"{job.name} is successfully completed."
    return f"{job.namespace}/{job.name} successfully completed."
