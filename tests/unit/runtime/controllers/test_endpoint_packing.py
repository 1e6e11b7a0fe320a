"""How endpoints are packed into slices."""

import pytest

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers.endpoint_slices import Changes, pack

pytestmark = pytest.mark.rule("jobs B.2.5")
NEW: Object = {"metadata": {"labels": {"of": "us"}}, "ports": [], "addressType": "IPv4"}


def endpoint(uid: str, *, ready: bool = True) -> Object:
    return {"conditions": {"ready": ready}, "targetRef": {"uid": uid}}


def slice_of(name: str, *uids: str, labels: Object | None = None) -> Object:
    return {
        "metadata": {"name": name, "labels": labels or {"of": "us"}},
        "endpoints": [endpoint(uid) for uid in uids],
        "ports": [],
        "addressType": "IPv4",
    }


def wanted(*uids: str) -> dict[str, Object]:
    return {uid: endpoint(uid) for uid in uids}


def sizes(changes: Changes) -> tuple[list[int], dict[str, int], list[str]]:
    return (
        [len(each["endpoints"]) for each in changes.created],
        {name: len(after["endpoints"]) for name, (_, after) in changes.changed.items()},
        [each["metadata"]["name"] for each in changes.deleted],
    )


def many(start: int, end: int) -> list[str]:
    return [f"pod-{number}" for number in range(start, end)]


@pytest.mark.parametrize(
    ("why", "existing", "uids", "expected"),
    [
        ("the first ones", [], many(0, 3), ([3], {}, [])),
        ("nothing new", [slice_of("a", *many(0, 3))], many(0, 3), ([], {}, [])),
        ("one more fits", [slice_of("a", *many(0, 3))], many(0, 4), ([], {"a": 4}, [])),
        ("a hundred is full", [], many(0, 250), ([100, 100, 50], {}, [])),
        (
            "a full slice stays",
            [slice_of("a", *many(0, 100))],
            many(0, 101),
            ([1], {}, []),
        ),
        (
            "the fullest with room takes them",
            [slice_of("a", *many(0, 10)), slice_of("b", *many(10, 60))],
            many(0, 62),
            ([], {"b": 52}, []),
        ),
        (
            "one that changes anyway takes them",
            [slice_of("a", *many(0, 10)), slice_of("b", *many(10, 60))],
            [*many(1, 60), "new"],
            ([], {"a": 10}, []),
        ),
        (
            "an empty one goes",
            [slice_of("a", *many(0, 2)), slice_of("b", "z")],
            many(0, 2),
            ([], {}, ["b"]),
        ),
    ],
)
def test_as_few_slices_as_can_be_are_touched(
    why: str,
    existing: list[Object],
    uids: list[str],
    expected: tuple[list[int], dict[str, int], list[str]],
) -> None:
    assert sizes(pack(existing, wanted(*uids), NEW)) == expected, why


def test_a_change_of_readiness_or_labels_is_a_change() -> None:
    there = slice_of("a", "x", labels={"of": "them"})
    assert set(pack([there], wanted("x"), NEW).changed) == {"a"}
    sick = {"x": endpoint("x", ready=False)}
    assert set(pack([slice_of("a", "x")], sick, NEW).changed) == {"a"}
    assert there["metadata"]["labels"] == {"of": "them"}
