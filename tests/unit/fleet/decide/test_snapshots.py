"""What snapshots say of themselves, how selections are packed, and when the next one is due."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.fleet.decide import snapshots

Json = dict[str, Any]
PREFIX = "kubernetes-fleet.io/"
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def master(index: int, *, count: int = 1, latest: str = "true", **annotations: str) -> Json:
    return {
        "metadata": {
            "name": f"p-{index}-snapshot",
            "creationTimestamp": "2026-01-01T12:00:00Z",
            "labels": {
                f"{PREFIX}parent-CRP": "p",
                f"{PREFIX}resource-index": str(index),
                f"{PREFIX}is-latest-snapshot": latest,
            },
            "annotations": {
                f"{PREFIX}resource-hash": "h",
                f"{PREFIX}number-of-resource-snapshots": str(count),
                **{f"{PREFIX}{name.replace('_', '-')}": text for name, text in annotations.items()},
            },
        },
        "spec": {"selectedResources": [{"kind": f"m{index}"}]},
    }


def shard(index: int, subindex: int) -> Json:
    return {
        "metadata": {
            "name": f"p-{index}-{subindex}",
            "labels": {f"{PREFIX}parent-CRP": "p", f"{PREFIX}resource-index": str(index)},
            "annotations": {f"{PREFIX}subindex-of-resource-snapshot": str(subindex)},
        },
        "spec": {"selectedResources": [{"kind": f"s{index}.{subindex}"}]},
    }


FOUND = [shard(1, 1), master(0, latest="false"), master(1, count=3), shard(1, 0), shard(0, 0)]


def test_a_snapshot_says_what_it_is() -> None:
    assert snapshots.placement_of(FOUND[0]) == "p"
    assert [snapshots.index_of(each) for each in FOUND] == [1, 0, 1, 1, 0]
    assert [snapshots.is_master(each) for each in FOUND] == [False, True, True, False, False]
    assert [snapshots.subindex_of(each) for each in FOUND] == [1, -1, -1, 0, 0]
    assert snapshots.latest_of(FOUND) is FOUND[2]


def test_an_index_is_its_master_and_its_shards_in_order() -> None:
    group = snapshots.shards_of(FOUND, 1)
    assert [each["metadata"]["name"] for each in group] == ["p-1-snapshot", "p-1-0", "p-1-1"]
    assert snapshots.is_complete(group)
    assert not snapshots.is_complete(group[:2])
    assert not snapshots.is_complete([])
    assert [each["kind"] for each in snapshots.manifests_of(group)] == ["m1", "s1.0", "s1.1"]
    assert snapshots.master_of(FOUND, 0) is FOUND[1]
    assert snapshots.master_of(FOUND, 7) is None


def test_the_newest_counts_where_a_crash_left_none_marked() -> None:
    assert snapshots.latest_of([master(3, latest="false")]) is None
    assert snapshots.index_of(snapshots.newest_master(FOUND) or {}) == 1


@pytest.mark.rule("SNAP-8")
def test_all_shards_of_an_index_count_as_one_in_the_history() -> None:
    names = [each["metadata"]["name"] for each in snapshots.outdated(FOUND, 1, snapshots.index_of)]
    assert sorted(names) == ["p-0-0", "p-0-snapshot"]
    assert snapshots.outdated(FOUND, 2, snapshots.index_of) == []


POLICIES = {
    "PickAll": (
        {"placementType": "PickAll"},
        "OGNjNTdkZWU1OTY4NGZmODg3NjZlMjY5MzZjOGZiMTI1ZjRiZGUyMzRhMmJlYjVjNTRhZGVkNDU2OWRiMGQ1YQ==",
    ),
    "PickN with sorters": (
        {
            "affinity": {
                "clusterAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "preference": {
                                "propertySorter": {
                                    "name": "resources.kubernetes-fleet.io/available-cpu",
                                    "sortOrder": "Descending",
                                }
                            },
                            "weight": 40,
                        },
                        {
                            "preference": {
                                "propertySorter": {
                                    "name": "resources.kubernetes-fleet.io/available-memory",
                                    "sortOrder": "Descending",
                                }
                            },
                            "weight": 30,
                        },
                    ]
                }
            },
            "numberOfClusters": 1,
            "placementType": "PickN",
        },
        "ODkzOWQwZmNlNDI0OTNkMTk5ODZlNzdhMDBjYzczOTRlOWVlYWRjOWE1NWU0OTQ5ZmIxMjQ2ODk5NDRlMmZkOA==",
    ),
    "none": (
        None,
        "NzQyMzRlOThhZmU3NDk4ZmI1ZGFmMWYzNmFjMmQ3OGFjYzMzOTQ2NGY5NTA3MDNiOGMwMTk4OTJmOTgyYjkwYg==",
    ),
}


@pytest.mark.rule("SNAP-1")
@pytest.mark.parametrize(("policy", "recorded"), POLICIES.values(), ids=POLICIES.keys())
def test_the_hash_of_a_policy_is_that_of_kube_fleet(policy: Json | None, recorded: str) -> None:
    assert snapshots.policy_hash(policy) == recorded


@pytest.mark.rule("SNAP-1")
def test_the_number_of_clusters_does_not_change_the_hash() -> None:
    one, two = ({"placementType": "PickN", "numberOfClusters": n} for n in (1, 2))
    assert snapshots.policy_hash(one) == snapshots.policy_hash(two)
    assert snapshots.policy_hash(one) != snapshots.policy_hash({"placementType": "PickAll"})
    assert [snapshots.number_of_clusters(each) for each in (one, two, None)] == ["1", "2", ""]


def big(name: str, kibibytes: int) -> Json:
    return {"kind": name, "data": "x" * (kibibytes * 1024)}


@pytest.mark.rule("SNAP-4")
def test_a_selection_is_packed_into_shards_in_its_order() -> None:
    manifests = [big("a", 500), big("b", 200), big("c", 200), big("d", 900), big("e", 1)]
    packed = snapshots.packed(manifests)
    assert [[each["kind"] for each in one] for one in packed] == [["a", "b"], ["c"], ["d"], ["e"]]


@pytest.mark.rule("SNAP-4")
def test_a_shard_is_filled_to_the_last_byte() -> None:
    frame = len('{"data":"","kind":"a"}')
    half = snapshots.SHARD_BYTES_MAX // 2 - frame
    exact = [{"data": "x" * half, "kind": "a"}, {"data": "x" * half, "kind": "b"}]
    assert len(snapshots.packed(exact)) == 1
    exact[1]["data"] += "x"
    assert len(snapshots.packed(exact)) == 2


@pytest.mark.rule("SNAP-4")
def test_an_empty_selection_is_one_empty_master() -> None:
    assert snapshots.packed([]) == [[]]


WAITS = {
    "just seen, made long ago": (0, -100, 0, 30, 15, 15),
    "just seen, made just now": (0, 0, 0, 30, 15, 30),
    "seen a while ago": (0, -100, 10, 30, 15, 5),
    "seen and made long enough ago": (0, -100, 15, 30, 15, 0),
    "not noted yet": (None, -100, 0, 30, 15, 15),
}


@pytest.mark.rule("SNAP-7")
@pytest.mark.parametrize(
    ("seen", "created", "now", "interval", "collection", "waits"), WAITS.values(), ids=WAITS.keys()
)
def test_changes_are_collected_and_snapshots_are_not_taken_too_often(
    seen: int | None, created: int, now: int, interval: int, collection: int, waits: int
) -> None:
    found = master(0)
    found["metadata"]["creationTimestamp"] = _at(created).isoformat().replace("+00:00", "Z")
    if seen is not None:
        found["metadata"]["annotations"] |= snapshots.seen(_at(seen))
    told = snapshots.seconds_to_wait(
        found, _at(now), interval_seconds=interval, collection_seconds=collection
    )
    assert told == waits


@pytest.mark.rule("SNAP-7")
def test_a_time_that_nobody_can_read_is_noted_anew() -> None:
    found = master(0, next_resource_snapshot_candidate_detection_time="soon")
    assert snapshots.first_seen(found) is None


def _at(seconds: int) -> datetime:
    return NOW + timedelta(seconds=seconds)
