"""One controller for all kinds of jobs: keep it suspended, queue it, start it, stop it, finish it.

`decide` goes through the steps in upstream's order; each may end the pass.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.meta import Key
from fleetqueue.base.leisure import Leisure
from fleetqueue.jobs import identity, leaving, managing, slices, starting, workloads
from fleetqueue.jobs.ancestors import TOO_DEEP, Family, TooDeep, ancestor_of
from fleetqueue.jobs.choosing import Choice, choose, title
from fleetqueue.jobs.kind import JobKind, NotYet, Sight
from fleetqueue.jobs.pod_sets import MAX as POD_SETS_MAX
from fleetqueue.jobs.pod_sets import pod_sets_of
from fleetqueue.jobs.priorities import ClassMissing, priority_of
from fleetqueue.jobs.registry import enabled_kinds
from fleetqueue.jobs.resources import (
    NAMESPACE,
    PRIORITY_CLASS,
    RESOURCE_FLAVOR,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
)
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.jobs.steps import AFTER, BEFORE, Pass, let_go, note
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Follow, Operator, nobody
from fleetqueue.kube.plan import NOTHING, Create, Look, Note, Plan
from fleetqueue.kube.plan import title as title_of
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of
from fleetqueue.kube.sources import Listed, Source

MANAGER = "kueue"
WORKERS = 12
ORDINARY_WORKERS = 4
"""New jobs at once: where many come, those that may run already go first."""
NOWHERE = Listed(())
PREBUILT_RETRY_SECONDS = 2.0
RETRY_SECONDS = 5.0


def operators(kinds: Sequence[JobKind], settings: JobSettings) -> Iterable[Operator]:
    """One for each kind; each knows all that are enabled, since owners may be of any, also of one
    whose definition is installed later.
    """
    family = Family.of([*enabled_kinds(settings), *kinds], settings)
    for kind in kinds:
        if kind.queues:
            yield operator(kind, settings, family)


def operator(kind: JobKind, settings: JobSettings, family: Family) -> Operator:
    return Operator(
        f"{kind.framework}-kueue-controller",
        kind.resource,
        partial(decide, kind, settings, family, leisure=Leisure()),
        owns=(WORKLOAD, *kind.owns),
        reads=tuple(nobody(each) for each in (RESOURCE_FLAVOR, PRIORITY_CLASS, *kind.reads)),
        follows=(
            Follow(NAMESPACE, partial(_inhabitants, kind.resource), when=_changes_labels),
            Follow(WORKLOAD_PRIORITY_CLASS, partial(_users, kind.resource), when=_is_new),
        ),
        manager=MANAGER,
        decides_deletion=True,
        climbs=family.owner_of if kind.checks_ancestors else None,
        gone=partial(leaving.decide_gone, settings),
        skips=partial(_is_skipped, kind, settings),
        is_urgent=partial(_is_urgent, kind, settings),
        tells_action=True,
        workers=WORKERS,
        ordinary_workers=ORDINARY_WORKERS,
    )


def decide(
    kind: JobKind,
    settings: JobSettings,
    family: Family,
    look: Look,
    leisure: Leisure | None = None,
) -> Plan:
    """What is missing now may come: a job that cannot go on is looked at again.

    `leisure`: whether it is told that pods are not ready yet before they are.
    """
    try:
        return _decide(kind, settings, family, look, leisure or Leisure())
    except NotYet:
        return Plan(after=RETRY_SECONDS)


def _decide(
    kind: JobKind, settings: JobSettings, family: Family, look: Look, leisure: Leisure
) -> Plan:
    sight = Sight(look.parent, look.source, settings, look.observed, look.now)
    if kind.skips(sight):
        return NOTHING
    if is_deleting(look.parent):
        leaves = leaving.decide_deleting(settings, look)
        leaves.add(*let_go(kind, sight))
        return leaves
    if managing.is_placed(look.parent):
        return leaving.decide_placed(kind, sight, look)
    if not settings.has_namespace(look.source.get(NAMESPACE, "", look.namespace)):
        return NOTHING
    try:
        ancestor = _ancestor(kind, sight, family)
    except TooDeep as error:
        deep = str(error) == TOO_DEEP
        return Plan([Note("JobNestingTooDeep", TOO_DEEP, "Warning")]) if deep else NOTHING
    if ancestor is not None:
        return _as_child(kind, sight, ancestor)
    if not identity.queue_of(look.parent) and not settings.manages_without_queue_name:
        return NOTHING
    try:
        return _as_top_level(kind, sight, look, leisure)
    except ClassMissing as error:
        return Plan([Note("WorkloadPriorityClassNotFound", str(error), "Warning")])


def _ancestor(kind: JobKind, sight: Sight, family: Family) -> Object | None:
    if not kind.checks_ancestors or family.owner_of(sight.job) is None or _lets_go(sight):
        return None
    return ancestor_of(
        sight.job, family, sight.settings, lambda stub: sight.observed.get(title_of(stub))
    )


def _lets_go(sight: Sight) -> bool:
    """Whether a Workload of the job is being deleted: it must not wait for owners that are gone."""
    if not sight.settings.gates.skips_ancestors_of_deleted:
        return False
    found = sight.source.controlled(WORKLOAD, uid_of(sight.job), sight.namespace)
    return any(is_deleting(each) for each in found)


def _as_child(kind: JobKind, sight: Sight, ancestor: Object) -> Plan:
    """It has no Workload of its own; it may run while its ancestor's is admitted."""
    if kind.suspends(sight.job) or kind.verdict(sight) is not None:
        return NOTHING
    found = [
        each
        for each in sight.source.controlled(WORKLOAD, uid_of(ancestor), sight.namespace)
        if not status_of.is_finished(each)
    ]
    newest = max(found, key=_created, default=None)
    elastic = any(identity.is_elastic(each, sight.settings) for each in (sight.job, ancestor))
    if newest is not None:
        may_run = not status_of.is_evicted(newest) if elastic else status_of.is_admitted(newest)
        if may_run:
            return NOTHING
    told = Note("Suspended", "Kueue managed child job suspended")
    return Plan([*starting.suspend(kind, sight.job), told])


