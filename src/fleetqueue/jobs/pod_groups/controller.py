"""Queues pod groups: one Workload for all pods that name the same group, named like it.

So the key of a group is that of its Workload, whether there is one or not.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.kueue import labels
from fleetqueue.api.kueue.pod_groups import group_of
from fleetqueue.api.meta import Key
from fleetqueue.api.times import parse_time
from fleetqueue.jobs import choosing, identity, leaving
from fleetqueue.jobs.controller import MANAGER, PREBUILT_RETRY_SECONDS, RETRY_SECONDS
from fleetqueue.jobs.kind import NotYet, Sight
from fleetqueue.jobs.pod_groups import composing, excess, replacement
from fleetqueue.jobs.pod_groups.group import GROUP, MEMBERS, as_job, is_serving, members_of
from fleetqueue.jobs.pod_groups.matching import is_equivalent, sort_members
from fleetqueue.jobs.pod_sets import pod_sets_of
from fleetqueue.jobs.pods import gates, states
from fleetqueue.jobs.priorities import ClassMissing
from fleetqueue.jobs.resources import (
    ADMISSION_CHECK,
    NAMESPACE,
    POD,
    PRIORITY_CLASS,
    RESOURCE_FLAVOR,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
)
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.jobs.steps import AFTER, BEFORE, Pass, let_go, note
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Operator, by_name, nobody
from fleetqueue.kube.plan import NOTHING, Create, Delete, Look, Note, Patch, Plan, Step
from fleetqueue.kube.resources import Object, key_of, version_of
from fleetqueue.kube.sources import Index

READ = (NAMESPACE, RESOURCE_FLAVOR, PRIORITY_CLASS, WORKLOAD_PRIORITY_CLASS, ADMISSION_CHECK)


def _group_key(pod: Object) -> list[Key]:
    name = group_of(pod)
    return [Key(key_of(pod).namespace, name)] if name else []


PODS = Index(POD, "pod group", _group_key)


def operator(settings: JobSettings) -> Operator:
    return Operator(
        f"{states.FRAMEWORK}-kueue-controller",
        WORKLOAD,
        partial(decide, settings),
        reads=(by_name(POD, _group_key), *(nobody(kind) for kind in READ)),
        indexes=(PODS,),
        manager=MANAGER,
        decides_deletion=True,
        gone=partial(decide, settings),
        tells_action=True,
    )


def decide(settings: JobSettings, look: Look) -> Plan:
    """The look's parent is the Workload of the group, or just its names."""
    workload = look.parent if "spec" in look.parent else None
    found = look.source.found(PODS, Key(look.namespace, look.name))
    pods = sorted((pod for pod in found if states.is_managed(pod, settings)), key=_name)
    if not pods:
        return NOTHING if workload is None else _without_pods(settings, look, workload)
    if not settings.has_namespace(look.source.get(NAMESPACE, "", look.namespace)):
        return NOTHING
    sight = Sight(as_job(pods), look.source, settings, now=look.now)
    if not identity.queue_of(sight.job) and not settings.manages_without_queue_name:
        return NOTHING
    try:
        plan = _decide(sight, look, workload)
    except ClassMissing as error:
        told = Note("WorkloadPriorityClassNotFound", str(error), "Warning")
        plan = Plan([told], after=RETRY_SECONDS)
    except NotYet:
        plan = Plan(after=RETRY_SECONDS)
    return _addressed(plan, pods)


def _without_pods(settings: JobSettings, look: Look, workload: Object) -> Plan:
    """One that only pods owned is let go; others wait for pods to come, or come back."""
    owners = workload["metadata"].get("ownerReferences") or ()
    if is_deleting(workload) and _is_group(workload):
        return Plan(choosing.release_finalizer(workload))
    is_of_pods = bool(owners) and all(owner["kind"] == POD.kind for owner in owners)
    if not is_of_pods or not _is_group(workload):
        return NOTHING
    return Plan(leaving.let_go([workload], settings, look))


def _decide(sight: Sight, look: Look, workload: Object | None) -> Plan:
    prebuilt = identity.prebuilt_of(sight.job, sight.settings)
    if workload is None:
        return _without_workload(sight, look.name, bool(prebuilt))
    if sight.settings.gates.group_owners and not prebuilt and not _is_group(workload):
        return Plan([_conflict(look.name)])
    if status_of.is_finished(workload) or is_deleting(workload):
        return _go_on(sight, look, workload)
    members = sort_members(sight, workload)
    if not prebuilt and not is_serving(sight.job) and _is_made_late(workload, members.kept):
        return Plan(gates.released(members.kept))
    own = replace(sight, job={**sight.job, MEMBERS: members.kept}) if members.kept else sight
    if not is_serving(sight.job) and not is_equivalent(own, members.kept, workload):
        return _without_match(own, look, workload, bool(prebuilt))
    if not prebuilt and (steps := excess.removed(members.excess)):
        return Plan(steps)
    # Whoever goes first takes the Workload along, unless those that stay own it by then.
    if steps := [*_owned(members.kept, workload), *gates.released(members.replaced)]:
        return Plan(steps)
    is_of_set = is_serving(sight.job) and bool(prebuilt)
    # Whoever made the Workload of pods that serve tells it of gates and classes.
    if not is_of_set and (steps := choosing.propagated(GROUP, own, workload)):
        return Plan(steps)
    # Whoever made pods that serve brings them back, some only after others run.
    missing = 0 if is_serving(sight.job) else members.missing
    if (told := replacement.told(workload, missing, look.now)) is not None:
        return Plan([told])
    return _go_on(own, look, workload)


