"""Even spreading on any small tree: it is what looking at every set of domains gives, and where
there is no even way, what is done without it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetqueue.queueing.model import Flavor
from fleetqueue.queueing.settings import Settings
from fleetqueue.queueing.topology.state import Topologies, Wanted
from fleetqueue.queueing.workload import PodSet, TopologyRequest
from support.naive_balance import Room, Spread, spread

pytestmark = pytest.mark.rule("kueue 8.7")

HOST, RACK, BLOCK = "kubernetes.io/hostname", "example.com/rack", "example.com/block"
LEVELS = [BLOCK, RACK, HOST]
MANY = settings(max_examples=600, deadline=None)

Blocks = list[list[list[int]]]
"""Of hosts in racks in blocks: how many pods fit."""
BLOCKS = st.lists(
    st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=3), min_size=1, max_size=4),
    min_size=1,
    max_size=3,
)


def topologies(blocks: Blocks, *, balances: bool) -> Topologies:
    made = Topologies(Settings(balances_placement=balances))
    made.put_topology("tree", LEVELS)
    made.put_flavor(Flavor("tas", {}, topology="tree"))
    for block, racks in enumerate(blocks):
        for rack, hosts in enumerate(racks):
            for host, cpu in enumerate(hosts):
                name = f"{block}-{rack}-{host}"
                labels = {HOST: name, RACK: f"{block}-{rack}", BLOCK: str(block)}
                made.put_node(
                    {
                        "metadata": {"name": name, "labels": labels},
                        "status": {
                            "conditions": [{"type": "Ready", "status": "True"}],
                            "allocatable": {"cpu": str(cpu), "pods": "110"},
                        },
                    }
                )
    return made


def pods(count: int, name: str = "main", **request: object) -> Wanted:
    needs = {"cpu": 1000}
    asked = TopologyRequest(**request)  # type: ignore[arg-type]
    return Wanted(PodSet(name, count, needs, needs, {}, topology=asked), count, "tas")


Found = dict[str, dict[str, int]]


def placed(blocks: Blocks, *wanted: Wanted, balances: bool = True) -> Found:
    """Of each set: the pods by host."""
    found = topologies(blocks, balances=balances).find(wanted).found
    return {
        name: {each.values[0]: each.count for each in placement.domains}
        for name, placement in found.items()
    }


def by_rack(found: dict[str, int]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for host, count in found.items():
        rack = host.rpartition("-")[0]
        sums[rack] = sums.get(rack, 0) + count
    return sums


def racks_of(blocks: Blocks) -> list[list[Room]]:
    return [
        [Room(f"{block}-{rack}", sum(hosts)) for rack, hosts in enumerate(racks)]
        for block, racks in enumerate(blocks)
    ]


def follows(expected: Spread, rooms: list[list[Room]], given: dict[str, int]) -> None:
    capacity = {each.name: each.slices for family in rooms for each in family}
    [family] = {at for at, family in enumerate(rooms) for each in family if each.name in given}
    assert len(given) == expected.sizes.get(family)
    assert min(given.values()) >= expected.threshold
    assert sum(capacity[name] for name in given) == expected.capacity


@MANY
@given(BLOCKS, st.integers(1, 25))
def test_racks_of_one_block_get_even_parts(blocks: Blocks, count: int) -> None:
    wanted = pods(count, preferred=RACK)
    found = placed(blocks, wanted)
    expected = spread(racks_of(blocks), count, has_leader=False)
    if expected is None:
        assert found == placed(blocks, wanted, balances=False)
    else:
        follows(expected, racks_of(blocks), by_rack(found["main"]))
        assert sum(found["main"].values()) == count


@MANY
@given(BLOCKS, st.integers(1, 25))
def test_blocks_get_even_parts(blocks: Blocks, count: int) -> None:
    wanted = pods(count, preferred=BLOCK)
    found = placed(blocks, wanted)
    rooms = [[Room(str(at), sum(map(sum, racks))) for at, racks in enumerate(blocks)]]
    expected = spread(rooms, count, has_leader=False)
    if expected is None:
        assert found == placed(blocks, wanted, balances=False)
    else:
        given: dict[str, int] = {}
        for host, number in found["main"].items():
            block = host.split("-")[0]
            given[block] = given.get(block, 0) + number
        follows(expected, rooms, given)


@MANY
@given(BLOCKS, st.integers(1, 25))
def test_hosts_get_even_parts_and_a_leader_has_a_place_with_them(
    blocks: Blocks, count: int
) -> None:
    group = {"preferred": HOST, "group": "both"}
    wanted = [pods(1, "leader", **group), pods(count, "workers", **group)]
    hosts = [
        [Room(f"{b}-{r}-{h}", cpu, cpu - 1) for h, cpu in enumerate(hosts)]
        for b, racks in enumerate(blocks)
        for r, hosts in enumerate(racks)
    ]
    expected = spread(hosts, count, has_leader=True)
    # Of two sets of the same size, the leader is the first.
    if expected is None or count == 1:
        assert placed(blocks, *wanted) == placed(blocks, *wanted, balances=False)
        return
    found = placed(blocks, *wanted)
    [leader], workers = found["leader"], found["workers"]
    capacity = {each.name: each.slices for family in hosts for each in family}
    assert min(workers.values()) >= expected.threshold
    assert len(workers) in expected.sizes.values()
    assert sum(capacity[name] for name in workers) - 1 == expected.capacity
    assert leader in workers
    assert workers[leader] <= capacity[leader] - 1


@MANY
@given(BLOCKS, st.integers(1, 12))
def test_slices_stay_whole_and_none_is_lost(blocks: Blocks, slices: int) -> None:
    wanted = pods(slices * 2, preferred=BLOCK, slice_level=RACK, slice_size=2)
    found, plain = placed(blocks, wanted), placed(blocks, wanted, balances=False)
    assert bool(found) == bool(plain)
    if found:
        capacity = {name: sum(hosts) for name, hosts in _racks(blocks).items()}
        given = by_rack(found["main"])
        assert sum(given.values()) == slices * 2
        assert all(not count % 2 and count <= capacity[name] for name, count in given.items())


def _racks(blocks: Blocks) -> dict[str, list[int]]:
    return {
        f"{block}-{rack}": hosts
        for block, racks in enumerate(blocks)
        for rack, hosts in enumerate(racks)
    }
