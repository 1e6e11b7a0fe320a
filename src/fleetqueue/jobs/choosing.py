"""Finds the one Workload of a job, and puts right what stands in its way."""

from dataclasses import dataclass
from datetime import datetime

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.kueue import labels
from fleetqueue.api.kueue.validation.admission_gates import gates_of
from fleetqueue.api.owners import controller_uid
from fleetqueue.api.patches import create_merge_patch
from fleetqueue.jobs import identity, slices, starting, workloads
from fleetqueue.jobs.kind import JobKind, NotYet, Sight
from fleetqueue.jobs.matching import find_match, is_equivalent
from fleetqueue.jobs.pod_sets import counts_of, pod_sets_of
from fleetqueue.jobs.priorities import priority_of
from fleetqueue.jobs.resources import WORKLOAD, WORKLOAD_PRIORITY_CLASS
from fleetqueue.kube import finalizers
from fleetqueue.kube.plan import Apply, Delete, Note, Patch, Plan, Step, owner_reference
from fleetqueue.kube.resources import Object, key_of, uid_of, version_of

RESTORING = "No matching Workload; restoring pod templates according to existent Workload"
MISSING = "Missing Workload; unable to restore pod templates"
UNTOLD_SECONDS = 5.0
"""How often it is looked for what tells the pods of a job."""
OUT_OF_SYNC = "The prebuilt workload is out of sync with its user job"


@dataclass(frozen=True, slots=True)
class Choice:
    """The Workload that stands for the job; or, where there is a plan, what must come first."""

    workload: Object | None = None
    plan: Plan | None = None
    replaces: Object | None = None
    """The slice of an elastic job whose place a new Workload has to take."""


def choose(kind: JobKind, sight: Sight, now: datetime) -> Choice:
    if name := identity.prebuilt_of(sight.job, sight.settings):
        choice = _prebuilt(kind, sight, name, now)
    else:
        owned = sorted(sight.source.left(WORKLOAD, sight.job), key=_name)
        elastic = kind.supports_slices and identity.is_elastic(sight.job, sight.settings)
        sliced = _sliced(kind, sight, owned, now) if elastic else None
        choice = sliced if sliced is not None else _ordinary(kind, sight, owned)
    if choice.plan is None and choice.workload is not None:
        steps = propagated(kind, sight, choice.workload)
        if steps:
            return Choice(choice.workload, Plan(steps))
    return choice


def apply_status(workload: Object) -> Apply:
    """Writes what the admission's field manager owns."""
    return Apply(status_of.admission_patch(workload), status_of.MANAGER, "status")


def release_finalizer(workload: Object, *, is_strict: bool = True) -> list[Step]:
    """A strict one holds only for the version that was read."""
    patch = finalizers.removed(workload, labels.RESOURCE_IN_USE_FINALIZER)
    if patch is None:
        return []
    if not is_strict:
        del patch["metadata"]["resourceVersion"]
    return [Patch(workload, patch)]


def spec_patch(workload: Object, spec: Object) -> list[Step]:
    """A change of the Workload's spec, which lists make hold only for the version that was read."""
    change = create_merge_patch(workload["spec"], {**workload["spec"], **spec})
    if not change:
        return []
    version = {"resourceVersion": version_of(workload)}
    return [Patch(workload, {"metadata": version, "spec": change})]


def is_copy(workload: Object) -> bool:
    """Whether a manager keeps its like on another cluster, and tells what is in it."""
    return labels.MULTIKUEUE_ORIGIN in identity.labels_of(workload)


def title(workload: Object) -> str:
    key = key_of(workload)
    return f"{key.namespace}/{key.name}"


# Prebuilt


def _prebuilt(kind: JobKind, sight: Sight, name: str, now: datetime) -> Choice:
    workload = sight.source.get(WORKLOAD, sight.namespace, name)
    if workload is None or controller_uid(workload) not in ("", uid_of(sight.job)):
        return Choice()
    if steps := _owned(sight, workload):
        return Choice(workload, Plan(steps))
    if status_of.is_finished(workload) or slices.replaced_by(workload):
        return Choice(workload)
    # The sizes of an elastic job and its Workload follow each other, in two writes.
    elastic = kind.supports_slices and identity.is_elastic(sight.job, sight.settings)
    pod_sets = _told_pod_sets(kind, sight)
    if pod_sets is None or is_equivalent(kind, sight, pod_sets, workload, ignores_counts=elastic):
        return Choice(workload)
    over = status_of.finish(workload, "OutOfSync", OUT_OF_SYNC, now)
    return Choice(workload, Plan([apply_status(over)]))


def _owned(sight: Sight, workload: Object) -> list[Step]:
    """Takes the Workload, where nobody has."""
    missing = {
        key: value
        for key, value in workloads.uid_label(sight.job).items()
        if identity.labels_of(workload).get(key) != value
    }
    metadata: Object = {"labels": missing} if missing else {}
    if not controller_uid(workload):
        others = workload["metadata"].get("ownerReferences") or []
        metadata["ownerReferences"] = [*others, owner_reference(sight.job)]
    if not metadata:
        return []
    return [Patch(workload, {"metadata": {**metadata, "resourceVersion": version_of(workload)}})]


# Elastic


