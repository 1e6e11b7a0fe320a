"""One scheduling cycle: given a policy, the clusters and the bindings, what becomes of the bindings
and what the policy snapshot says afterwards.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.fleet.decide.scheduling import decisions, eligibility, filters, ranking
from fleetqueue.fleet.decide.scheduling.affinity import Preferred
from fleetqueue.fleet.decide.scheduling.ranking import Scored
from fleetqueue.fleet.decide.scheduling.situation import Classes, Situation, name_of
from fleetqueue.fleet.decide.scheduling.spread import Spread

Json = dict[str, Any]


@dataclass(slots=True)
class Outcome:
    """What to write, bindings first; the decisions name their clusters."""

    released: list[Json] = field(default_factory=list)
    """Bindings on their way out that the scheduler lets go of."""
    unscheduled: list[Json] = field(default_factory=list)
    """Bindings whose cluster is not wanted any more."""
    created: list[Json] = field(default_factory=list)
    """Decisions for clusters that get a new binding."""
    patched: list[tuple[Json, Json]] = field(default_factory=list)
    """Bindings of an earlier policy, or given up before, that are picked again, and why."""
    status: Json | None = None
    """Of the policy snapshot; None where this cycle says nothing."""
    again: bool = False
    """Whether the next cycle shall follow at once."""


def run(situation: Situation) -> Outcome:
    classes = situation.classes()
    outcome = Outcome(released=classes.deleting, unscheduled=list(classes.dangling))
    match situation.policy.get("placementType"):
        case "PickFixed":
            _pick_fixed(situation, classes, outcome)
        case "PickN":
            _pick_n(situation, classes, outcome)
        case _:
            _pick_all(situation, classes, outcome)
    return outcome


def _pick_all(situation: Situation, classes: Classes, outcome: Outcome) -> None:
    """Everyone who passes; the scores are zero, and nobody is left over."""
    present = classes.present
    passing, out = filters.run(situation, present, Spread((), (), ()))
    chosen = [decisions.picked(Scored(name_of(each))) for each in passing]
    _take(chosen, classes, outcome)
    selected = sorted([*chosen, *_decisions_of(present.values())], key=_cluster_name)
    outcome.status = decisions.status(
        situation.snapshot, selected, map(decisions.filtered, out),
        wanted=len(selected), now=situation.now,
    )  # fmt: skip


def _pick_n(situation: Situation, classes: Classes, outcome: Outcome) -> None:
    wanted = situation.number_wanted
    if wanted <= len(classes.present):
        _shrink(situation, classes, outcome)
        return
    present = classes.present
    constraints = situation.policy.get("topologySpreadConstraints") or ()
    spread = Spread(constraints, situation.clusters, present)
    passing, out = filters.run(situation, present, spread)
    preferred = Preferred(situation.policy, situation.clusters)
    scored = ranking.rank(passing, preferred, spread, classes.obsolete)
    missing = wanted - len(present)
    batch = 1 if spread else missing
    picked, others = scored[:batch], scored[batch:]
    outcome.again = len(picked) == batch < missing
    chosen = [decisions.picked(each) for each in picked]
    # Bindings that the next cycle may pick are left as they are until the last one.
    _take(chosen, classes, outcome, gives_up=not outcome.again)
    if not outcome.again:
        outcome.status = decisions.status(
            situation.snapshot,
            ranking.best_first([*chosen, *_decisions_of(present.values())]),
            [*map(decisions.not_picked, others), *map(decisions.filtered, out)],
            wanted=wanted,
            now=situation.now,
        )


def _shrink(situation: Situation, classes: Classes, outcome: Outcome) -> None:
    """There are enough: what is too much goes, whatever delivers goes last."""
    surplus = len(classes.present) - situation.number_wanted
    given_up = [
        *ranking.least_first(classes.scheduled.values()),
        *ranking.least_first(classes.bound.values()),
    ][:surplus]
    outcome.unscheduled += [*classes.obsolete.values(), *given_up]
    kept = [each for each in classes.present.values() if each not in given_up]
    outcome.status = decisions.status(
        situation.snapshot, ranking.best_first(_decisions_of(kept)), (),
        wanted=situation.number_wanted, now=situation.now,
    )  # fmt: skip


def _pick_fixed(situation: Situation, classes: Classes, outcome: Outcome) -> None:
    names = list(dict.fromkeys(situation.policy.get("clusterNames") or ()))
    clusters = {name_of(each): each for each in situation.clusters}
    selected: list[Json] = []
    ineligible: list[Json] = []
    for name in names:
        cluster = clusters.get(name)
        reason = "" if cluster is None else eligibility.problem(cluster, situation.now)
        if cluster is not None and not reason:
            selected.append(decisions.picked_by_name(name))
        elif cluster is not None:
            ineligible.append(decisions.ineligible_by_name(name, reason))
    unknown = [decisions.unknown_by_name(name) for name in names if name not in clusters]
    present = classes.present
    _take([each for each in selected if _cluster_name(each) not in present], classes, outcome)
    # A new placement without names waits for some; one that lost them all has no cluster.
    if names or situation.bindings or situation.snapshot.get("status"):
        outcome.status = decisions.status(
            situation.snapshot, selected, [*ineligible, *unknown],
            wanted=len(names), now=situation.now,
        )  # fmt: skip


def _take(
    chosen: Iterable[Json], classes: Classes, outcome: Outcome, *, gives_up: bool = True
) -> None:
    """Bindings for the clusters that are chosen; what only an earlier policy chose is given up."""
    taken = set()
    for decision in chosen:
        cluster = _cluster_name(decision)
        taken.add(cluster)
        known = classes.obsolete.get(cluster) or classes.unscheduled.get(cluster)
        if known is None:
            outcome.created.append(decision)
        else:
            outcome.patched.append((known, decision))
    if gives_up:
        obsolete = classes.obsolete.items()
        outcome.unscheduled += [each for cluster, each in obsolete if cluster not in taken]


def _decisions_of(found: Iterable[Json]) -> list[Json]:
    return [each["spec"].get("clusterDecision") or {} for each in found]


def _cluster_name(decision: Json) -> str:
    return str(decision.get("clusterName") or "")
