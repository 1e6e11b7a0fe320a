"""Deployments: ReplicaSets that replace each other, step by step or at once, and back again."""

from collections.abc import Iterable

from fleetqueue.api.meta import Key
from fleetqueue.api.owners import controller_uid
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.controller import owners
from fleetqueue.kube.errors import AlreadyExists, KubeError
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import Create, Look, Note, Patch, Plan, Status, Step
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Source
from fleetqueue.runtime import conditions, pod_facts, templates
from fleetqueue.runtime.controllers import deployment_revisions as revisions
from fleetqueue.runtime.controllers import deployment_status as statuses
from fleetqueue.runtime.controllers import pod_notes, rollouts
from fleetqueue.runtime.controllers import rollout_sizes as sizes
from fleetqueue.runtime.controllers.rollout_sizes import size, wanted
from fleetqueue.runtime.controllers.rollouts import Rollout
from fleetqueue.runtime.kinds import DEPLOYMENT, POD, REPLICA_SET
from fleetqueue.runtime.ownership import adopters, claim


def decide(look: Look) -> Plan:
    if look.parent["spec"].get("selector") == {}:
        return _selects_everything(look)
    claimed = claim(look, REPLICA_SET, look.parent["spec"]["selector"])
    rollout = _begin(look, claimed.objects)
    rollout.plan.add(*claimed.steps)
    if is_deleting(look.parent):
        rollout.plan.add(Status(_counted(rollout)))
        return rollout.plan
    rollouts.number_revisions(rollout)
    if look.parent["spec"].get("paused"):
        _resize(rollout)
    elif _rollback_target(look.parent) is not None:
        _roll_back(rollout)
    elif _is_being_resized(rollout):
        _resize(rollout)
    elif sizes.is_rolling(look.parent):
        _roll(rollout)
    else:
        _recreate(rollout)
    return rollout.plan


def refused(look: Look, step: Step, error: KubeError) -> Plan:
    """A ReplicaSet that cannot be made is told as lack of progress, and by an event."""
    if not isinstance(step, Create) or pod_notes.is_namespace_ending(error):
        return Plan()
    if isinstance(error, AlreadyExists):
        # The cache will show it, and then it is ours or a collision.
        return Plan()
    message = f'Failed to create new replica set "{step.obj["metadata"]["name"]}": {error}'
    plan = Plan([Note("ReplicaSetCreateError", message, "Warning")])
    if statuses.has_deadline(look.parent):
        status = look.parent.get("status") or {}
        new = statuses.progressing("ReplicaSetCreateError", message, look.now, "False")
        made = conditions.renewed(status.get("conditions"), new)
        plan.steps.insert(0, Status({**status, "conditions": made}))
    return plan


def _begin(look: Look, sets: list[Object]) -> Rollout:
    new = revisions.find_new(look.parent, sets)
    old = [each for each in sets if new is None or each is not new]
    present = list((look.parent.get("status") or {}).get("conditions") or ())
    if not is_deleting(look.parent):
        present = statuses.paused_conditions(look.parent, present, look.now)
    return Rollout(look, new, old, present)


def _selects_everything(look: Look) -> Plan:
    message = "This deployment is selecting all pods. A non-empty selector is required."
    status = dict(look.parent.get("status") or {})
    status["observedGeneration"] = look.parent["metadata"].get("generation")
    return Plan([Note("SelectingAll", message, "Warning"), Status(status)])


# Ways to go on


def _roll(rollout: Rollout) -> None:
    """New pods as surge allows, then old ones away as availability allows."""
    if rollout.new is None and not rollouts.create(rollout):
        return
    assert rollout.new is not None
    if not _grow(rollout) and not _shrink(rollout):
        rollouts.clean_up_when_complete(rollout)
    _finish(rollout)


def _recreate(rollout: Rollout) -> None:
    """All old pods away, and gone, before the first new one."""
    scaled = [rollouts.scale(rollout, each, 0) for each in rollout.old]
    if not any(scaled) and not _has_old_pods(rollout):
        if rollout.new is None and not rollouts.create(rollout):
            return
        assert rollout.new is not None
        rollouts.scale(rollout, rollout.new, wanted(rollout.deployment))
        rollouts.clean_up_when_complete(rollout)
    _finish(rollout)


def _resize(rollout: Rollout) -> None:
    """A Deployment that is paused or changes its size: no roll-out, but the proportions stay."""
    deployment = rollout.deployment
    only = _only_active_or_latest(rollout)
    if only is not None:
        rollouts.scale(rollout, only, wanted(deployment))
    elif sizes.is_saturated(deployment, rollout.new):
        for each in rollout.old:
            rollouts.scale(rollout, each, 0)
    elif sizes.is_rolling(deployment):
        by_name = sizes.proportional(deployment, rollout.active)
        for each in rollout.active:
            rollouts.scale(rollout, each, by_name[each["metadata"]["name"]], annotates=True)
    if deployment["spec"].get("paused") and _rollback_target(deployment) is None:
        rollouts.clean_up(rollout)
    rollout.plan.add(Status(_counted(rollout)))