def _as_top_level(kind: JobKind, sight: Sight, look: Look, leisure: Leisure) -> Plan:
    if kind.prepare is not None and (steps := kind.prepare(sight)):
        return Plan(steps)
    choice = choose(kind, sight, look.now)
    if choice.plan is not None:
        return choice.plan
    elastic = kind.supports_slices and identity.is_elastic(sight.job, sight.settings)
    if choice.workload is None:
        if kind.verdict(sight) is not None:
            return Plan(let_go(kind, sight))
        return _without_workload(kind, sight, choice, elastic)
    here = Pass(kind, sight, look, choice.workload, elastic, leisure)
    for step in BEFORE:
        plan = step(here)
        if plan is not None:
            return plan
    if choice.replaces is not None:
        return _without_workload(kind, sight, choice, elastic)
    for step in AFTER:
        plan = step(here)
        if plan is not None:
            return plan
    return NOTHING


def _without_workload(kind: JobKind, sight: Sight, choice: Choice, elastic: bool) -> Plan:
    if identity.prebuilt_of(sight.job, sight.settings):
        plan = Plan(starting.stop(kind, sight, None, "missing workload", "NoMatchingWorkload"))
        plan.look_again(PREBUILT_RETRY_SECONDS)
        return plan
    if kind.is_active(sight) and not elastic:
        return NOTHING
    pod_sets = pod_sets_of(kind, sight)
    if not pod_sets:
        return NOTHING
    if len(pod_sets) > POD_SETS_MAX:
        text = f"a job can't have more than {POD_SETS_MAX} pod sets, this one has {len(pod_sets)}"
        return Plan([Note("ErrWorkloadCompose", text, "Warning")])
    priority = priority_of(kind, sight, pod_sets)
    annotations = None
    if elastic:
        name = workloads.workload_name(kind, sight)
        annotations = slices.slice_annotations(name, choice.replaces)
    made = workloads.build(kind, sight, pod_sets, priority, annotations)
    return Plan([Create(made), note("CreatedWorkload", f"Created Workload: {title(made)}")])


def _created(workload: Object) -> tuple[str, str]:
    return str(workload["metadata"].get("creationTimestamp") or ""), title(workload)


# Whom other objects wake


def _inhabitants(kind: Resource, source: Source, namespace: Object) -> list[Key]:
    return [key_of(job) for job in source.all(kind, namespace["metadata"]["name"])]


def _users(kind: Resource, source: Source, priority_class: Object) -> list[Key]:
    name = priority_class["metadata"]["name"]
    return [key_of(job) for job in source.all(kind, "") if identity.priority_class_of(job) == name]


def _is_skipped(kind: JobKind, settings: JobSettings, job: Object) -> bool:
    return kind.skips(Sight(job, NOWHERE, settings))


def _is_urgent(kind: JobKind, settings: JobSettings, obj: Object) -> bool:
    """Whether a job, or its Workload, tells that it runs or may: that goes before new jobs, and
    before what is left to do when it is over.
    """
    if (obj["apiVersion"], obj["kind"]) == (WORKLOAD.api_version, WORKLOAD.kind):
        return status_of.is_admitted(obj) and not status_of.is_finished(obj)
    return not kind.suspends(obj) or bool(identity.prebuilt_of(obj, settings))


def _changes_labels(old: Object | None, new: Object | None) -> bool:
    if old is None or new is None:
        return False
    return identity.labels_of(old) != identity.labels_of(new)


def _is_new(old: Object | None, new: Object | None) -> bool:
    return old is None
