"""What the scheduler knows, kept up to date by events: nodes, the pods on them, and who minds whom.

Nothing here looks at all pods to place one: counts by rule and node are kept as pods come and go.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from typing import TypeVar

from fleetqueue.api.pods.terms import PodTerm
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.scheduling.nodes import NodeState
from fleetqueue.runtime.scheduling.pods import PodInfo

K = TypeVar("K")
COUNTED_TERMS_MAX = 256
REQUIRED_WEIGHT = 1
"""How much a pod that must be near others pulls them, where they do not ask for it themselves."""


class ClusterState:
    """Nodes by name, with their pods; claims and namespaces as far as placement needs them."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeState] = {}
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.claim_users: Counter[tuple[str, str]] = Counter()
        self.keep_away: dict[PodTerm, Counter[str]] = {}
        """Required anti-affinity of placed pods: how many on each node have the term."""
        self.pulls: dict[tuple[PodTerm, int], Counter[str]] = {}
        """Preferences of placed pods about others, with their weight; likewise."""
        self.nominated: dict[str, dict[str, PodInfo]] = {}
        """By node: pods that wait for others to leave it."""
        self._homes: dict[str, str] = {}
        self._counted: OrderedDict[PodTerm, Counter[str]] = OrderedDict()
        self._names: list[str] | None = None

    # Nodes

    def set_node(self, node: Object) -> None:
        name = str(node["metadata"]["name"])
        if name not in self.nodes or self.nodes[name].object is None:
            self._names = None
        self._node(name).describe(node)

    def drop_node(self, name: str) -> None:
        """Its pods are remembered as long as they exist: the node may come back."""
        state = self.nodes.get(name)
        if state is None:
            return
        self._names = None
        if state.pods:
            fresh = self.nodes[name] = NodeState(name)
            for info in state.pods.values():
                fresh.add(info)
        else:
            del self.nodes[name]

    def node_names(self) -> list[str]:
        """Of the nodes that exist, in order."""
        if self._names is None:
            self._names = sorted(name for name, node in self.nodes.items() if node.object)
        return self._names

    def ordered_nodes(self) -> list[NodeState]:
        return [self.nodes[name] for name in self.node_names()]

    # Pods

    def place(self, info: PodInfo, node: str) -> None:
        """The pod is on that node, or will be; what was known of it before is forgotten."""
        self.take_away(info.uid)
        self._homes[info.uid] = node
        self._node(node).add(info)
        self._count(info, node, 1)

    def take_away(self, uid: str) -> PodInfo | None:
        node = self._homes.pop(uid, None)
        if node is None:
            return None
        state = self.nodes[node]
        info = state.remove(uid)
        self._count(info, node, -1)
        if state.object is None and not state.pods:
            del self.nodes[node]
        return info

    def home_of(self, uid: str) -> str | None:
        return self._homes.get(uid)

    def nominate(self, info: PodInfo, node: str) -> None:
        self.forget_nomination(info.uid)
        self.nominated.setdefault(node, {})[info.uid] = info

    def forget_nomination(self, uid: str) -> None:
        for node, waiting in list(self.nominated.items()):
            if waiting.pop(uid, None) is not None and not waiting:
                del self.nominated[node]

    def set_namespace(self, name: str, labels: Mapping[str, str] | None) -> bool:
        """Returns whether rules that choose namespaces by label see a difference."""
        if self.namespaces.get(name) == labels:
            return False
        if labels is None:
            self.namespaces.pop(name, None)
        else:
            self.namespaces[name] = labels
        self._counted.clear()
        return True

    # Who minds whom

    def matches(self, term: PodTerm, info: PodInfo) -> bool:
        if term.skips_ending and info.is_ending:
            return False
        labels = self.namespaces.get(info.namespace) or {}
        return term.matches(info.namespace, info.labels, labels)

    def count(self, term: PodTerm) -> Counter[str]:
        """How many pods the term means, by node. Counted once, then kept."""
        found = self._counted.get(term)
        if found is None:
            found = Counter()
            for name, node in self.nodes.items():
                number = sum(self.matches(term, info) for info in node.pods.values())
                if number:
                    found[name] = number
            self._counted[term] = found
            if len(self._counted) > COUNTED_TERMS_MAX:
                self._counted.popitem(last=False)
        self._counted.move_to_end(term)
        return found

    def by_place(
        self, counts: Mapping[str, int], topology: str, among: Iterable[NodeState] | None = None
    ) -> Counter[str]:
        """Counts by node as counts by the value of a node label; nodes without it do not count."""
        total: Counter[str] = Counter()
        for node in self.nodes.values() if among is None else among:
            place = node.labels.get(topology)
            if place is not None:
                total[place] += counts.get(node.name, 0)
        return total

    @property
    def minded_labels(self) -> frozenset[str]:
        """The label keys by which placed pods choose whom they mind."""
        held = (*self.keep_away, *(term for term, _ in self.pulls))
        return frozenset(each.key for term in held for each in term.selector.requirements)

    def _count(self, info: PodInfo, node: str, sign: int) -> None:
        for term, counts in self._counted.items():
            if self.matches(term, info):
                counts[node] += sign
        for claim in info.claims:
            self.claim_users[info.namespace, claim] += sign
            if not self.claim_users[info.namespace, claim]:
                del self.claim_users[info.namespace, claim]
        if info.has_pod_affinity:
            for term in info.anti_affinity:
                _tally(self.keep_away, term, node, sign)
            for term in info.affinity:
                _tally(self.pulls, (term, REQUIRED_WEIGHT), node, sign)
            for weight, term in info.pulls:
                _tally(self.pulls, (term, weight), node, sign)

    def _node(self, name: str) -> NodeState:
        if name not in self.nodes:
            self.nodes[name] = NodeState(name)
        return self.nodes[name]


def _tally(held: dict[K, Counter[str]], key: K, node: str, sign: int) -> None:
    counts = held.setdefault(key, Counter())
    counts[node] += sign
    if not counts[node]:
        del counts[node]
        if not counts:
            del held[key]
