"""Starts a job with what its admission says, and stops it with its templates as they were."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from fleetqueue.api import names
from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.kueue import labels
from fleetqueue.api.patches import create_merge_patch
from fleetqueue.base import paths
from fleetqueue.jobs import identity
from fleetqueue.jobs.infos import (
    PodSetInfo,
    check_number,
    info_of,
    merged_template,
    with_info,
)
from fleetqueue.jobs.kind import JobKind, NotYet, Sight
from fleetqueue.jobs.pod_sets import infos_of
from fleetqueue.jobs.resources import RESOURCE_FLAVOR
from fleetqueue.jobs.topology import asks_for_topology
from fleetqueue.kube.plan import Note, Patch, Step
from fleetqueue.kube.resources import Object, version_of
from fleetqueue.kube.sources import Source

_WISHES = (
    "required",
    "preferred",
    "unconstrained",
    "podSetSliceRequiredTopology",
    "podsetSliceRequiredTopologyConstraints",
)


def start(kind: JobKind, sight: Sight, workload: Object) -> list[Step]:
    """One patch, or what the kind does instead."""
    infos = admitted_infos(workload, sight)
    if kind.start is not None:
        return kind.start(sight, infos)
    return changes(sight.job, started(kind, sight, infos))


def stop(
    kind: JobKind, sight: Sight, workload: Object | None, message: str, reason: str
) -> list[Step]:
    """No steps where the job is suspended already; without a Workload its templates stay.

    A kind with a stop of its own may have some to tidy up after that, which is no event.
    """
    if kind.halt is not None:
        return kind.halt(sight, reason, message)
    infos = None if workload is None else infos_of(workload)
    is_news = not kind.suspends(sight.job)
    if kind.stop is not None:
        steps = kind.stop(sight, infos)
    else:
        steps = changes(sight.job, stopped(kind, sight, infos)) if is_news else []
    note = [Note("Stopped", status_of.event_message(message))] if steps and is_news else []
    return [*steps, *note]


def suspend(kind: JobKind, job: Object) -> list[Step]:
    """Nothing but that."""
    return changes(job, paths.with_value(job, kind.suspend, True))


def started(kind: JobKind, sight: Sight, infos: Sequence[PodSetInfo]) -> Object:
    """The job as it runs."""
    roles = kind.roles_of(sight)
    check_number(len(roles), infos)
    renews = identity.is_elastic(sight.job, sight.settings)
    made = paths.with_value(sight.job, kind.suspend, False)
    for role, info in zip(roles, infos, strict=True):
        template = paths.get(made, role.template)
        if template is None:
            template = role.pods
        merged = merged_template(template, info, renews=renews)
        made = paths.with_value(made, role.template, merged)
    return dict(made)


def stopped(kind: JobKind, sight: Sight, infos: Sequence[PodSetInfo] | None) -> Object:
    """The job as it was before it was started."""
    made = paths.with_value(sight.job, kind.suspend, True)
    return restored(kind, sight, made, infos)


def restored(
    kind: JobKind, sight: Sight, job: Object, infos: Sequence[PodSetInfo] | None
) -> Object:
    """The job with the templates that it had; where they are not as many, it stays as it is."""
    roles = kind.roles_of(sight)
    if infos is None or len(roles) != len(infos):
        return job
    for role, info in zip(roles, infos, strict=True):
        template = paths.get(job, role.template)
        if template is None:
            continue
        present = info_of(template).labels
        staying = (*kind.keeps_labels, *kind.needs_labels)
        kept = {key: present[key] for key in staying if key in present}
        back = replace(info, labels={**info.labels, **kept})
        job = paths.with_value(job, role.template, with_info(template, back))
    return job


def changes(old: Object, new: Object) -> list[Step]:
    """A patch that holds only for the version that was read, as lists are replaced as a whole."""
    patch = create_merge_patch(old, new)
    if not patch:
        return []
    metadata = {**patch.get("metadata", {}), "resourceVersion": version_of(old)}
    return [Patch(old, {**patch, "metadata": metadata})]


def admitted_infos(workload: Object, sight: Sight) -> list[PodSetInfo]:
    """What goes into the templates, by pod set."""
    pod_sets = {each.get("name", "main"): each for each in workload["spec"]["podSets"]}
    return [
        _with_updates(
            _assigned_info(workload, pod_sets.get(each["name"]) or {}, each, sight),
            status_of.checks_of(workload),
        )
        for each in status_of.assignments_of(workload)
    ]


def flavors_info(
    workload: Object, assignment: Object, source: Source, *, names_queues: bool
) -> PodSetInfo:
    """What an assignment of flavors puts into a template wherever pods are made of it."""
    selector: dict[str, str] = {}
    tolerations: list[Object] = []
    for name in dict.fromkeys((assignment.get("flavors") or {}).values()):
        flavor = source.get(RESOURCE_FLAVOR, "", name)
        if flavor is None:
            raise NotYet(f'ResourceFlavor "{name}" not found')
        spec = flavor.get("spec") or {}
        selector = {**(spec.get("nodeLabels") or {}), **selector}
        tolerations += spec.get("tolerations") or ()
    return PodSetInfo(
        name=assignment["name"],
        labels=_labels(workload, assignment["name"], names_queues),
        node_selector=selector,
        tolerations=_distinct(tolerations),
    )


def _assigned_info(
    workload: Object, pod_set: Object, assignment: Object, sight: Sight
) -> PodSetInfo:
    gates = sight.settings.gates
    names_queues = gates.queue_labels_for_pods
    info = flavors_info(workload, assignment, sight.source, names_queues=names_queues)
    is_placed = gates.topology and assignment.get("topologyAssignment") is not None
    annotations = _annotations(workload, sight)
    if is_placed and not _asks_for_topology(pod_set):
        annotations[labels.PODSET_UNCONSTRAINED_TOPOLOGY] = "true"
    # Whoever reserves quota by hand may leave the count out.
    count = assignment.get("count", pod_set.get("count"))
    return replace(
        info,
        count=int(count or 0),
        annotations=annotations,
        scheduling_gates=[{"name": labels.TOPOLOGY_GATE}] if is_placed else (),
    )


def _labels(workload: Object, pod_set: str, names_queues: bool) -> dict[str, str]:
    made = {labels.PODSET: pod_set}
    if names_queues:
        cluster_queue = str(workload["status"]["admission"]["clusterQueue"])
        if queue := workload["spec"].get("queueName"):
            made[labels.LOCAL_QUEUE_NAME] = queue
        if not names.dns1123_label(cluster_queue):
            made[labels.CLUSTER_QUEUE_NAME] = cluster_queue
    if identity.labels_of(workload).get(labels.MULTIKUEUE_ORIGIN):
        made[labels.MULTIKUEUE_WORKER_WORKLOAD_POD] = "true"
    return made


def _annotations(workload: Object, sight: Sight) -> dict[str, str]:
    made: dict[str, str] = {}
    if sight.settings.gates.topology:
        made[labels.WORKLOAD] = str(workload["metadata"]["name"])
    slice_name = identity.annotations_of(workload).get(labels.WORKLOAD_SLICE_NAME)
    if slice_name and sight.settings.gates.slices:
        made[labels.WORKLOAD_SLICE_NAME] = slice_name
    return made


def _with_updates(info: PodSetInfo, checks: Iterable[Object]) -> PodSetInfo:
    for check in checks:
        for update in check.get("podSetUpdates") or ():
            if update["name"] == info.name:
                info = info.merged(_update_info(update))
    return info


def _update_info(update: Object) -> PodSetInfo:
    return PodSetInfo(
        labels=update.get("labels") or {},
        annotations=update.get("annotations") or {},
        node_selector=update.get("nodeSelector") or {},
        tolerations=update.get("tolerations") or (),
    )


def _asks_for_topology(pod_set: Object) -> bool:
    """By its template, or by its request where the template has no annotations."""
    request = pod_set.get("topologyRequest") or {}
    is_said = any(request.get(each) is not None for each in _WISHES)
    return is_said or asks_for_topology(_template_annotations(pod_set))


def _template_annotations(pod_set: Object) -> dict[str, str]:
    metadata: dict[str, Any] = (pod_set.get("template") or {}).get("metadata") or {}
    return metadata.get("annotations") or {}


def _distinct(items: Sequence[Object]) -> list[Object]:
    return [each for index, each in enumerate(items) if each not in items[:index]]
