"""The arithmetic of roll-outs."""

from typing import Any

import pytest

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import rollout_sizes as sizes

pytestmark = pytest.mark.rule("jobs B.2.3")


def deployment(replicas: int, surge: Any = "25%", unavailable: Any = "25%") -> Object:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    return {"metadata": {"name": "web"}, "spec": {"replicas": replicas, "strategy": strategy}}


def replica_set(name: str, size: int, available: int = 0, before: int | None = None) -> Object:
    annotations = {} if before is None else {sizes.MAX: str(before)}
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": f"2026-01-01T00:00:0{len(name)}Z",
            "annotations": annotations,
        },
        "spec": {"replicas": size},
        "status": {"availableReplicas": available},
    }


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (10, "25%", "25%", (3, 2)),
        (1, "25%", "25%", (1, 0)),
        (2, "0%", "1%", (0, 1)),
        (1, "1%", "25%", (1, 0)),
        (4, 2, 1, (2, 1)),
        (2, 0, 5, (0, 2)),
        (0, "25%", "25%", (0, 0)),
    ],
)
def test_surge_is_rounded_up_and_unavailability_down(
    replicas: int, surge: Any, unavailable: Any, expected: tuple[int, int]
) -> None:
    made = deployment(replicas, surge, unavailable)
    assert (sizes.surge_max(made), sizes.unavailable_max(made)) == expected


@pytest.mark.parametrize(
    ("replicas", "old", "now", "expected"),
    [
        (10, 0, 0, 10),
        (10, 10, 0, 3),
        (10, 13, 0, 0),
        (10, 8, 3, 5),
        (10, 5, 5, 8),
        (10, 0, 9, 10),
    ],
)
def test_the_new_one_grows_into_the_room_there_is(
    replicas: int, old: int, now: int, expected: int
) -> None:
    others = [replica_set("a", old)]
    assert sizes.new_size(deployment(replicas), others, now) == expected


@pytest.mark.parametrize(
    ("why", "new", "old", "expected"),
    [
        ("as much as availability allows", (3, 0), [(10, 10)], [8]),
        ("nothing while too few are available", (5, 0), [(8, 8)], [8]),
        ("new ones that are available free old ones", (5, 5), [(8, 8)], [3]),
        ("sick ones go first, healthy ones stay", (3, 0), [(10, 5)], [8]),
        ("the oldest goes first", (3, 3), [(5, 5), (5, 5)], [0, 5]),
        ("all of them in the end", (10, 10), [(3, 3)], [0]),
        ("a status from before it was shrunk is not believed", (5, 0), [(9, 13)], [8]),
    ],
)
def test_old_ones_shrink(
    why: str, new: tuple[int, int], old: list[tuple[int, int]], expected: list[int]
) -> None:
    sets = [replica_set("o" * (at + 1), *each) for at, each in enumerate(old)]
    made = sizes.shrunk(deployment(10), replica_set("newest", *new), sets)
    assert [made[each["metadata"]["name"]] for each in sets] == expected, why


@pytest.mark.parametrize(
    ("why", "replicas", "parts", "expected"),
    [
        ("grows by proportion", 20, [(8, 13), (5, 13)], [15, 10]),
        ("shrinks by proportion", 5, [(8, 13), (5, 13)], [4, 3]),
        ("the largest takes what is left over", 11, [(8, 13), (5, 13)], [9, 5]),
        ("down to nothing", 0, [(8, 13), (5, 13)], [0, 0]),
        ("no change", 10, [(8, 13), (5, 13)], [8, 5]),
    ],
)
def test_resizing_keeps_proportions(
    why: str, replicas: int, parts: list[tuple[int, int]], expected: list[int]
) -> None:
    sets = [replica_set("p" * (at + 1), size, 0, was) for at, (size, was) in enumerate(parts)]
    made = sizes.proportional(deployment(replicas), sets)
    assert [made[each["metadata"]["name"]] for each in sets] == expected, why


def test_resizing_never_exceeds_what_is_allowed() -> None:
    for replicas in range(25):
        for old in range(1, 14):
            sets = [replica_set("a", old, 0, 13), replica_set("bb", 14 - old, 0, 13)]
            made = deployment(replicas)
            allowed = replicas + sizes.surge_max(made) if replicas else 0
            assert sum(sizes.proportional(made, sets).values()) == allowed
