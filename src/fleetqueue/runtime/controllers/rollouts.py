"""One look at a Deployment on its way: its ReplicaSets as they will be, and the steps to that."""

from dataclasses import dataclass, field

from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Create, Delete, Look, Note, Patch, Plan, Status
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions
from fleetqueue.runtime.controllers import deployment_revisions as revisions
from fleetqueue.runtime.controllers import deployment_status as statuses
from fleetqueue.runtime.controllers import rollout_sizes as sizes
from fleetqueue.runtime.controllers.rollout_sizes import size
from fleetqueue.runtime.kinds import REPLICA_SET


@dataclass(slots=True)
class Rollout:
    """One look at a Deployment: its ReplicaSets as they will be after the steps of the plan."""

    look: Look
    new: Object | None
    old: list[Object]
    conditions: list[Object]
    plan: Plan = field(default_factory=Plan)

    @property
    def deployment(self) -> Object:
        return self.look.parent

    @property
    def all(self) -> list[Object]:
        return [*self.old, *([self.new] if self.new is not None else [])]

    @property
    def active(self) -> list[Object]:
        return [each for each in self.all if size(each) > 0]

    def replace(self, replica_set: Object) -> None:
        uid = replica_set["metadata"].get("uid")
        if self.new is not None and self.new["metadata"].get("uid") == uid:
            self.new = replica_set
            return
        self.old = [replica_set if each["metadata"]["uid"] == uid else each for each in self.old]


def number_revisions(rollout: Rollout) -> None:
    """The new ReplicaSet, where it exists, bears the highest number, and the Deployment too."""
    if rollout.new is None:
        return
    number = revisions.newest_revision(rollout.old) + 1
    annotations = revisions.annotations_of_new(rollout.deployment, rollout.new, number)
    wait = rollout.deployment["spec"].get("minReadySeconds") or 0
    _change(rollout, rollout.new, annotations, {"minReadySeconds": wait})
    _tell_revision(rollout, annotations.get(revisions.REVISION, ""))
    known = conditions.find(rollout.conditions, statuses.PROGRESSING)
    if known is None and statuses.has_deadline(rollout.deployment):
        message = f'Found new replica set "{rollout.new["metadata"]["name"]}"'
        found = statuses.progressing("FoundNewReplicaSet", message, rollout.look.now)
        rollout.conditions = conditions.renewed(rollout.conditions, found)


def _tell_revision(rollout: Rollout, number: str) -> None:
    told = (rollout.deployment["metadata"].get("annotations") or {}).get(revisions.REVISION)
    if told != number:
        patch = {"metadata": {"annotations": {revisions.REVISION: number}}}
        rollout.plan.add(Patch(rollout.deployment, patch, "status"))


def create(rollout: Rollout) -> bool:
    """Plans the new ReplicaSet; False where its name is taken and another must be found first."""
    deployment, look = rollout.deployment, rollout.look
    collisions = (deployment.get("status") or {}).get("collisionCount") or 0
    number = revisions.newest_revision(rollout.old) + 1
    replicas = sizes.new_size(deployment, rollout.old, 0)
    made = revisions.new_replica_set(deployment, number, replicas, collisions)
    name = made["metadata"]["name"]
    if look.find(REPLICA_SET, name) is not None:
        status = {**(deployment.get("status") or {}), "collisionCount": collisions + 1}
        rollout.plan.add(Status(status))
        return False
    rollout.plan.add(Create(made))
    if replicas:
        message = f"Scaled up replica set {name} from 0 to {replicas}"
        rollout.plan.add(Note("ScalingReplicaSet", message))
    _tell_revision(rollout, str(number))
    if statuses.has_deadline(deployment):
        created = statuses.progressing(
            "NewReplicaSetCreated", f'Created new replica set "{name}"', look.now
        )
        rollout.conditions = conditions.renewed(rollout.conditions, created)
    rollout.new = made
    return True


def scale(rollout: Rollout, replica_set: Object, count: int, *, annotates: bool = False) -> bool:
    """Plans another size and tells of it; the annotations alone are changed where asked to."""
    before = size(replica_set)
    if before == count and not annotates:
        return False
    present = replica_set["metadata"].get("annotations") or {}
    annotations = {**present, **sizes.size_annotations(rollout.deployment)}
    _change(rollout, replica_set, annotations, {"replicas": count})
    if before != count:
        way, name = "up" if before < count else "down", replica_set["metadata"]["name"]
        message = f"Scaled {way} replica set {name} from {before} to {count}"
        rollout.plan.add(Note("ScalingReplicaSet", message))
    return before != count


def _change(
    rollout: Rollout, replica_set: Object, annotations: dict[str, str], spec: Object
) -> None:
    present = replica_set["metadata"].get("annotations") or {}
    ours = {key: value for key, value in annotations.items() if present.get(key) != value}
    changed = {
        key: value for key, value in spec.items() if (replica_set["spec"].get(key) or 0) != value
    }
    if not ours and not changed:
        return
    patch = {"metadata": {"annotations": ours}, "spec": changed}
    rollout.plan.add(Patch(replica_set, {key: value for key, value in patch.items() if value}))
    metadata = {**replica_set["metadata"], "annotations": annotations}
    rollout.replace(
        {**replica_set, "metadata": metadata, "spec": {**replica_set["spec"], **changed}}
    )


def clean_up_when_complete(rollout: Rollout) -> None:
    if statuses.is_complete(rollout.deployment, rollout.deployment.get("status") or {}):
        clean_up(rollout)


def clean_up(rollout: Rollout) -> None:
    """Old revisions beyond the limit go, the lowest numbers first, once nothing runs in them."""
    limit = rollout.deployment["spec"].get("revisionHistoryLimit")
    if limit is None or limit == statuses.NEVER:
        return
    there = [each for each in rollout.old if not is_deleting(each)]
    for each in revisions.by_revision(there)[: max(len(there) - limit, 0)]:
        status = each.get("status") or {}
        is_seen = (status.get("observedGeneration") or 0) >= each["metadata"].get("generation", 0)
        if not status.get("replicas") and not size(each) and is_seen:
            rollout.plan.add(Delete(each))
