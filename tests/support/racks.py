"""A stand-in for topologies: flavors have nodes, nodes have room for some pods, and that is all."""

from collections.abc import Mapping, Sequence

from fleetqueue.queueing.topology.state import Places, Topologies, Wanted
from fleetqueue.queueing.workload import Domain, Placement, Workload

LEVELS = ("kubernetes.io/hostname",)


class Racks(Topologies):
    """Pods go to the first nodes with room, in the order in which the nodes were named."""

    def __init__(self, **rooms: Mapping[str, int]) -> None:
        super().__init__()
        self.rooms = {name.replace("_", "-"): dict(nodes) for name, nodes in rooms.items()}
        self.used: dict[str, int] = {}
        self.asked: list[Sequence[Wanted]] = []
        self._log: list[tuple[str, int]] = []

    def is_known(self, flavor: str) -> bool:
        return flavor in self.rooms

    def levels(self, flavor: str) -> tuple[str, ...]:
        return LEVELS if flavor in self.rooms else ()

    def find(self, wanted: Sequence[Wanted], *, as_if_empty: bool = False) -> Places:
        self.asked.append(wanted)
        used = {} if as_if_empty else dict(self.used)
        found: dict[str, Placement] = {}
        for each in wanted:
            free = sum(max(0, room) for room in self._free(each, used).values())
            placement = self._place(each, used)
            if placement is None:
                text = (
                    f'topology "{each.flavor}" allows to fit only {free} out of {each.count} pod(s)'
                )
                return Places({}, each.pod_set.name, text)
            found[each.pod_set.name] = placement
        return Places(found)

    def mark(self) -> int:
        return len(self._log)

    def undo(self, mark: int) -> None:
        while len(self._log) > mark:
            node, count = self._log.pop()
            self.used[node] = self.used.get(node, 0) - count

    def forget(self) -> None:
        self._log.clear()

    def add(self, workload: Workload) -> None:
        self._change(workload, 1)

    def remove(self, workload: Workload) -> None:
        self._change(workload, -1)

    def _place(self, wanted: Wanted, used: dict[str, int]) -> Placement | None:
        kept = dict(_pods(wanted.kept))
        rest = wanted.count - sum(kept.values()) + kept.pop(wanted.failed_node, 0)
        for node, room in self._free(wanted, used).items():
            here = min(rest, max(0, room))
            if here and node != wanted.failed_node:
                kept[node] = kept.get(node, 0) + here
                used[node] = used.get(node, 0) + here
                rest -= here
        domains = tuple(Domain((node,), count) for node, count in sorted(kept.items()))
        return None if rest else Placement(LEVELS, domains)

    def _free(self, wanted: Wanted, used: dict[str, int]) -> dict[str, int]:
        rooms = self.rooms[wanted.flavor]
        return {node: room - used.get(node, 0) for node, room in rooms.items()}

    def _change(self, workload: Workload, sign: int) -> None:
        for each in workload.assignments:
            for node, count in _pods(each.placement):
                self.used[node] = self.used.get(node, 0) + sign * count
                self._log.append((node, sign * count))


def _pods(placement: Placement | None) -> list[tuple[str, int]]:
    domains = placement.domains if placement is not None else ()
    return [(each.values[-1], each.count) for each in domains]


def on(**counts: int) -> Placement:
    """`on(n1=2, n2=1)`."""
    return Placement(LEVELS, tuple(Domain((node,), count) for node, count in counts.items()))
