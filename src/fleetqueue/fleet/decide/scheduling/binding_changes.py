"""Bindings as the scheduler makes, revives and gives them up: new objects and merge patches."""

import hashlib
from collections.abc import Iterable
from typing import Any

from fleetqueue.api.fleet import defaults, labels, naming
from fleetqueue.api.fleet.binding import BindingState
from fleetqueue.api.fleet.strategy import RolloutStrategyType
from fleetqueue.fleet.decide import bindings
from fleetqueue.fleet.decide.bindings import locked

Json = dict[str, Any]
_SUFFIX = 8


def new_binding(
    api_version: str,
    kind: str,
    placement: Json,
    policy_name: str,
    decision: Json,
    suffix: str,
    *,
    in_steps: bool = True,
) -> Json:
    """`in_steps`: others will add how things are applied, and hold it for themselves."""
    cluster = decision["clusterName"]
    name = placement["metadata"]["name"]
    metadata: Json = {
        "name": naming.binding(name, cluster, suffix),
        "labels": {labels.PARENT_PLACEMENT: name},
        "finalizers": [labels.BINDING_FINALIZER],
    }
    if namespace := placement["metadata"].get("namespace"):
        metadata["namespace"] = namespace
    spec = {
        "state": BindingState.SCHEDULED.value,
        "resourceSnapshotName": "",
        "schedulingPolicySnapshotName": policy_name,
        "targetCluster": cluster,
        "clusterDecision": decision,
    }
    made = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}
    return made if in_steps else _complete(made, placement)


def suffix_for(placement: Json, cluster: str, found: Iterable[Json]) -> str:
    """The end of a new binding's name. It follows from what is there, so that a creation whose
    answer was lost is not done twice under another name.
    """
    others = sorted(
        str(each["metadata"].get("uid") or "")
        for each in found
        if bindings.target_cluster(each) == cluster
    )
    text = "/".join([str(placement["metadata"].get("uid") or ""), cluster, *others])
    return hashlib.sha256(text.encode()).hexdigest()[:_SUFFIX]


def unscheduling(binding: Json) -> Json:
    """The patch that gives a binding up; what it was is all that its annotations then say."""
    gone = dict.fromkeys(binding["metadata"].get("annotations") or {})
    annotations = {**gone, labels.PREVIOUS_BINDING_STATE: bindings.state(binding)}
    return {
        "metadata": {**locked(binding), "annotations": annotations},
        "spec": {"state": BindingState.UNSCHEDULED.value},
    }


def picking_again(binding: Json, policy_name: str, decision: Json) -> Json:
    """The patch that moves a binding to another policy, and revives one that was given up."""
    patch: Json = {
        "metadata": locked(binding),
        "spec": {"schedulingPolicySnapshotName": policy_name, "clusterDecision": decision},
    }
    if bindings.state(binding) == BindingState.UNSCHEDULED:
        patch["metadata"]["annotations"] = {labels.PREVIOUS_BINDING_STATE: None}
        patch["spec"]["state"] = _former(binding)
    if "clusterScore" not in decision:
        patch["spec"]["clusterDecision"] = {**decision, "clusterScore": None}
    return patch


def _complete(made: Json, placement: Json) -> Json:
    """With what the roll-out and the work generator would write before anything else."""
    finalizers = [*made["metadata"]["finalizers"], labels.WORK_FINALIZER]
    whole = {**made, "metadata": {**made["metadata"], "finalizers": finalizers}}
    strategy = defaults.defaulted({"metadata": {}, "spec": placement["spec"]})["spec"]["strategy"]
    if strategy["type"] != RolloutStrategyType.EXTERNAL:
        whole["spec"] = {**made["spec"], "applyStrategy": strategy["applyStrategy"]}
    return whole


def _former(binding: Json) -> str:
    """What it was before it was given up; where nobody noted that, what it looks like."""
    is_delivered = bool(bindings.resource_snapshot(binding))
    seen = BindingState.BOUND if is_delivered else BindingState.SCHEDULED
    return bindings.previous_state(binding) or seen.value
