"""What becomes of the slices of an elastic job."""

from typing import Any

import pytest

from fleetqueue.jobs.slices import arrange, slice_annotations

pytestmark = [pytest.mark.rule("jobs A.9"), pytest.mark.rule("kueue 9.9")]

Json = dict[str, Any]


def slices(picture: str) -> list[Json]:
    """`a3r b5>a` is a slice of three pods that holds quota, and one of five that is to replace
    it; e is evicted, f finished.
    """
    made = []
    for index, text in enumerate(picture.split()):
        body, _, replaced = text.partition(">")
        name, count = body[0], int(body[1:].rstrip("ref"))
        marks = {"r": "QuotaReserved", "e": "Evicted", "f": "Finished"}
        held = [{"type": marks[mark], "status": "True"} for mark in body[2:] if mark in marks]
        annotations = {"kueue.x-k8s.io/workload-slice-name": "a"}
        if replaced:
            annotations["kueue.x-k8s.io/workload-slice-replacement-for"] = f"ns/{replaced}"
        made.append(
            {
                "metadata": {
                    "name": name,
                    "namespace": "ns",
                    "uid": f"uid-{name}",
                    "creationTimestamp": f"2026-01-01T00:00:0{index}Z",
                    "annotations": annotations,
                },
                "spec": {"podSets": [{"name": "main", "count": count}]},
                "status": {"conditions": held},
            }
        )
    return made


def told(picture: str, count: int) -> str:
    """`current, size to get, what is replaced, what is finished and why`."""
    found = arrange(slices(picture), {"main": count})
    words = [found.current["metadata"]["name"] if found.current else "-"]
    if found.counts is not None:
        words.append(f"resize {found.counts['main']}")
    if found.replaces is not None:
        words.append(f"replace {found.replaces['metadata']['name']}")
    words += [f"end {each['metadata']['name']} {why}" for each, why in found.finished]
    return ", ".join(words)


# fmt: off
CASES = {  #                                      slices              pods   answer
    "none yet":                                   ("",                3,     "-"),
    "only ended ones":                            ("a3f",             3,     "-"),
    "as it should be":                            ("a3r",             3,     "a"),
    "shrinks":                                    ("a3r",             2,     "a, resize 2"),
    "grows without quota":                        ("a3",              5,     "a, resize 5"),
    "grows with quota":                           ("a3r",             5,     "a, replace a"),
    "is evicted and wants to grow":               ("a3re",            5,     "a"),
    "waits to be replaced":                       ("a3r b5>a",        5,     "b"),
    "the one that waits grows":                   ("a3r b5>a",        7,     "b, resize 7"),
    "the new one holds quota":                    ("a3r b5r>a",       5,
                                                   "b, end a WorkloadSliceReplaced"),
    "the old one is evicted":                     ("a3re b5>a",       5,
                                                   "a, end b OutOfSync"),
    "a replacement of what is gone":              ("a3r b5>a c6>x",   5,
                                                   "b, end c OutOfSync"),
    "nobody holds quota":                         ("a3 b5>a",         5,
                                                   "b, end a WorkloadSliceReplaced"),
}
# fmt: on


@pytest.mark.parametrize(("picture", "count", "answer"), CASES.values(), ids=CASES.keys())
def test_slices(picture: str, count: int, answer: str) -> None:
    assert told(picture, count) == answer


@pytest.mark.parametrize("order", ["abc", "cba", "bca"])
def test_of_one_second_whoever_replaces_another_is_younger(order: str) -> None:
    """Times have no more than seconds, and a uid says nothing."""
    made = slices("a3rf b5r>a c6r>b")
    for each in made:
        each["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        each["metadata"]["uid"] = f"uid-{order.index(each['metadata']['name'])}"
    found = arrange(made, {"main": 6})
    assert found.current is made[2]
    assert found.finished == [(made[1], "WorkloadSliceReplaced")]


def test_all_slices_carry_the_name_of_the_first() -> None:
    first = slice_annotations("a", None)
    assert first == {
        "kueue.x-k8s.io/elastic-job": "true",
        "kueue.x-k8s.io/workload-slice-name": "a",
    }
    second = slice_annotations("b", slices("a3r")[0])
    assert second["kueue.x-k8s.io/workload-slice-name"] == "a"
    assert second["kueue.x-k8s.io/workload-slice-replacement-for"] == "ns/a"
