"""Takes out the clusters that a placement cannot go to; the first filter that objects says why."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from fleetqueue.fleet.decide.scheduling import eligibility, namespaces, taints
from fleetqueue.fleet.decide.scheduling.affinity import Required
from fleetqueue.fleet.decide.scheduling.situation import Situation, name_of
from fleetqueue.fleet.decide.scheduling.spread import Spread

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Filtered:
    """A cluster that is out, and why."""

    name: str
    reason: str


def run(
    situation: Situation, present: Collection[str], spread: Spread
) -> tuple[list[Json], list[Filtered]]:
    """Those that pass and those that do not, both by name.

    Clusters that the placement has already are in neither list: they stay whatever they have
    become, and nobody shall read of one that it is picked and refused.
    """
    required = Required(situation.policy)
    tolerations: Sequence[Json] = situation.policy.get("tolerations") or ()
    checks: tuple[Callable[[Json], str], ...] = (
        required.problem,
        lambda cluster: eligibility.problem(cluster, situation.now),
        lambda cluster: namespaces.problem(cluster, situation.namespace),
        lambda cluster: taints.problem(cluster, tolerations),
        spread.problem,
    )
    passing: list[Json] = []
    out: list[Filtered] = []
    for cluster in sorted(situation.clusters, key=name_of):
        if name_of(cluster) in present:
            continue
        if reason := _first(checks, cluster):
            out.append(Filtered(name_of(cluster), reason))
        else:
            passing.append(cluster)
    return passing, out


def _first(checks: Sequence[Callable[[Json], str]], cluster: Json) -> str:
    return next((reason for check in checks if (reason := check(cluster))), "")
