"""What a policy asks of clusters: terms that one of must hold, and terms that add to a score."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from fleetqueue.api import selectors
from fleetqueue.api.quantity import Quantity, QuantityError
from fleetqueue.api.selectors import LabelSelector, SelectorError
from fleetqueue.fleet.decide.scheduling.cluster_properties import UnusablePolicy, value_of

Json = dict[str, Any]
UNMATCHED = "cluster does not match with any of the required cluster affinity terms"
_OPERATORS: Mapping[str, Callable[[Quantity, Quantity], bool]] = {
    "Gt": gt, "Ge": ge, "Eq": eq, "Ne": ne, "Lt": lt, "Le": le,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Requirement:
    """One comparison of a property with a value."""

    name: str
    compare: Callable[[Quantity, Quantity], bool]
    value: Quantity

    def holds(self, cluster: Json) -> bool:
        found = value_of(cluster, self.name)
        return found is not None and self.compare(found, self.value)


@dataclass(frozen=True, slots=True)
class Term:
    """Labels and properties that a cluster must all have."""

    labels: LabelSelector
    requirements: tuple[Requirement, ...]

    def matches(self, cluster: Json) -> bool:
        if not self.labels.matches(labels_of(cluster)):
            return False
        return all(each.holds(cluster) for each in self.requirements)


class Required:
    """The terms of which one must hold; without any, every cluster will do."""

    def __init__(self, policy: Json) -> None:
        self._terms = [_term(each) for each in required_terms(policy)]

    def problem(self, cluster: Json) -> str:
        """Why the cluster will not do; "" where it will."""
        if not self._terms or any(each.matches(cluster) for each in self._terms):
            return ""
        return UNMATCHED


class Preferred:
    """The terms that add to a score; `clusters` are all of the fleet, which set the scale."""

    def __init__(self, policy: Json, clusters: Sequence[Json]) -> None:
        terms = [each for each in preferred_terms(policy) if each.get("weight")]
        self._preferences = [_Preference(each, clusters) for each in terms]

    def score(self, cluster: Json) -> int:
        return sum(each.score(cluster) for each in self._preferences)


class _Preference:
    def __init__(self, term: Json, clusters: Iterable[Json]) -> None:
        preference = term.get("preference") or {}
        self._weight = int(term["weight"])
        self._labels = _labels(preference.get("labelSelector"))
        sorter = preference.get("propertySorter") or {}
        self._property = str(sorter.get("name") or "")
        self._is_ascending = sorter.get("sortOrder") == "Ascending"
        self._least, self._most = self._extremes(clusters)

    def score(self, cluster: Json) -> int:
        if not self._labels.matches(labels_of(cluster)):
            return 0
        if not self._property:
            return self._weight
        found = value_of(cluster, self._property)
        if found is None or self._least == self._most:
            return 0
        share = (_number(found) - self._least) / (self._most - self._least)
        return _rounded((1.0 - share if self._is_ascending else share) * self._weight)

    def _extremes(self, clusters: Iterable[Json]) -> tuple[float, float]:
        if not self._property:
            return 0.0, 0.0
        found = (value_of(each, self._property) for each in clusters)
        numbers = [_number(each) for each in found if each is not None]
        return min(numbers, default=0.0), max(numbers, default=0.0)


def required_terms(policy: Json) -> list[Json]:
    affinity = _cluster_affinity(policy)
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return list(required.get("clusterSelectorTerms") or ())


def preferred_terms(policy: Json) -> list[Json]:
    affinity = _cluster_affinity(policy)
    return list(affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ())


def expressions(term: Json) -> list[Json]:
    """What a required term asks of properties."""
    return list((term.get("propertySelector") or {}).get("matchExpressions") or ())


def labels_of(cluster: Json) -> dict[str, str]:
    return cluster["metadata"].get("labels") or {}


def _cluster_affinity(policy: Json) -> Json:
    return (policy.get("affinity") or {}).get("clusterAffinity") or {}


def _term(term: Json) -> Term:
    asked = tuple(_requirement(each) for each in expressions(term))
    return Term(_labels(term.get("labelSelector")), asked)


def _labels(selector: Json | None) -> LabelSelector:
    if selector is None:
        return selectors.EVERYTHING
    try:
        return selectors.labels_from_object(selector)
    except SelectorError as error:
        raise UnusablePolicy(f"invalid label selector: {error}") from error


def _requirement(expression: Json) -> Requirement:
    name, operator = str(expression.get("name") or ""), str(expression.get("operator") or "")
    values = expression.get("values") or []
    if operator not in _OPERATORS:
        raise UnusablePolicy(f"unsupported operator {operator}")
    if len(values) != 1:
        raise UnusablePolicy(f"operator {operator} requires exactly one value, got {len(values)}")
    try:
        return Requirement(name, _OPERATORS[operator], Quantity.of(values[0]))
    except QuantityError as error:
        text = f'value "{values[0]}" is not a valid resource.Quantity: {error}'
        raise UnusablePolicy(text) from error


def _number(quantity: Quantity) -> float:
    return float(Decimal(quantity.unscaled).scaleb(quantity.exponent))


def _rounded(number: float) -> int:
    """Halves away from zero."""
    return int(Decimal(number).quantize(Decimal(1), ROUND_HALF_UP))