def _sliced(kind: JobKind, sight: Sight, owned: list[Object], now: datetime) -> Choice | None:
    """None: more than sizes has changed, so the job is treated like any other."""
    pod_sets = pod_sets_of(kind, sight)
    live = [each for each in owned if not status_of.is_finished(each)]
    over = [step for each in owned if each not in live for step in release_finalizer(each)]
    if over:
        return Choice(None, Plan(over))
    for each in live:
        same_names = counts_of(each["spec"]["podSets"]).keys() == counts_of(pod_sets).keys()
        if not same_names or not is_equivalent(kind, sight, pod_sets, each, ignores_counts=True):
            return None
    found = slices.arrange(live, counts_of(pod_sets))
    if found.finished:
        steps: list[Step] = [
            apply_status(status_of.finish(each, reason, slices.MESSAGES[reason], now))
            for each, reason in found.finished
        ]
        return Choice(found.current, Plan(steps))
    if found.current is not None and found.counts is not None:
        resized = slices.resized(found.current, found.counts)
        return Choice(found.current, Plan(spec_patch(found.current, resized)))
    older = [each for each in live if each is not found.current]
    steps = [step for each in older for step in _priority(kind, sight, each)]
    return Choice(found.current, Plan(steps) if steps else None, found.replaces)


# All others


def _ordinary(kind: JobKind, sight: Sight, owned: list[Object]) -> Choice:
    """Where nobody can tell what its pods look like any more, a Workload that there is stands for
    the job, which has to be stopped and finished all the same.
    """
    pod_sets = _told_pod_sets(kind, sight)
    if pod_sets is None:
        own = [each for each in owned if controller_uid(each) == uid_of(sight.job)]
        return Choice(next(iter(own), None), None if own else Plan(after=UNTOLD_SECONDS))
    found = find_match(kind, sight, pod_sets, owned)
    match, others = found.match, found.others
    is_suspended = kind.suspends(sight.job)
    updated: Object | None = None
    if match is None and others and is_suspended and _can_be_rewritten(sight, others[0]):
        updated, others = others[0], others[1:]
    steps: list[Step] = []
    if match is None and not is_suspended and kind.verdict(sight) is None:
        existing = others[0] if len(others) == 1 else None
        message = MISSING if existing is None else RESTORING
        steps += starting.stop(kind, sight, existing, message, "NoMatchingWorkload")
    for each in others:
        steps += removed(each)
    if steps:
        return Choice(None, Plan(steps))
    if updated is not None:
        return Choice(updated, Plan(rewritten(kind, sight, pod_sets, updated)))
    return Choice(match)


def _told_pod_sets(kind: JobKind, sight: Sight) -> list[Object] | None:
    """None where something is missing that tells them."""
    try:
        return pod_sets_of(kind, sight)
    except NotYet:
        return None


def _can_be_rewritten(sight: Sight, workload: Object) -> bool:
    """One of an earlier job of that name cannot become this one's."""
    is_own = controller_uid(workload) == uid_of(sight.job)
    return is_own and not status_of.has_quota(workload)


def removed(workload: Object) -> list[Step]:
    message = f"Deleted not matching Workload: {title(workload)}"
    steps = release_finalizer(workload)
    if not finalizers.is_deleting(workload):
        steps.append(Delete(workload))
    return [*steps, Note("DeletedWorkload", status_of.event_message(message))]


def rewritten(kind: JobKind, sight: Sight, pod_sets: list[Object], workload: Object) -> list[Step]:
    spec = workloads.spec_of(sight, pod_sets, priority_of(kind, sight, pod_sets))
    wanted = {**dict.fromkeys(workload["spec"]), **spec}
    if "active" in workload["spec"]:
        wanted["active"] = workload["spec"]["active"]
    change = create_merge_patch(
        workload["spec"], {key: value for key, value in wanted.items() if value is not None}
    )
    message = f"Updated not matching Workload for suspended job: {title(workload)}"
    version = {"resourceVersion": version_of(workload)}
    return [
        Patch(workload, {"metadata": version, "spec": change}),
        Note("UpdatedWorkload", status_of.event_message(message)),
    ]


# What a matching one takes over from its job


def propagated(kind: JobKind, sight: Sight, workload: Object) -> list[Step]:
    if status_of.is_finished(workload) or finalizers.is_deleting(workload):
        return []
    return _gates(sight, workload) or _priority(kind, sight, workload)


def _gates(sight: Sight, workload: Object) -> list[Step]:
    wanted, present = _gates_left(sight.job, workload), identity.gated_by(workload)
    if wanted == present or not sight.settings.gates.admission_gated_by:
        return []
    annotations = {labels.ADMISSION_GATED_BY: wanted or None}
    message = f'Updated workload AdmissionGatedBy to "{wanted}"'
    return [
        Patch(workload, {"metadata": {"annotations": annotations}}),
        Note("UpdatedWorkload", status_of.event_message(message)),
    ]


def _gates_left(job: Object, workload: Object) -> str:
    """As the job says; a gate that somebody took from the workload itself does not come back."""
    named, present = (gates_of(identity.annotations_of(each)) for each in (job, workload))
    if set(named) <= set(present):
        return identity.gated_by(job)
    kept = [gate for gate in present if gate in named]
    return identity.gated_by(workload) if kept == present else ",".join(kept)


def _priority(kind: JobKind, sight: Sight, workload: Object) -> list[Step]:
    """A class of pods stays, as does having none while quota is held; of a copy from another
    cluster that one decides.
    """
    if is_copy(workload):
        return []
    reference = workload["spec"].get("priorityClassRef")
    wanted = identity.priority_class_of(sight.job)
    if not wanted or wanted == (reference or {}).get("name"):
        return []
    if reference is None and status_of.has_quota(workload):
        return []
    if reference is not None and reference.get("kind") != WORKLOAD_PRIORITY_CLASS.kind:
        return []
    priority = priority_of(kind, sight, [])
    spec = {"priority": priority.value, "priorityClassRef": priority.reference}
    message = f"Updated workload priority class: {title(workload)}"
    return [
        Patch(workload, {"spec": spec}),
        Note("UpdatedWorkload", status_of.event_message(message)),
    ]


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
