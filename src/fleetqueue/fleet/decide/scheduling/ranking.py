"""Scores the clusters that pass the filters and puts them in order, the best first."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from fleetqueue.fleet.decide.scheduling.affinity import Preferred
from fleetqueue.fleet.decide.scheduling.situation import name_of
from fleetqueue.fleet.decide.scheduling.spread import Spread

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scored:
    """A cluster with its scores; that for an obsolete binding is not told to anybody."""

    name: str
    topology: int = 0
    affinity: int = 0
    is_held: bool = False
    """Whether a binding of an earlier policy is there: of equals, it stays."""

    @property
    def rank(self) -> tuple[int, int, bool, str]:
        return self.topology, self.affinity, self.is_held, self.name


def rank(
    clusters: Iterable[Json], preferred: Preferred, spread: Spread, held: Collection[str]
) -> list[Scored]:
    scored = [
        Scored(
            name=name_of(each),
            topology=spread.score(each),
            affinity=preferred.score(each),
            is_held=name_of(each) in held,
        )
        for each in clusters
    ]
    return sorted(scored, key=lambda each: each.rank, reverse=True)


def least_first(found: Iterable[Json]) -> list[Json]:
    """Bindings in the order in which a placement that shrinks gives them up."""
    return sorted(found, key=_stored_rank)


def best_first(decisions: Iterable[Json]) -> list[Json]:
    """Decisions for picked clusters, in the order in which they would have been picked."""
    return sorted(decisions, key=_decision_rank, reverse=True)


def _stored_rank(binding: Json) -> tuple[bool, int, int, str]:
    decision = binding["spec"].get("clusterDecision") or {}
    name = str(binding["spec"].get("targetCluster") or "")
    return bool(decision.get("clusterScore")), *_scores(decision), name


def _decision_rank(decision: Json) -> tuple[int, int, str]:
    return *_scores(decision), str(decision.get("clusterName") or "")


def _scores(decision: Json) -> tuple[int, int]:
    score = decision.get("clusterScore") or {}
    return int(score.get("priorityScore") or 0), int(score.get("affinityScore") or 0)
