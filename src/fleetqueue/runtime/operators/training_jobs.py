"""The engine of all training jobs of kubeflow.org/v1: a pod and a Service per replica, limits,
suspension, clean-up. A kind adds its declaration, `Family`, and nothing else.
"""

from functools import partial

from fleetqueue.api.times import format_time, parse_time
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Operator
from fleetqueue.kube.plan import Create, Delete, Look, Note, Plan, Status, Step
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.kinds import POD, SERVICE
from fleetqueue.runtime.operators import training_limits as limits
from fleetqueue.runtime.operators import training_pods as made
from fleetqueue.runtime.operators.training_kinds import Family, Replica, TrainingJob, training_job
from fleetqueue.runtime.operators.training_status import Draft

OWN_NAME = "kubeflow.org/training-operator"


def operator_of(family: Family, *, owns: tuple[Resource, ...] = ()) -> Operator:
    return Operator(
        family.controller,
        family.kind,
        partial(decide, family),
        owns=(POD, SERVICE, *owns),
        managed_by=("spec", "runPolicy", "managedBy"),
        own_name=OWN_NAME,
        created=created,
        refused=refused,
    )


def decide(family: Family, look: Look) -> Plan:
    job = training_job(family, look.parent)
    draft = Draft(job, look.now)
    draft.set("Created", "Created", f"{family.name} {job.name} is created.")
    plan = Plan(family.besides(look, job))
    if draft.is_finished:
        _clean_up(look, job, draft, plan)
    elif job.is_suspended:
        _suspend(look, job, draft, plan)
    else:
        _run(look, job, draft, plan)
    return plan


def created(look: Look, obj: Object) -> Plan:
    kind, name = obj["kind"], obj["metadata"]["name"]
    if kind not in ("Pod", "Service"):
        return Plan()
    return Plan([Note(f"SuccessfulCreate{kind}", f"Created {kind.lower()}: {name}")])


def refused(look: Look, step: Step, error: KubeError) -> Plan:
    if isinstance(step, Create) and step.obj["kind"] in ("Pod", "Service"):
        reason = f"FailedCreate{step.obj['kind']}"
        return Plan([Note(reason, f"Error creating: {error}", "Warning")])
    return Plan()


def _run(look: Look, job: TrainingJob, draft: Draft, plan: Plan) -> None:
    if draft.is_true("Suspended"):
        text = f"{job.family.name} {job.name} is resumed."
        draft.set("Suspended", "Resumed", text, status=False, event="Normal")
        draft.status["startTime"] = format_time(look.now)
    pods = look.owned(POD)
    problem = limits.exceeded(job, draft, pods, look.now)
    if problem:
        draft.finish("Failed", problem)
        plan.add(*_deletions(pods), *_deletions(look.owned(SERVICE)))
    else:
        _reconcile(look, job, draft, plan)
    plan.add(Status(draft.status), *draft.notes)
    _look_again_at_deadline(look, job, draft, plan)


def _reconcile(look: Look, job: TrainingJob, draft: Draft, plan: Plan) -> None:
    """Services come first: a pod must find its peers by name as soon as it starts."""
    services, pods = look.owned(SERVICE), look.owned(POD)
    plan.add(*_surplus(job, services), *_surplus(job, pods))
    for replica in job.replicas:
        ours = made.of_role(pods, replica.role)
        draft.count(replica, ours)
        plan.add(*_restarts(job, replica, ours, draft))
    for replica in job.replicas:
        have = made.indexes(made.of_role(services, replica.role))
        missing = [index for index in range(replica.count) if index not in have]
        plan.add(*(Create(made.make_service(job, replica, index)) for index in missing))
    for replica in job.replicas:
        have = made.indexes(made.of_role(pods, replica.role))
        missing = [index for index in range(replica.count) if index not in have]
        plan.add(*(Create(made.make_pod(job, replica, index)) for index in missing))
        if missing and (replica.template.get("spec") or {}).get("restartPolicy"):
            draft.warn_of_restart_policy()
    draft.status.setdefault("startTime", format_time(look.now))
    job.family.judge(draft, job)


def _restarts(job: TrainingJob, replica: Replica, pods: list[Object], draft: Draft) -> list[Step]:
    """A failed pod makes way for its successor where the policy wants one, or ends the job."""
    steps: list[Step] = []
    for pod in pods:
        if pod_facts.phase(pod) != "Failed" or made.index_of(pod) >= replica.count:
            continue
        code = made.exit_code(pod, job.family.container)
        if replica.policy == "ExitCode" and code < made.RETRIED_FROM:
            text = f'job "{job.name}" is failing because "{replica.role}" replica(s) failed.'
            draft.finish("Failed", text, event="Warning")
        elif replica.is_retried:
            steps += _deletions([pod])
            text = f"job {job.name} is restarting because {replica.role} replica(s) failed."
            draft.set("Restarting", "Restarting", text, event="Warning")
    return steps


def _surplus(job: TrainingJob, objects: list[Object]) -> list[Step]:
    """Deletions of those whose index the job no longer has."""
    counts = {replica.role.lower(): replica.count for replica in job.replicas}
    return _deletions(
        [obj for obj in objects if made.index_of(obj) >= counts.get(made.role_of(obj), 0)]
    )


def _suspend(look: Look, job: TrainingJob, draft: Draft, plan: Plan) -> None:
    """Everything goes; what still runs counts as active until it is really gone."""
    pods = look.owned(POD)
    plan.add(*_deletions(pods), *_deletions(look.owned(SERVICE)))
    draft.count_running(pods)
    text = f"{job.family.name} {job.name} is suspended."
    if draft.is_true("Running"):
        draft.set("Running", "Suspended", text, status=False)
    if not draft.is_true("Suspended"):
        draft.set("Suspended", "Suspended", text, event="Normal")
    plan.add(Status(draft.status), *draft.notes)


def _clean_up(look: Look, job: TrainingJob, draft: Draft, plan: Plan) -> None:
    pods = made.to_clean(look.owned(POD), job.run_policy.get("cleanPodPolicy") or "None")
    names = {pod["metadata"]["name"] for pod in pods}
    services = [each for each in look.owned(SERVICE) if each["metadata"]["name"] in names]
    plan.add(*_deletions(pods), *_deletions(services))
    draft.settle()
    plan.add(Status(draft.status))
    seconds = job.run_policy.get("ttlSecondsAfterFinished")
    if seconds is None or job.is_suspended:
        return
    passed = (look.now - parse_time(draft.status["completionTime"])).total_seconds()
    if passed >= seconds:
        plan.add(Delete(look.parent), Note("SuccessfulDeletePod", f"Deleted job: {job.name}"))
    else:
        plan.look_again(seconds - passed)


def _deletions(objects: list[Object]) -> list[Step]:
    going = [obj for obj in objects if not is_deleting(obj)]
    steps: list[Step] = [Delete(obj) for obj in going]
    for obj in going:
        kind, name = obj["kind"], obj["metadata"]["name"]
        steps.append(Note(f"SuccessfulDelete{kind}", f"Deleted {kind.lower()}: {name}"))
    return steps


def _look_again_at_deadline(look: Look, job: TrainingJob, draft: Draft, plan: Plan) -> None:
    seconds = job.run_policy.get("activeDeadlineSeconds")
    if seconds is None or draft.is_finished:
        return
    passed = (look.now - parse_time(draft.status["startTime"])).total_seconds()
    plan.look_again(max(0.0, seconds - passed))
