"""The rules a pod has about nodes and about other pods, read once from its spec into a form that
can be matched quickly and compared: two pods with the same rule share one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleetqueue.api import selectors
from fleetqueue.api.requirements import Requirement
from fleetqueue.api.selectors import LabelSelector, SelectorError

Object = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_OPERATORS |= {"Gt": "gt", "Lt": "lt"}


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """Some labels and the name of a node: all must hold; a term that asks nothing matches none."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        if not self.labels and not self.fields:
            return False
        named = {"metadata.name": name}
        return all(each.matches(labels) for each in self.labels) and all(
            each.matches(named) for each in self.fields
        )


@dataclass(frozen=True, slots=True)
class NodeRule:
    """Node selector and required node affinity together."""

    labels: tuple[tuple[str, str], ...]
    terms: tuple[NodeTerm, ...] | None
    """One of them must match; None: nothing is asked."""

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        if any(labels.get(key) != value for key, value in self.labels):
            return False
        return self.terms is None or any(term.matches(name, labels) for term in self.terms)

    def names(self) -> frozenset[str] | None:
        """The only nodes that can match, where every term asks for nodes by name."""
        found: set[str] = set()
        for term in self.terms or ():
            wanted = [set(each.values) for each in term.fields if each.operator == "in"]
            if not wanted:
                return None
            found |= set.intersection(*wanted)
        return frozenset(found) if self.terms else None


@dataclass(frozen=True, slots=True)
class PodTerm:
    """Which pods are meant, and what counts as one place."""

    namespaces: frozenset[str]
    namespace_selector: LabelSelector
    selector: LabelSelector
    topology: str
    skips_ending: bool = False
    """Whether pods that are being deleted do not count."""

    def matches(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> bool:
        if namespace not in self.namespaces and not self.namespace_selector.matches(
            namespace_labels
        ):
            return False
        return self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class Spread:
    """How unevenly pods may be spread over places."""

    term: PodTerm
    skew_max: int
    domains_min: int
    honors_affinity: bool
    honors_taints: bool


def node_rule(spec: Object) -> NodeRule | None:
    """None where a pod takes any node."""
    labels = tuple(sorted((spec.get("nodeSelector") or {}).items()))
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED)
    terms = None
    if affinity is not None:
        terms = tuple(node_term(term) for term in affinity.get("nodeSelectorTerms") or ())
    return NodeRule(labels, terms) if labels or terms is not None else None


def node_term(term: Object) -> NodeTerm:
    return NodeTerm(
        tuple(_requirement(each) for each in term.get("matchExpressions") or ()),
        tuple(_requirement(each) for each in term.get("matchFields") or ()),
    )


def preferred_nodes(spec: Object) -> tuple[tuple[int, NodeTerm], ...]:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return tuple(
        (int(each.get("weight") or 0), node_term(each.get("preference") or {}))
        for each in affinity.get(PREFERRED) or ()
    )


def pod_terms(spec: Object, kind: str, namespace: str) -> tuple[PodTerm, ...]:
    """The required terms of `podAffinity` or `podAntiAffinity`."""
    affinity = (spec.get("affinity") or {}).get(kind) or {}
    return tuple(pod_term(each, namespace) for each in affinity.get(REQUIRED) or ())


def preferred_pods(spec: Object, kind: str, namespace: str) -> tuple[tuple[int, PodTerm], ...]:
    affinity = (spec.get("affinity") or {}).get(kind) or {}
    return tuple(
        (int(each.get("weight") or 0), pod_term(each.get("podAffinityTerm") or {}, namespace))
        for each in affinity.get(PREFERRED) or ()
    )


def pod_term(term: Object, namespace: str) -> PodTerm:
    """Without namespaces or a selector of them, the pod's own namespace is meant."""
    namespaces = term.get("namespaces") or ()
    by_label = term.get("namespaceSelector")
    if not namespaces and by_label is None:
        namespaces = (namespace,)
    return PodTerm(
        frozenset(namespaces),
        _selector(by_label),
        _selector(term.get("labelSelector")),
        term.get("topologyKey") or "",
    )


def spreads(spec: Object, labels: Mapping[str, str], namespace: str, action: str) -> list[Spread]:
    """The constraints with that `whenUnsatisfiable`."""
    return [
        Spread(
            PodTerm(
                frozenset((namespace,)),
                selectors.NOTHING,
                _with_keys(_selector(each.get("labelSelector")), each, labels),
                each.get("topologyKey") or "",
                skips_ending=True,
            ),
            int(each.get("maxSkew") or 1),
            int(each.get("minDomains") or 1),
            (each.get("nodeAffinityPolicy") or "Honor") == "Honor",
            (each.get("nodeTaintsPolicy") or "Ignore") == "Honor",
        )
        for each in spec.get("topologySpreadConstraints") or ()
        if each.get("whenUnsatisfiable") == action
    ]


def _with_keys(selector: LabelSelector, spread: Object, labels: Mapping[str, str]) -> LabelSelector:
    keys = [key for key in spread.get("matchLabelKeys") or () if key in labels]
    extra = tuple(Requirement(key, "in", (labels[key],)) for key in keys)
    if not extra or selector.matches_nothing:
        return selector
    missing = tuple(each for each in extra if each not in selector.requirements)
    return LabelSelector((*selector.requirements, *missing))


def _selector(selector: Mapping[str, Any] | None) -> LabelSelector:
    """One that cannot be understood matches nothing, so that no pod waits for a wrong rule."""
    try:
        return selectors.labels_from_object(selector)
    except SelectorError:
        return selectors.NOTHING


def _requirement(raw: Object) -> Requirement:
    said = str(raw.get("operator") or "")
    values = tuple(raw.get("values") or ())
    return Requirement(raw.get("key") or "", _OPERATORS.get(said, said), values)
