"""Topology assignments: what slices have in common is said once, and nothing is lost."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api.kueue import topology_encoding
from fleetqueue.api.kueue.topology_encoding import HOSTNAME, pack, unpack

pytestmark = pytest.mark.rule("kueue 8.9")

Json = dict[str, Any]


def assignment(levels: list[str], *domains: tuple[str, int]) -> Json:
    return {
        "levels": levels,
        "domains": [{"values": path.split("/"), "count": count} for path, count in domains],
    }


def values(*hosts: str) -> Json:
    packed = pack(assignment(["level"], *((host, 1) for host in hosts)))
    found: Json = packed["slices"][0]["valuesPerLevel"][0]
    return found


def test_values_that_differ_keep_only_what_differs() -> None:
    assert values("n-1-x", "n-2-x") == {
        "individual": {"prefix": "n-", "suffix": "-x", "roots": ["1", "2"]}
    }


def test_values_with_nothing_in_common_have_neither_prefix_nor_suffix() -> None:
    assert values("a", "b") == {"individual": {"roots": ["a", "b"]}}


def test_the_prefix_gives_way_to_the_suffix() -> None:
    assert values("aa", "aaa") == {"individual": {"suffix": "aa", "roots": ["", "a"]}}


def test_equal_values_and_counts_are_universal() -> None:
    packed = pack(assignment(["block", "rack"], ("b/r1", 2), ("b/r2", 2)))
    assert packed["slices"] == [
        {
            "domainCount": 2,
            "valuesPerLevel": [
                {"universal": "b"},
                {"individual": {"prefix": "r", "roots": ["1", "2"]}},
            ],
            "podCounts": {"universal": 2},
        }
    ]


def test_different_counts_are_listed() -> None:
    packed = pack(assignment(["rack"], ("r1", 2), ("r2", 3)))
    assert packed["slices"][0]["podCounts"] == {"individual": [2, 3]}


def test_no_domains_make_no_slices() -> None:
    assert pack(assignment(["rack"])) == {"levels": ["rack"], "slices": []}


POOLS = [(f"pool-{pool}-of-many-long-names-{n}", 1) for pool in "ab" for n in range(20)]


def test_hosts_are_cut_where_a_longer_prefix_saves_space() -> None:
    packed = pack(assignment([HOSTNAME], *POOLS))
    prefixes = [each["valuesPerLevel"][0]["individual"]["prefix"] for each in packed["slices"]]
    assert prefixes == ["pool-a-of-many-long-names-", "pool-b-of-many-long-names-"]


def test_hosts_stay_together_where_cutting_costs_more() -> None:
    packed = pack(assignment([HOSTNAME], ("a-1", 1), ("b-1", 1), ("a-2", 1), ("b-2", 1)))
    assert len(packed["slices"]) == 1


def test_cutting_can_be_switched_off_and_is_for_hosts_only() -> None:
    hosts = assignment([HOSTNAME], *POOLS)
    racks = assignment(["rack"], *POOLS)
    assert len(pack(hosts, by_hostname_prefix=False)["slices"]) == 1
    assert len(pack(racks)["slices"]) == 1


def test_prefixes_get_shorter_until_there_are_few_enough_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(topology_encoding, "SLICES_MAX", 2)
    names = [f"{pool}-{rack}-{n}" for pool in "ab" for rack in "xyz" for n in range(2)]
    runs = topology_encoding._runs([{"values": [name], "count": 1} for name in names])
    assert [len(run) for run in runs] == [6, 6]


def test_no_slice_holds_too_many_domains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topology_encoding, "SLICE_DOMAINS_MAX", 3)
    packed = pack(assignment([HOSTNAME], *((f"n-{n}", 1) for n in range(7))))
    assert [each["domainCount"] for each in packed["slices"]] == [3, 3, 1]


NAMES = st.text("ab-1", min_size=0, max_size=6)


@given(
    hosts=st.lists(st.tuples(NAMES, NAMES, st.integers(1, 9)), max_size=30),
    level=st.sampled_from([HOSTNAME, "rack"]),
)
def test_every_assignment_survives_packing(hosts: list[tuple[str, str, int]], level: str) -> None:
    plain = {
        "levels": ["block", level],
        "domains": [{"values": [block, host], "count": count} for block, host, count in hosts],
    }
    assert unpack(pack(plain)) == plain
