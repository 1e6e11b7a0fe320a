"""The nodes of every flavor with a topology, as a tree of domains, and what is free in each.

Changes of usage by workloads are logged, so that a decision can take them back.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.queueing.amounts import Requests
from fleetqueue.queueing.model import Flavor
from fleetqueue.queueing.settings import DEFAULTS, Settings
from fleetqueue.queueing.topology import nodes, placing, replacing, shape
from fleetqueue.queueing.topology.filtering import check_rules, node_filter, node_score
from fleetqueue.queueing.topology.shape import Unplaceable
from fleetqueue.queueing.topology.tree import HOSTNAME, Domain, NodeFacts, Tree, Values, build
from fleetqueue.queueing.workload import Domain as PlacedDomain
from fleetqueue.queueing.workload import Placement, PodSet, PodSetAssignment, Workload


@dataclass(frozen=True, slots=True)
class Wanted:
    """Pods of one set that need places in one flavor."""

    pod_set: PodSet
    count: int
    flavor: str
    tolerations: Sequence[Any] = ()
    """What checks add to those of the template and the flavor."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    """What checks add to that of the template."""
    kept: Placement | None = None
    """Places the set has already: only what is missing is looked for."""
    failed_node: str = ""
    """The node of `kept` whose pods need another place."""


@dataclass(frozen=True, slots=True)
class Places:
    """The answer: a placement for every set, or why one has none."""

    found: Mapping[str, Placement]
    failed: str = ""
    """The name of the first set without a place."""
    why: str = ""


class Topologies:
    """All topologies."""

    def __init__(self, settings: Settings = DEFAULTS) -> None:
        self._settings = settings
        self._levels: dict[str, tuple[str, ...]] = {}
        self._flavors: dict[str, Flavor] = {}
        self._nodes: dict[str, NodeFacts] = {}
        self._pods: dict[tuple[str, str], tuple[str, Requests]] = {}
        self._others: dict[str, Requests] = {}
        """By node, what pods use that we did not place."""
        self._usage: dict[tuple[str, Values], Requests] = {}
        """By flavor and leaf; a host is the same in all flavors, where they share nodes. A flavor
        may come after the workloads that use it.
        """
        self._trees: dict[str, Tree] = {}
        self._undo: list[tuple[Requests, str, int | None]] = []

    # Objects come, change and go

    def put_topology(self, name: str, levels: Sequence[str]) -> None:
        if self._levels.get(name) != tuple(levels):
            self._levels[name] = tuple(levels)
            self._trees.clear()

    def remove_topology(self, name: str) -> None:
        self._levels.pop(name, None)
        self._trees.clear()

    def put_flavor(self, flavor: Flavor) -> None:
        self._flavors[flavor.name] = flavor
        self._trees.pop(flavor.name, None)

    def remove_flavor(self, name: str) -> None:
        self._flavors.pop(name, None)
        self._trees.pop(name, None)

    def put_node(self, node: Mapping[str, Any]) -> bool:
        """Whether that changes what can be placed."""
        name, found = node["metadata"]["name"], nodes.read_node(node)
        return self._set_node(name, found)

    def remove_node(self, name: str) -> bool:
        return self._set_node(name, None)

    def put_pod(self, pod: Mapping[str, Any]) -> bool:
        """A pod that is bound, runs and is not placed by us takes from its node; whether that makes
        room.
        """
        metadata = pod["metadata"]
        return self._set_pod(
            (metadata.get("namespace") or "", metadata["name"]), nodes.read_pod(pod)
        )

    def remove_pod(self, namespace: str, name: str) -> bool:
        return self._set_pod((namespace, name), None)

    def _set_node(self, name: str, found: NodeFacts | None) -> bool:
        before = self._nodes.get(name)
        if before == found:
            return False
        if found is None:
            del self._nodes[name]
        else:
            self._nodes[name] = found
        self._trees.clear()
        return True

    def _set_pod(self, key: tuple[str, str], found: tuple[str, Requests] | None) -> bool:
        before = self._pods.pop(key, None)
        if found is not None:
            self._pods[key] = found
        if before == found:
            return False
        for held, sign in ((before, -1), (found, 1)):
            if held is not None:
                self._count_pod(*held, sign)
        return before is not None

    def _count_pod(self, node: str, requests: Requests, sign: int) -> None:
        known = self._others.setdefault(node, {})
        for resource, amount in requests.items():
            known[resource] = known.get(resource, 0) + sign * amount
        if not any(known.values()):
            del self._others[node]
        for tree in self._trees.values():
            facts = self._nodes.get(node)
            leaf = None if facts is None else _leaf_of(tree, facts)
            if leaf is not None:
                for resource, amount in requests.items():
                    leaf.others[resource] = leaf.others.get(resource, 0) + sign * amount

    # What is asked

    def is_known(self, flavor: str) -> bool:
        """Whether the flavor's topology is known."""
        found = self._flavors.get(flavor)
        return found is not None and found.topology in self._levels

    def levels(self, flavor: str) -> tuple[str, ...]:
        found = self._flavors.get(flavor)
        return () if found is None else self._levels.get(found.topology, ())

    def find(self, wanted: Sequence[Wanted], *, as_if_empty: bool = False) -> Places:
        """Places for all sets together, in their order, earlier ones taking from later ones; sets
        of one group share a domain. `as_if_empty` leaves out what workloads of ours use.
        """
        found: dict[str, Placement] = {}
        start = self.mark()
        try:
            for group in _groups(wanted):
                found |= self._find_group(group, as_if_empty)
        except Unplaceable as error:
            failed = next(each.pod_set.name for each in wanted if each.pod_set.name not in found)
            return Places({}, failed, str(error))
        finally:
            self.undo(start)
        return Places(found)

    def _find_group(self, group: Sequence[Wanted], as_if_empty: bool) -> dict[str, Placement]:
        workers = max(group, key=lambda each: each.count)
        leader = next((each for each in group if each is not workers), None)
        tree = self._tree(workers.flavor)
        if workers.kept is not None and leader is None:
            made = self._find_rest(tree, workers, as_if_empty)
        else:
            made = self._find_all(tree, workers, leader, as_if_empty)
        for each in group:
            self._take(tree, each, made[each.pod_set.name], as_if_empty)
        return made

    def _find_all(
        self, tree: Tree, workers: Wanted, leader: Wanted | None, as_if_empty: bool
    ) -> dict[str, Placement]:
        found = placing.place(tree, self._shape(tree, workers, leader, as_if_empty))
        made = {workers.pod_set.name: _placement(tree, found.pods)}
        if leader is not None and found.leader is not None:
            made[leader.pod_set.name] = _placement(tree, {found.leader: 1})
        return made

    def _find_rest(self, tree: Tree, wanted: Wanted, as_if_empty: bool) -> dict[str, Placement]:
        """What is missing, merged with what is kept."""
        assert wanted.kept is not None
        kept = replacing.kept_pods(tree, wanted.kept, wanted.failed_node)
        if kept is None:
            return self._find_all(tree, wanted, None, as_if_empty)
        missing = wanted.count - sum(kept.values())
        if missing <= 0:
            return {wanted.pod_set.name: _placement(tree, replacing.cut(kept, wanted.count))}
        request = wanted.pod_set.topology
        inside = replacing.home(tree, request, kept)
        filtered = self._filter(tree, wanted, inside)
        rest = shape.resolve(
            tree,
            replacing.request_for_rest(request),
            missing,
            wanted.pod_set.pod_requests,
            None,
            filtered,
            mixes_profiles=self._settings.mixes_profiles,
            as_if_empty=as_if_empty,
            score=self._score(tree, wanted),
        )
        found = placing.place(tree, rest)
        merged = {at: kept.get(at, 0) + found.pods.get(at, 0) for at in {*kept, *found.pods}}
        return {wanted.pod_set.name: _placement(tree, dict(sorted(merged.items())))}

    def _shape(
        self, tree: Tree, workers: Wanted, leader: Wanted | None, as_if_empty: bool
    ) -> shape.Shape:
        return shape.resolve(
            tree,
            workers.pod_set.topology,
            workers.count,
            workers.pod_set.pod_requests,
            None if leader is None else leader.pod_set.pod_requests,
            self._filter(tree, workers),
            mixes_profiles=self._settings.mixes_profiles,
            as_if_empty=as_if_empty,
            balances=self._settings.balances_placement,
            score=self._score(tree, workers),
        )

    def _score(self, tree: Tree, wanted: Wanted) -> shape.Score | None:
        if not self._settings.honors_preferred_affinity:
            return None
        return node_score(tree, wanted.pod_set.spec)

    def _filter(self, tree: Tree, wanted: Wanted, inside: Domain | None = None) -> shape.Filter:
        flavor = self._flavors[wanted.flavor]
        tolerations = [*flavor.tolerations, *wanted.tolerations]
        spec = wanted.pod_set.spec
        check_rules(tree, wanted.pod_set.name, spec, wanted.node_selector)
        return node_filter(tree, spec, tolerations, wanted.node_selector, inside)

    def _take(self, tree: Tree, wanted: Wanted, made: Placement, as_if_empty: bool) -> None:
        """Later sets of the workload do not get what this one got."""
        for domain in made.domains:
            leaf = tree.leaves[domain.values]
            held = leaf.others if as_if_empty else leaf.used
            self._count(held, wanted.pod_set.pod_requests, domain.count, 1)

    # Usage of workloads

    def mark(self) -> int:
        return len(self._undo)

    def undo(self, mark: int) -> None:
        while len(self._undo) > mark:
            held, resource, amount = self._undo.pop()
            if amount is None:
                held.pop(resource, None)
            else:
                held[resource] = amount

    def forget(self) -> None:
        self._undo.clear()

    def add(self, workload: Workload) -> None:
        """Counts the placements that the workload holds."""
        self._count_workload(workload, 1)

    def remove(self, workload: Workload) -> None:
        self._count_workload(workload, -1)

    def _count_workload(self, workload: Workload, sign: int) -> None:
        placed = [each for each in workload.assignments if each.placement is not None]
        sets = {each.name: each for each in workload.pod_sets} if placed else {}
        for each in placed:
            if each.placement is None or each.name not in sets:
                continue
            levels = each.placement.levels
            owners = {self._owner(name, levels) for name in _flavors(each, placed)}
            for domain in each.placement.domains:
                for owner in owners:
                    held = self._usage.setdefault((owner, domain.values), {})
                    self._count(held, sets[each.name].pod_requests, domain.count, sign)

    def _owner(self, flavor: str, levels: tuple[str, ...]) -> str:
        """Whose leaves they are: the flavor's, or those of all."""
        return "" if levels == (HOSTNAME,) and self._settings.shares_nodes else flavor

    def _count(self, held: Requests, requests: Requests, count: int, sign: int) -> None:
        for resource, amount in {**requests, "pods": 1}.items():
            before = held.get(resource)
            self._undo.append((held, resource, before))
            held[resource] = (before or 0) + sign * amount * count

    # Trees

    def _tree(self, flavor: str) -> Tree:
        tree = self._trees.get(flavor)
        if tree is None:
            self._forget_unused()
            tree = self._trees[flavor] = self._build(self._flavors[flavor])
        return tree

    def _forget_unused(self) -> None:
        """Leaves come and go; those that are empty are kept only where a tree, or something that
        may be taken back, knows them.
        """
        if not self._trees and not self._undo:
            self._usage = {key: held for key, held in self._usage.items() if any(held.values())}

    def _build(self, flavor: Flavor) -> Tree:
        levels = self._levels.get(flavor.topology)
        if levels is None:
            raise Unplaceable("workload requires Topology, but there is no TAS cache information")
        wanted = flavor.node_labels.items()
        members = (
            node
            for node in self._nodes.values()
            if all(node.labels.get(key) == value for key, value in wanted)
        )
        tree = build(flavor.topology, levels, members)
        owner = self._owner(flavor.name, tree.written_levels)
        for values, leaf in tree.leaves.items():
            leaf.used = self._usage.setdefault((owner, values), {})
            for node in leaf.nodes:
                for resource, amount in self._others.get(node.name, {}).items():
                    leaf.others[resource] = leaf.others.get(resource, 0) + amount
        return tree