def _roll_back(rollout: Rollout) -> None:
    """The old way to go back, by an annotation: the template of that revision is copied."""
    deployment = rollout.deployment
    target = _rollback_target(deployment) or revisions.last_revision(rollout.all)
    found = [each for each in rollout.all if revisions.revision(each) == target]
    change: Object = {"metadata": {"annotations": {revisions.ROLLBACK_TO: None}}}
    if not target or not found:
        what = "the revision to rollback to" if target else "last revision"
        reason = "DeploymentRollbackRevisionNotFound"
        rollout.plan.add(Note(reason, f"Unable to find {what}.", "Warning"))
        rollout.plan.add(Patch(deployment, change))
        return
    template = found[0]["spec"]["template"]
    if templates.same(template, deployment["spec"]["template"], but_label=revisions.HASH_LABEL):
        what = "The rollback revision contains the same template as current deployment"
        message = f'{what} "{rollout.look.name}"'
        rollout.plan.add(Note("DeploymentRollbackTemplateUnchanged", message, "Warning"))
        rollout.plan.add(Patch(deployment, change))
        return
    rollout.plan.add(Patch(deployment, _taken_from(deployment, found[0]), type=PatchType.JSON))
    message = f'Rolled back deployment "{rollout.look.name}" to revision {target}'
    rollout.plan.add(Note("DeploymentRollback", message))


def _taken_from(deployment: Object, replica_set: Object) -> list[Object]:
    """The template and the shared annotations of the ReplicaSet that is gone back to."""
    template = replica_set["spec"]["template"]
    metadata = dict(template.get("metadata") or {})
    labels = dict(metadata.get("labels") or {})
    labels.pop(revisions.HASH_LABEL, None)
    annotations = {**revisions.kept(deployment), **revisions.copied(replica_set)}
    annotations.pop(revisions.ROLLBACK_TO, None)
    whole = {**template, "metadata": {**metadata, "labels": labels}}
    return [
        {"op": "replace", "path": "/spec/template", "value": whole},
        {"op": "replace", "path": "/metadata/annotations", "value": annotations},
    ]


# Steps


def _grow(rollout: Rollout) -> bool:
    assert rollout.new is not None
    now = size(rollout.new)
    if now > wanted(rollout.deployment):
        return rollouts.scale(rollout, rollout.new, wanted(rollout.deployment))
    return rollouts.scale(
        rollout, rollout.new, sizes.new_size(rollout.deployment, rollout.old, now)
    )


def _shrink(rollout: Rollout) -> bool:
    assert rollout.new is not None
    by_name = sizes.shrunk(rollout.deployment, rollout.new, rollout.old)
    scaled = [
        rollouts.scale(rollout, each, by_name[each["metadata"]["name"]])
        for each in sizes.oldest_first(rollout.old)
    ]
    return any(scaled)


def _finish(rollout: Rollout) -> None:
    now = rollout.look.now
    status = statuses.rolled_out(
        rollout.deployment, rollout.all, rollout.new, rollout.conditions, now
    )
    rollout.plan.add(Status(status))
    left = statuses.deadline_in(rollout.deployment, status, now)
    if left is not None:
        rollout.plan.look_again(left)


def _counted(rollout: Rollout) -> Object:
    return statuses.counted(
        rollout.deployment, rollout.all, rollout.new, rollout.conditions, rollout.look.now
    )


# What is so


def _only_active_or_latest(rollout: Rollout) -> Object | None:
    """The one ReplicaSet that has pods, or the newest where none has; None where several have."""
    if len(rollout.active) > 1:
        return None
    if rollout.active:
        return rollout.active[0]
    if rollout.new is not None:
        return rollout.new
    return sizes.oldest_first(rollout.old)[-1] if rollout.old else None


def _is_being_resized(rollout: Rollout) -> bool:
    desired = [sizes.annotated(each, sizes.DESIRED) for each in rollout.active]
    return any(each is not None and each != wanted(rollout.deployment) for each in desired)


def _has_old_pods(rollout: Rollout) -> bool:
    if any((each.get("status") or {}).get("replicas") for each in rollout.old):
        return True
    pods = [pod for each in rollout.old for pod in rollout.look.owned_by(each, POD)]
    return any(not pod_facts.is_terminal(pod) for pod in pods)


def _rollback_target(deployment: Object) -> int | None:
    """0 stands for the revision before."""
    text = (deployment["metadata"].get("annotations") or {}).get(revisions.ROLLBACK_TO, "")
    return int(text) if text.isascii() and text.isdecimal() else None


def _deployments(source: Source, pod: Object) -> Iterable[Key]:
    """The Deployment behind a pod, by way of its ReplicaSet."""
    uid = controller_uid(pod)
    for key in owners(pod, REPLICA_SET):
        found = source.get(REPLICA_SET, key.namespace, key.name)
        if found is not None and found["metadata"]["uid"] == uid:
            return owners(found, DEPLOYMENT)
    return ()


def _has_ended(old: Object | None, new: Object | None) -> bool:
    """Recreate waits for the end of the last old pod."""
    if new is None:
        return True
    return old is not None and pod_facts.is_terminal(new) and not pod_facts.is_terminal(old)


OPERATOR = Operator(
    "deployment-controller",
    DEPLOYMENT,
    decide,
    owns=(REPLICA_SET, POD),
    follows=(Follow(REPLICA_SET, adopters(DEPLOYMENT)), Follow(POD, _deployments, _has_ended)),
    manager="kube-controller-manager",
    decides_deletion=True,
    refused=refused,
)
