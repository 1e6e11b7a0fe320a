"""The copy of a Workload on a worker, what a difference between the two asks for, and what a
check says of it all.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels
from fleetqueue.api.kueue.workloads import is_elastic, pod_set_counts
from fleetqueue.api.times import format_time
from fleetqueue.jobs.resources import WORKLOAD_PRIORITY_CLASS
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.kinds import WORKLOAD
from fleetqueue.multikueue.sameness import meaning
from fleetqueue.multikueue.settings import DispatchSettings

GATES = "preemptionGates"
_PRIORITY = ("priorityClassRef", "priority")


def make(workload: Object, settings: DispatchSettings, *, is_follower: bool = False) -> Object:
    """What is created on a worker: owned by nobody, so that the job that arrives can take it.

    `is_follower`: it goes where another Workload of its job went, whatever that takes.
    """
    known = workload["metadata"]
    kept = {k: v for k, v in (known.get("labels") or {}).items() if k != labels.JOB_UID}
    metadata: Object = {
        "name": known["name"],
        "namespace": known["namespace"],
        "labels": {**kept, labels.MULTIKUEUE_ORIGIN: settings.origin},
    }
    if known.get("annotations"):
        metadata["annotations"] = dict(known["annotations"])
    return {
        "apiVersion": WORKLOAD.api_version,
        "kind": WORKLOAD.kind,
        "metadata": metadata,
        "spec": _spec(workload["spec"], settings, is_follower),
    }


def _spec(spec: Object, settings: DispatchSettings, is_follower: bool) -> Object:
    if not settings.gates.orchestrated_preemption:
        return dict(spec)
    gates = [] if is_follower else [{"name": labels.MULTIKUEUE_PREEMPTION_GATE}]
    return _with_gates(spec, gates)


# What a difference asks for


@dataclass(frozen=True, slots=True)
class Same:
    """The copy says what the workload says."""


@dataclass(frozen=True, slots=True)
class Update:
    """The copy can follow: its whole spec becomes this."""

    spec: Object


@dataclass(frozen=True, slots=True)
class Different:
    """It is the copy of something else, and has to go."""


Outcome: TypeAlias = Same | Update | Different


def compare(workload: Object, copy: Object, settings: DispatchSettings) -> Outcome:
    """Gates do not count: those of a worker are its own."""
    local, remote = workload["spec"], copy["spec"]
    if local == remote:
        return Same()
    here, there = (meaning(_with_gates(each, [])) for each in (local, remote))
    if here == there:
        return Same()
    is_followed = _can_take_priority(local, remote) or _priority(here) == _priority(there)
    is_sized = settings.gates.slices and is_elastic(workload) and _shrinks(workload, copy)
    if is_sized:
        here, there = _without_counts(here), _without_counts(there)
    if not is_followed or _essence(here) != _essence(there):
        return Different()
    return Update(_followed(local, remote, settings, is_sized))


def _followed(local: Object, remote: Object, settings: DispatchSettings, is_sized: bool) -> Object:
    """A new size brings the whole spec, a new priority nothing else."""
    if is_sized:
        of_worker = settings.gates.orchestrated_preemption
        return _with_gates(local, remote.get(GATES)) if of_worker else dict(local)
    kept = {name: value for name, value in remote.items() if name not in _PRIORITY}
    return {**kept, **{name: local[name] for name in _PRIORITY if local.get(name) is not None}}


def _can_take_priority(local: Object, remote: Object) -> bool:
    """Classes of pods are in the pods, which nobody can change."""
    said, present = (each.get("priorityClassRef") for each in (local, remote))
    return _is_own(said) and (present is None or _is_own(present))


def _is_own(reference: Object | None) -> bool:
    return reference is not None and reference.get("kind") == WORKLOAD_PRIORITY_CLASS.kind


def _shrinks(workload: Object, copy: Object) -> bool:
    wanted, present = pod_set_counts(workload), pod_set_counts(copy)
    if wanted == present or wanted.keys() != present.keys():
        return False
    return all(count <= present[name] for name, count in wanted.items())


def _priority(spec: Object) -> Object:
    return {name: spec.get(name) for name in _PRIORITY}


def _essence(spec: Object) -> Object:
    return {name: value for name, value in spec.items() if name not in _PRIORITY}


def _without_counts(spec: Object) -> Object:
    pod_sets = [
        {name: value for name, value in each.items() if name != "count"} for each in spec["podSets"]
    ]
    return {**spec, "podSets": pod_sets}


def _with_gates(spec: Object, gates: list[Object] | None) -> Object:
    kept = {name: value for name, value in spec.items() if name != GATES}
    return {**kept, GATES: gates} if gates else kept


# What a check says


def check_state(check: Object, state: str, message: str, now: datetime) -> Object:
    """The check in that state; its time moves with its state alone."""
    made = {
        **check,
        "state": state,
        "message": status.cut(message, status.CONDITION_MESSAGE_BYTES_MAX),
    }
    if check.get("state") != state or not check.get("lastTransitionTime"):
        made["lastTransitionTime"] = format_time(now)
    return made


def with_previous(text: str, state: str) -> str:
    """A text of a check, with the state that it was in before."""
    return f'{text}, Previously: "{state}"'
