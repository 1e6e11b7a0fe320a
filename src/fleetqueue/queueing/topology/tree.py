"""The nodes of one flavor as a tree of domains, one level per level of its topology."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fleetqueue.queueing.amounts import Requests

HOSTNAME = "kubernetes.io/hostname"
Values: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What of a Node decides where pods go."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, Any], ...]
    capacity: Requests

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(slots=True)
class Domain:
    """A rack, a block, a host. The counts are scratch: each search writes them anew."""

    level: int
    values: Values
    parent: "Domain | None" = None
    children: list["Domain"] = field(default_factory=list)
    nodes: list[NodeFacts] = field(default_factory=list)
    """Of a leaf: the nodes in it."""
    capacity: Requests = field(default_factory=dict)
    others: Requests = field(default_factory=dict)
    """Of a leaf: what pods use that nobody placed here."""
    used: Requests = field(default_factory=dict)
    """Of a leaf: what workloads use that were placed here."""
    pods: int = 0
    pods_with_leader: int = 0
    leaders: int = 0
    slices: int = 0
    slices_with_leader: int = 0
    score: int = 0
    """How much pods would like to be here."""

    def free(self, resource: str, *, as_if_empty: bool) -> int:
        left = self.capacity.get(resource, 0) - self.others.get(resource, 0)
        return left if as_if_empty else left - self.used.get(resource, 0)

    def ancestor(self, level: int) -> "Domain":
        at = self
        while at.level > level and at.parent is not None:
            at = at.parent
        return at


class Tree:
    """Domains by level, and leaves by the name that assignments use."""

    def __init__(self, topology: str, levels: Sequence[str]) -> None:
        self.topology = topology
        self.levels = tuple(levels)
        self.by_level: list[dict[Values, Domain]] = [{} for _ in levels]
        self.leaves: dict[Values, Domain] = {}
        """By what an assignment says: the host alone, or all values."""

    @property
    def is_by_host(self) -> bool:
        return self.levels[-1] == HOSTNAME

    @property
    def written_levels(self) -> tuple[str, ...]:
        return (HOSTNAME,) if self.is_by_host else self.levels

    def written(self, leaf: Domain) -> Values:
        return leaf.values[-1:] if self.is_by_host else leaf.values

    def level_of(self, label: str) -> int | None:
        return self.levels.index(label) if label in self.levels else None

    def at(self, level: int) -> list[Domain]:
        return list(self.by_level[level].values())

    def add(self, node: NodeFacts) -> None:
        """Nodes without all level labels are not in the tree."""
        values = tuple(node.labels.get(label, "") for label in self.levels)
        if not all(label in node.labels for label in self.levels):
            return
        leaf = self._domain(values)
        leaf.nodes.append(node)
        for resource, amount in node.capacity.items():
            leaf.capacity[resource] = leaf.capacity.get(resource, 0) + amount
        self.leaves[self.written(leaf)] = leaf

    def _domain(self, values: Values) -> Domain:
        level = len(values) - 1
        found = self.by_level[level].get(values)
        if found is None:
            parent = self._domain(values[:-1]) if level else None
            found = self.by_level[level][values] = Domain(level, values, parent)
            if parent is not None:
                parent.children.append(found)
        return found

    def below(self, domain: Domain) -> Iterator[Domain]:
        """The leaves of a subtree."""
        if not domain.children:
            yield domain
        for child in domain.children:
            yield from self.below(child)


def build(topology: str, levels: Sequence[str], nodes: Iterable[NodeFacts]) -> Tree:
    tree = Tree(topology, levels)
    for node in sorted(nodes, key=lambda each: each.name):
        tree.add(node)
    return tree
