"""Which pods of a group its Workload stands for, role by role, and whether it still can."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.jobs import identity
from fleetqueue.jobs.kind import Sight
from fleetqueue.jobs.pod_groups.excess import excess_of
from fleetqueue.jobs.pod_groups.group import by_role, members_of
from fleetqueue.jobs.pod_groups.replacement import replaced_of
from fleetqueue.jobs.pod_sets import counts_of
from fleetqueue.jobs.pods import states
from fleetqueue.kube.resources import Object


@dataclass(slots=True)
class Members:
    """The pods of a group, sorted by what is to become of them."""

    kept: list[Object] = field(default_factory=list)
    excess: list[Object] = field(default_factory=list)
    replaced: list[Object] = field(default_factory=list)
    """Those that ended early and have a successor."""
    missing: int = 0
    """How many pods the group is short of."""


def sort_members(sight: Sight, workload: Object) -> Members:
    """Pods of roles that the Workload does not know are kept; they make it not match."""
    made = Members()
    known = counts_of(workload["spec"]["podSets"])
    found = by_role(members_of(sight.job))
    for name, size in known.items():
        _sort_role(found.get(name, []), size, made)
    for name in found.keys() - known.keys():
        made.kept += found[name]
    made.kept.sort(key=lambda pod: str(pod["metadata"]["name"]))
    return made


def is_equivalent(sight: Sight, kept: list[Object], workload: Object) -> bool:
    """No role and no pod too many; fewer may yet come."""
    if workload["spec"].get("maximumExecutionTimeSeconds") != identity.max_seconds_of(sight.job):
        return False
    known: Mapping[str, int] = counts_of(workload["spec"]["podSets"])
    found = by_role(pod for pod in kept if states.counts(pod))
    if not found.keys() <= known.keys():
        return False
    if status_of.is_finished(workload):
        return True
    return all(len(pods) <= known[name] for name, pods in found.items())


def _sort_role(pods: list[Object], size: int, made: Members) -> None:
    active = [pod for pod in pods if states.counts(pod)]
    inactive = [pod for pod in pods if not states.counts(pod)]
    excess = excess_of(active, size)
    replaced = replaced_of(inactive, len(inactive) + len(active) - size)
    made.excess += excess
    made.replaced += replaced
    made.missing += max(size - len(active), 0)
    made.kept += [pod for pod in pods if pod not in excess and pod not in replaced]
