"""Defaults and validates any kind of job when it is written."""

from collections.abc import Iterable, Sequence
from functools import partial

from fleetqueue.api.field_errors import FieldError
from fleetqueue.api.kueue import labels
from fleetqueue.base import paths
from fleetqueue.jobs import identity, managing
from fleetqueue.jobs.ancestors import Family
from fleetqueue.jobs.common_checks import check_change, check_manager, check_new
from fleetqueue.jobs.kind import JobKind, NotYet, Role, Sight
from fleetqueue.jobs.registry import enabled_kinds
from fleetqueue.jobs.settings import MULTIKUEUE, JobSettings
from fleetqueue.jobs.topology_checks import check_topology
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object
from fleetqueue.kube.webhook_rules import Asked, Webhook

QUEUE_ANNOTATION = (
    f"the annotation {labels.QUEUE_NAME} is read as the queue name;"
    " use the label of that name instead"
)
OWNER_IS_MANAGED = (
    f"pod owner is managed by kueue, label '{labels.MANAGED}=true'"
    " might lead to unexpected behaviour"
)


def webhooks(kinds: Sequence[JobKind], settings: JobSettings) -> Iterable[Webhook]:
    family = Family.of([*enabled_kinds(settings), *kinds], settings)
    for kind in kinds:
        yield webhook(kind, settings, family)


def webhook(kind: JobKind, settings: JobSettings, family: Family) -> Webhook:
    return Webhook(
        kind.resource,
        default=partial(default, kind, settings, family),
        validate=partial(validate, kind, settings, family),
        defaults_updates=kind.defaults_updates,
        validates_scale=kind.validates_scale,
        name=f"v{kind.resource.kind.lower()}.kb.io",
    )


def default(kind: JobKind, settings: JobSettings, family: Family, asked: Asked) -> None:
    """A new job gets its queue and class, and is suspended until it is admitted; one that changes
    has those that it has, and one that is being deleted is left as it is.
    """
    if is_deleting(asked.obj):
        return
    if asked.old is None and asked.obj.get("spec") is None:
        # As upstream's types are written back; what is missing in it the schema says.
        asked.obj["spec"] = {}
    sight = Sight(asked.obj, asked.source, settings)
    if kind.is_held is not None and kind.is_held(sight):
        _suspend(kind, sight)
        return
    if kind.framework not in settings.frameworks or not _may_be_touched(kind, sight):
        return
    if asked.old is None:
        managing.take_queue_annotation(sight)
        managing.default_queue(sight, family)
        managing.default_priority_class(sight, family)
    if managing.should_be_suspended(sight, family):
        _suspend(kind, sight)
    if asked.old is None:
        managing.mark_placed(kind, sight)
    if not managing.is_placed(asked.obj) and not kind.skips(sight):
        managing.default_manager(kind, sight)
    if kind.gates_pods and identity.is_elastic(asked.obj, settings):
        _add_gates(kind, sight)
    if kind.default is not None:
        kind.default(sight)


def validate(
    kind: JobKind, settings: JobSettings, family: Family, asked: Asked
) -> list[FieldError]:
    if asked.old is not None and not kind.validates_changes(settings):
        return []
    sight = Sight(asked.obj, asked.source, settings)
    if labels.QUEUE_NAME in sight.annotations:
        asked.warnings.append(QUEUE_ANNOTATION)
    is_labelled = kind.warns_of_owner and sight.labels.get(labels.MANAGED) == "true"
    if is_labelled and family.has_managed_owner(asked.obj):
        asked.warnings.append(OWNER_IS_MANAGED)
    if asked.old is None and managing.is_left_alone(kind, sight):
        asked.warnings.append(_nobody_runs(kind))
    if asked.old is None and (queue := managing.waits_for_placement(kind, sight)):
        asked.warnings.append(
            f"ClusterQueue {queue} is placed on members: this waits for a placement that selects"
            " it, and does not run here"
        )
    if kind.validates_managed_only and not _is_managed(sight, asked.old, family):
        return []
    errors = check_new(kind, sight)
    errors += check_manager(kind, sight, asked.old)
    errors += _check_roles(kind, sight, family)
    if kind.validate is not None:
        errors += kind.validate(sight, asked.old)
    if asked.old is not None:
        errors += check_change(kind, sight, asked.old)
    return sorted(errors, key=lambda error: error.path) if kind.sorts_refusals else errors


def _nobody_runs(kind: JobKind) -> str:
    missing = f"no label {labels.QUEUE_NAME} names a queue"
    return f"{kind.managed_by} is {MULTIKUEUE}, but {missing}: nobody will run this"


def _suspend(kind: JobKind, sight: Sight) -> None:
    if kind.hold is not None:
        kind.hold(sight)
    elif not kind.skips(sight):
        paths.set_in_place(sight.job, kind.suspend, True)


def _may_be_touched(kind: JobKind, sight: Sight) -> bool:
    return not kind.stays_in_scope or managing.is_in_scope(sight)


def _is_managed(sight: Sight, old: Object | None, family: Family) -> bool:
    is_new = managing.should_be_suspended(sight, family)
    if is_new or old is None:
        return is_new
    before = Sight(old, sight.source, sight.settings)
    return managing.should_be_suspended(before, family)


def _check_roles(kind: JobKind, sight: Sight, family: Family) -> list[FieldError]:
    """What a managed job makes has its annotations too, but other sizes: it is not looked at."""
    if family.has_managed_owner(sight.job):
        return []
    try:
        roles = kind.roles_of(sight)
    except NotYet:
        # What the pods will look like is not known yet; the controller waits for it.
        return []
    if any(_waits_for_other(kind, role) for role in roles):
        return []
    is_whole = kind.is_part is None or not kind.is_part(sight)
    return check_topology(kind, roles, sight.settings, is_whole=is_whole)


def _waits_for_other(kind: JobKind, role: Role) -> bool:
    """Whether pods of the role are queued for the sake of what is above the job."""
    annotations = (role.pods.get("metadata") or {}).get("annotations") or {}
    return annotations.get(labels.POD_SUSPENDING_PARENT) not in (None, "", kind.framework)


def _add_gates(kind: JobKind, sight: Sight) -> None:
    """Not where there is no template, which is refused later."""
    for role in kind.roles_of(sight):
        spec = paths.get(sight.job, f"{role.template}.spec")
        if spec is None:
            continue
        gates = spec.get("schedulingGates") or []
        if all(gate.get("name") != labels.ELASTIC_JOB_GATE for gate in gates):
            spec["schedulingGates"] = [*gates, {"name": labels.ELASTIC_JOB_GATE}]