def _leaf_of(tree: Tree, node: NodeFacts) -> Domain | None:
    values = tuple(node.labels.get(label, "") for label in tree.levels)
    found = tree.leaves.get(values[-1:] if tree.is_by_host else values)
    return found if found is not None and node in found.nodes else None


def _flavors(assignment: PodSetAssignment, placed: Sequence[PodSetAssignment]) -> Iterable[str]:
    """All of them, as it does not matter what is counted of those without places; a set that asks
    for nothing is where the others are.
    """
    names = assignment.flavors.values()
    return names or [name for each in placed for name in each.flavors.values()] or ("",)


def _groups(wanted: Sequence[Wanted]) -> Iterator[list[Wanted]]:
    """Sets that go together, at the place of the first of them; those without pods need none."""
    seen: set[str] = set()
    for each in wanted:
        group = each.pod_set.topology.group if each.pod_set.topology else ""
        if each.count <= 0 or group in seen:
            continue
        if not group:
            yield [each]
            continue
        seen.add(group)
        yield [
            other
            for other in wanted
            if other.count > 0 and other.pod_set.topology and other.pod_set.topology.group == group
        ]


def _placement(tree: Tree, pods: Mapping[Values, int]) -> Placement:
    domains = tuple(PlacedDomain(values, number) for values, number in pods.items())
    return Placement(tree.written_levels, domains)
