"""Holds pods back with scheduling gates, and lets them go."""

from collections.abc import Iterable

from fleetqueue.api.kueue import labels
from fleetqueue.jobs import starting
from fleetqueue.jobs.infos import PodSetInfo, merged_template
from fleetqueue.jobs.kind import Sight
from fleetqueue.jobs.pods import states
from fleetqueue.jobs.pods.shapes import role_hash
from fleetqueue.kube import finalizers
from fleetqueue.kube.plan import Patch, Step
from fleetqueue.kube.resources import Object

GATES = (labels.ADMISSION_GATE, labels.TOPOLOGY_GATE)


def hold(sight: Sight) -> None:
    """What the webhook does to a pod that has to wait; in place."""
    pod = sight.job
    if not states.has_parent(pod):
        _take(pod)
    _add_gate(pod, labels.ADMISSION_GATE)
    if sight.settings.gates.topology:
        _add_gate(pod, labels.TOPOLOGY_GATE)
        _take_index(sight)
    if not states.role_of(pod):
        made = {**sight.annotations, labels.ROLE_HASH: role_hash(pod["spec"])}
        pod["metadata"]["annotations"] = made


def started(pod: Object, info: PodSetInfo) -> Object:
    """The pod as it goes; the topology's gate stays where its place is still to be found."""
    made = merged_template(pod, info)
    is_placed = any(each["name"] == labels.TOPOLOGY_GATE for each in info.scheduling_gates)
    opened = GATES[:1] if is_placed else GATES
    return without_gates(made, opened)


def let_go(pod: Object, info: PodSetInfo) -> list[Step]:
    return starting.changes(pod, started(pod, info))


def ungated(pod: Object) -> list[Step]:
    """A pod that need not wait for anything of ours."""
    return starting.changes(pod, without_gates(pod, GATES))


def released(pods: Iterable[Object]) -> list[Step]:
    """Nothing of ours holds them any more once they are deleted."""
    steps: list[Step] = []
    for pod in pods:
        patch = finalizers.removed(pod, labels.MANAGED)
        if patch is not None:
            steps.append(Patch(pod, patch))
    return steps


def without_gates(pod: Object, opened: Iterable[str]) -> Object:
    gates = pod["spec"].get("schedulingGates") or ()
    left = [each for each in gates if each["name"] not in opened]
    spec = {name: value for name, value in pod["spec"].items() if name != "schedulingGates"}
    return {**pod, "spec": {**spec, "schedulingGates": left} if left else spec}


def _take(pod: Object) -> None:
    metadata = pod["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), labels.MANAGED: "true"}
    present = metadata.get("finalizers") or []
    if labels.MANAGED not in present:
        metadata["finalizers"] = [*present, labels.MANAGED]


def _add_gate(pod: Object, gate: str) -> None:
    if not states.is_gated(pod, gate):
        pod["spec"]["schedulingGates"] = [
            *(pod["spec"].get("schedulingGates") or ()),
            {"name": gate},
        ]


def _take_index(sight: Sight) -> None:
    """The index in its group, from the label that says it for the kind that made the pod."""
    source = sight.annotations.get(labels.POD_GROUP_POD_INDEX_LABEL)
    value = sight.labels.get(source) if source else None
    if value is not None:
        sight.job["metadata"]["labels"] = {**sight.labels, labels.POD_GROUP_POD_INDEX: value}