def _go_on(sight: Sight, look: Look, workload: Object) -> Plan:
    here = Pass(GROUP, sight, look, workload, is_elastic=False)
    plans = (step(here) for step in (*BEFORE, *AFTER))
    found = next((plan for plan in plans if plan is not None), None)
    plan = Plan() if found is None else Plan(list(found.steps), found.after)
    if not status_of.is_evicted(workload):
        return plan
    ends = [at for pod in members_of(sight.job) if (at := states.ends_at(pod)) is not None]
    if left := [at - look.now for at in ends if at > look.now]:
        plan.look_again(min(left).total_seconds())
    return plan


def _without_workload(sight: Sight, name: str, is_prebuilt: bool) -> Plan:
    if is_prebuilt:
        assert GROUP.halt is not None
        # Nobody waits for the successors of those that have ended.
        gone = [pod for pod in members_of(sight.job) if is_deleting(pod)]
        ended = [pod for pod in gone if states.is_terminated(pod) or not states.counts(pod)]
        steps = GROUP.halt(sight, "NoMatchingWorkload", "missing workload")
        return Plan([*gates.released(ended), *steps], after=PREBUILT_RETRY_SECONDS)
    if GROUP.verdict(sight) is not None:
        return Plan(let_go(GROUP, sight))
    if GROUP.is_active(sight):
        return NOTHING
    gone = [pod for pod in members_of(sight.job) if not states.counts(pod)]
    steps = gates.released(gone)
    kept = [pod for pod in members_of(sight.job) if pod not in gone]
    if steps or not kept:
        return Plan(steps)
    if problem := composing.problem_of(sight, name):
        return Plan([_cannot_compose(problem)])
    if steps := excess.removed(composing.too_many(sight)):
        return Plan(steps)
    own = replace(sight, job=as_job([pod for pod in kept if not is_deleting(pod)] or kept))
    if problem := composing.misfit_of(own):
        return Plan([_cannot_compose(problem)])
    made = composing.build(own, name)
    created = note("CreatedWorkload", f"Created Workload: {choosing.title(made)}")
    return Plan([Create(made), created])


def _without_match(sight: Sight, look: Look, workload: Object, is_prebuilt: bool) -> Plan:
    if is_prebuilt:
        over = status_of.finish(workload, "OutOfSync", choosing.OUT_OF_SYNC, look.now)
        return Plan([choosing.apply_status(over)])
    is_suspended = GROUP.suspends(sight.job)
    if is_suspended and not status_of.has_quota(workload):
        if problem := composing.problem_of(sight, look.name) or composing.misfit_of(sight):
            return Plan([_cannot_compose(problem)])
        return Plan(choosing.rewritten(GROUP, sight, pod_sets_of(GROUP, sight), workload))
    steps: list[Step] = []
    if not is_suspended and GROUP.verdict(sight) is None and GROUP.halt is not None:
        steps = GROUP.halt(sight, "NoMatchingWorkload", choosing.RESTORING)
    return Plan([*steps, *choosing.removed(workload)])


def _owned(pods: Iterable[Object], workload: Object) -> list[Step]:
    """Every pod of a group owns its Workload."""
    present = workload["metadata"].get("ownerReferences") or []
    known = {owner["uid"] for owner in present}
    new = [composing.reference(pod) for pod in pods if pod["metadata"]["uid"] not in known]
    if not new:
        return []
    metadata = {"ownerReferences": [*present, *new], "resourceVersion": version_of(workload)}
    message = f"Added {len(new)} owner reference(s)"
    return [
        Patch(workload, {"metadata": metadata}),
        Note("OwnerReferencesAdded", message, about=workload),
    ]


def _addressed(plan: Plan, pods: list[Object]) -> Plan:
    """Events are told of the first pod, that it was started of each; all pods are one job."""
    started = [step.obj for step in plan.steps if isinstance(step, Patch)]
    steps: list[Step] = []
    for step in plan.steps:
        if isinstance(step, Note) and step.about is None:
            about = started if step.reason == "Started" else pods[:1]
            steps += [replace(step, about=pod) for pod in about]
        elif isinstance(step, Delete) and MEMBERS in step.obj:
            steps += [Delete(pod) for pod in pods]
        else:
            steps.append(step)
    return Plan(steps, plan.after)


def _is_made_late(workload: Object, pods: list[Object]) -> bool:
    """Whether all its pods, none of which ever ran, were told to go before it was made, by somebody
    who saw them late. The one before it was deleted with them: nobody waits for their successors.
    """
    if not pods or not all(is_deleting(pod) and states.is_gated(pod) for pod in pods):
        return False
    created = parse_time(workload["metadata"]["creationTimestamp"])
    return all(states.told_to_go_at(pod) <= created for pod in pods)


def _is_group(workload: Object) -> bool:
    return states.says(workload, labels.IS_GROUP_WORKLOAD)


def _conflict(name: str) -> Note:
    message = (
        f'A Workload named "{name}" already exists but is not a pod group workload;'
        " this pod group cannot be admitted"
    )
    return Note("WorkloadNameConflict", message, "Warning")


def _cannot_compose(problem: str) -> Note:
    return Note("ErrWorkloadCompose", status_of.event_message(problem), "Warning")


def _name(pod: Object) -> str:
    return str(pod["metadata"]["name"])
