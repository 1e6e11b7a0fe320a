"""The Workloads of what serves: owned, but not controlled, by it; its pods join them as groups."""

from collections.abc import Hashable, Iterable, Mapping

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.kueue import labels
from fleetqueue.api.kueue.pod_groups import group_of
from fleetqueue.api.meta import Key
from fleetqueue.jobs import choosing, identity, leaving, workloads
from fleetqueue.jobs.kind import JobKind, Sight
from fleetqueue.jobs.pod_sets import are_equivalent, pod_sets_of
from fleetqueue.jobs.pods import states
from fleetqueue.jobs.priorities import priority_of
from fleetqueue.jobs.resources import WORKLOAD
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.jobs.steps import note
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Create, Look, Patch, Plan, Step
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of
from fleetqueue.kube.sources import Index


def owner_index(owner: Resource) -> Index:
    """Workloads by the namespace and name of an owner of that kind."""

    def values(workload: Object) -> Iterable[Hashable]:
        return owners_of(workload, owner)

    return Index(WORKLOAD, f"owners {owner.kind}", values)


def owners_of(workload: Object, owner: Resource) -> list[Key]:
    """Owners of that kind, by key."""
    namespace = key_of(workload).namespace
    references = workload["metadata"].get("ownerReferences") or ()
    return [
        Key(namespace, each["name"])
        for each in references
        if (each["kind"], each["apiVersion"]) == (owner.kind, owner.api_version)
    ]


def made_for_index(owner: Resource) -> Index:
    """Workloads by whom they were made for, which they still say when the garbage collector has
    taken the reference to an owner that is no more; copies for another cluster are left out.
    """
    title = f"{owner.api_version}, Kind={owner.kind}"

    def values(workload: Object) -> Iterable[Hashable]:
        metadata = workload["metadata"]
        notes = metadata.get("annotations") or {}
        is_copy = labels.MULTIKUEUE_ORIGIN in (metadata.get("labels") or {})
        if is_copy or notes.get(labels.JOB_OWNER_GVK) != title:
            return ()
        return (Key(key_of(workload).namespace, notes.get(labels.JOB_OWNER_NAME) or ""),)

    return Index(WORKLOAD, f"made for {owner.kind}", values)


def owned_by(look: Look, index: Index) -> list[Object]:
    """All that name the parent, or one of its name before it."""
    found = look.source.found(index, Key(look.namespace, look.name))
    return sorted(found, key=lambda workload: str(workload["metadata"]["name"]))


def is_of(workload: Object, owner: Object) -> bool:
    references = workload["metadata"].get("ownerReferences") or ()
    return any(each.get("uid") == uid_of(owner) for each in references)


def created(
    kind: JobKind, sight: Sight, name: str, annotations: Mapping[str, str] | None = None
) -> list[Step]:
    made = build(kind, sight, name, annotations)
    return [Create(made), note("CreatedWorkload", f"Created Workload: {choosing.title(made)}")]


def build(
    kind: JobKind, sight: Sight, name: str, annotations: Mapping[str, str] | None = None
) -> Object:
    pod_sets = pod_sets_of(kind, sight)
    job = sight.job
    reference = {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "name": sight.name,
        "uid": uid_of(job),
    }
    metadata: Object = {
        "name": name,
        "namespace": sight.namespace,
        "labels": workloads.labels_of(sight),
        "annotations": {
            **workloads.annotations_of(sight),
            labels.IS_GROUP_WORKLOAD: "true",
            labels.JOB_OWNER_GVK: kind.title,
            labels.JOB_OWNER_NAME: sight.name,
            **(annotations or {}),
        },
        "ownerReferences": [reference],
        "finalizers": [labels.RESOURCE_IN_USE_FINALIZER],
    }
    return {
        "apiVersion": WORKLOAD.api_version,
        "kind": WORKLOAD.kind,
        "metadata": metadata,
        "spec": workloads.spec_of(sight, pod_sets, priority_of(kind, sight, pod_sets)),
    }


def renewed(kind: JobKind, sight: Sight, workload: Object) -> list[Step]:
    """What a Workload takes over from its owner: class and gates always, queue and pods while it
    holds no quota.
    """
    if status_of.is_finished(workload) or is_deleting(workload) or choosing.is_copy(workload):
        return []
    if steps := choosing.propagated(kind, sight, workload):
        return steps
    if status_of.has_quota(workload):
        return []
    pod_sets = pod_sets_of(kind, sight)
    queue = identity.queue_of(sight.job)
    wanted: Object = {"queueName": queue} if queue else {}
    if not are_equivalent(pod_sets, workload["spec"]["podSets"]):
        wanted["podSets"] = pod_sets
    changed = {key: value for key, value in wanted.items() if workload["spec"].get(key) != value}
    return choosing.spec_patch(workload, changed) if changed else []


def let_go(found: Iterable[Object], settings: JobSettings, look: Look) -> Plan:
    return Plan(leaving.let_go(found, settings, look))


def joined(
    pod: Object, name: str, total: int, role: str, *, more: Mapping[str, str], **kept: str
) -> list[Step]:
    """A pod that waits becomes a member of the group of its Workload; `kept` are its labels."""
    if group_of(pod) == name or is_deleting(pod) or not states.is_gated(pod):
        return []
    annotations = {
        labels.POD_GROUP_NAME: name,
        labels.PREBUILT_WORKLOAD_NAME: name,
        labels.POD_GROUP_TOTAL_COUNT: str(total),
        labels.ROLE_HASH: role,
        **more,
    }
    metadata = {"labels": {labels.MANAGED: "true", **kept}, "annotations": annotations}
    return [Patch(pod, {"metadata": metadata})]
