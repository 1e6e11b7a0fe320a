"""JobSets: groups of Jobs that start, fail and finish together.

Each look counts the Jobs of the current attempt, lets the policies speak, and makes, stops or
starts Jobs so that they follow.
"""

from fleetqueue.api.times import parse_time
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Operator
from fleetqueue.kube.plan import Create, Delete, Look, Note, Patch, Plan, Status, Step
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import CLAIM, JOB, JOB_SET, SERVICE
from fleetqueue.runtime.operators import job_set_children as children
from fleetqueue.runtime.operators import job_set_failure_policy as failure_policy
from fleetqueue.runtime.operators.job_set_status import Attempt, Draft, sort_jobs
from fleetqueue.runtime.operators.job_set_templates import resumed_template
from fleetqueue.runtime.operators.job_set_webhook import WEBHOOK

__all__ = ["OPERATOR", "WEBHOOK", "decide"]

CONTROLLER_NAME = "jobset.sigs.k8s.io/jobset-controller"


def decide(look: Look) -> Plan:
    plan, draft = Plan(), Draft(look.parent, look.now)
    attempt = sort_jobs(look.owned(JOB), draft.restarts)
    draft.count(attempt)
    if draft.is_finished:
        _clean_up(look, attempt, draft, plan)
        return plan
    plan.add(*_deletions(attempt.previous))
    is_running = draft.all_ready and not _is_suspended(look.parent)
    if is_running and draft.is_true("RestartingJobSet"):
        draft.stop_restarting("JobsReady", "all jobs are ready")
    if attempt.failed:
        failure_policy.apply(look.parent, attempt.failed, draft)
    elif attempt.succeeded and _is_completed(look.parent, attempt.succeeded):
        draft.complete()
    else:
        _advance(look, attempt, draft, plan)
    plan.add(Status(draft.status), *draft.notes)
    return plan


def refused(look: Look, step: Step, error: KubeError) -> Plan:
    """The event that tells why a child could not be made."""
    if not isinstance(step, Create):
        return Plan()
    kind, name = step.obj["kind"], step.obj["metadata"]["name"]
    match kind:
        case "Job":
            text = f'job "{name}" creation failed with error: {error}'
            return Plan([Note("JobCreationFailed", text, "Warning")])
        case "Service":
            return Plan([Note("HeadlessServiceCreationFailed", str(error), "Warning")])
        case _:
            return Plan([Note("PVCCreationFailed", str(error), "Warning")])


def _clean_up(look: Look, attempt: Attempt, draft: Draft, plan: Plan) -> None:
    """A finished JobSet stops what still runs, and goes itself once its time is up."""
    plan.add(*_deletions(attempt.active), Status(draft.status))
    seconds = look.parent["spec"].get("ttlSecondsAfterFinished")
    if seconds is None:
        return
    passed = (look.now - parse_time(draft.finished_at)).total_seconds()
    if passed >= seconds:
        plan.add(Delete(look.parent, "Foreground"))
    else:
        plan.look_again(seconds - passed)


def _deletions(jobs: list[Object]) -> list[Step]:
    return [Delete(job, "Foreground") for job in jobs if not is_deleting(job)]


def _is_completed(job_set: Object, succeeded: list[Object]) -> bool:
    """Whether the success policy is content with the Jobs that succeeded."""
    policy = job_set["spec"].get("successPolicy") or {}
    targets = policy.get("targetReplicatedJobs") or [
        each["name"] for each in children.replicated_jobs(job_set)
    ]
    done = sum(children.replicated_job_of(job) in targets for job in succeeded)
    if policy.get("operator") == "Any":
        return done >= 1
    return done >= sum(
        children.replicas_of(each)
        for each in children.replicated_jobs(job_set)
        if each["name"] in targets
    )


def _advance(look: Look, attempt: Attempt, draft: Draft, plan: Plan) -> None:
    """Neither failed nor done: make what is missing, and let the Jobs run or wait."""
    service = children.make_service(look.parent)
    if service is not None and look.find(SERVICE, service["metadata"]["name"]) is None:
        plan.add(Create(service))
    for claim in children.make_claims(look.parent):
        if look.find(CLAIM, claim["metadata"]["name"]) is None:
            plan.add(Create(claim))
    _make_jobs(look.parent, attempt, draft, plan)
    if _is_suspended(look.parent):
        _suspend(attempt, draft, plan)
    else:
        _resume(look.parent, attempt, draft, plan)


def _make_jobs(job_set: Object, attempt: Attempt, draft: Draft, plan: Plan) -> None:
    in_order = _is_in_order(job_set) and not _is_suspended(job_set)
    for replicated in children.replicated_jobs(job_set):
        if not draft.may_start(replicated):
            continue
        if in_order and draft.has_started(replicated):
            continue
        plan.add(*_missing_jobs(job_set, replicated, attempt))
        if in_order:
            draft.start_in_order()
            return
    if in_order:
        draft.started_in_order()


def _missing_jobs(job_set: Object, replicated: Object, attempt: Attempt) -> list[Step]:
    policy = job_set["spec"].get("failurePolicy") or {}
    if attempt.previous and policy.get("restartStrategy") == "BlockingRecreate":
        return []
    wanted = range(children.replicas_of(replicated))
    names = {job["metadata"]["name"] for job in attempt.all}
    return [
        Create(children.make_job(job_set, replicated, index))
        for index in wanted
        if children.job_name(job_set, replicated, index) not in names
    ]


def _suspend(attempt: Attempt, draft: Draft, plan: Plan) -> None:
    for job in attempt.active:
        if not job["spec"].get("suspend"):
            plan.add(Patch(job, {"spec": {"suspend": True}}))
    draft.set("Suspended", True, "SuspendedJobs", "jobset is suspended")
    draft.stop_restarting("JobSetSuspended", "jobset is suspended")


def _resume(job_set: Object, attempt: Attempt, draft: Draft, plan: Plan) -> None:
    for replicated in children.replicated_jobs(job_set):
        if not draft.may_start(replicated):
            continue
        if _is_in_order(job_set) and draft.has_started(replicated):
            continue
        for job in attempt.active:
            is_ours = children.replicated_job_of(job) == replicated["name"]
            if is_ours and job["spec"].get("suspend"):
                plan.add(*_resumption(job, replicated))
        if _is_in_order(job_set):
            draft.start_in_order()
            return
    draft.set("Suspended", False, "ResumeJobs", "jobset is resumed")


def _resumption(job: Object, replicated: Object) -> list[Step]:
    """The template of a Job that has a start time is fixed, so that time goes first."""
    steps: list[Step] = []
    if (job.get("status") or {}).get("startTime"):
        steps.append(Patch(job, {"status": {"startTime": None}}, subresource="status"))
    template = resumed_template(job, replicated)
    steps.append(Patch(job, {"spec": {"suspend": False, "template": template}}))
    return steps


def _is_suspended(job_set: Object) -> bool:
    return bool(job_set["spec"].get("suspend"))


def _is_in_order(job_set: Object) -> bool:
    policy = job_set["spec"].get("startupPolicy") or {}
    return bool(policy.get("startupPolicyOrder") == "InOrder")


OPERATOR = Operator(
    "jobset",
    JOB_SET,
    decide,
    owns=(JOB, SERVICE, CLAIM),
    managed_by=("spec", "managedBy"),
    own_name=CONTROLLER_NAME,
    refused=refused,
)
