"""The revisions of a Deployment."""

import pytest

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import deployment_revisions as revisions
from support import apps

pytestmark = pytest.mark.rule("jobs B.2.3")


def deployment(**annotations: str) -> Object:
    made = apps.workload("Deployment", replicas=3)
    made["metadata"] |= {"uid": "1", "annotations": annotations}
    made["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    return made


def replica_set(name: str, image: str, **annotations: str) -> Object:
    made = apps.workload("ReplicaSet", name)
    made["spec"]["template"] = apps.template(image, app="web", **{"pod-template-hash": name})
    made["metadata"] |= {"annotations": annotations, "creationTimestamp": f"2026-01-0{len(name)}"}
    return made


def numbered(name: str, number: str, **more: str) -> Object:
    made = replica_set(name, "one")
    made["metadata"]["annotations"] = {revisions.REVISION: number, **more}
    return made


def test_the_new_one_has_the_same_template_but_for_the_hash() -> None:
    sets = [replica_set("bb", "one"), replica_set("a", "one"), replica_set("c", "two")]
    found = revisions.find_new(deployment(), sets)
    assert found is sets[1], "the oldest where there are two"
    assert revisions.find_new(deployment(), sets[2:]) is None


@pytest.mark.parametrize(
    ("numbers", "newest", "last"),
    [(["1"], 1, 0), (["1", "2"], 2, 1), (["7", "3", "5"], 7, 5), ([], 0, 0), (["x", "2"], 2, 0)],
)
def test_the_newest_and_the_one_before(numbers: list[str], newest: int, last: int) -> None:
    sets = [numbered(f"s{number}", number) for number in numbers]
    assert revisions.newest_revision(sets) == newest
    assert revisions.last_revision(sets) == last


def test_annotations_are_handed_on_but_for_those_of_the_machinery() -> None:
    parent = deployment(**{"kubernetes.io/change-cause": "why", revisions.REVISION: "9"})
    parent["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
    made = revisions.annotations_of_new(parent, replica_set("a", "one"), 2)
    assert made == {"kubernetes.io/change-cause": "why", revisions.REVISION: "2"}


@pytest.mark.parametrize(
    ("known", "history", "number", "expected"),
    [
        ("3", "", 3, ("3", None)),
        ("3", "", 2, ("3", None)),
        ("1", "", 3, ("3", "1")),
        ("3", "1", 5, ("5", "1,3")),
        ("x", "", 5, ("x", None)),
        ("7", ",".join(["1234"] * 400), 8, ("8", ",".join([*["1234"] * 399, "7"]))),
    ],
)
def test_a_replica_set_that_is_used_again_remembers_its_numbers(
    known: str, history: str, number: int, expected: tuple[str, str | None]
) -> None:
    there = numbered("a", known, **({revisions.HISTORY: history} if history else {}))
    made = revisions.annotations_of_new(deployment(), there, number)
    assert (made[revisions.REVISION], made.get(revisions.HISTORY)) == expected


def test_a_new_replica_set_has_the_hash_in_name_labels_and_selector() -> None:
    made = revisions.new_replica_set(deployment(), 4, 2, 0)
    hashed = made["metadata"]["labels"]["pod-template-hash"]
    assert made["metadata"]["name"] == f"web-{hashed}"
    assert made["spec"]["selector"]["matchLabels"]["pod-template-hash"] == hashed
    assert made["spec"]["template"]["metadata"]["labels"]["pod-template-hash"] == hashed
    assert made["metadata"]["annotations"] == {
        revisions.REVISION: "4",
        "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
    }
    other = revisions.new_replica_set(deployment(), 4, 2, 1)
    assert other["metadata"]["name"] != made["metadata"]["name"]


def test_a_long_name_is_cut_to_make_room_for_the_hash() -> None:
    parent = deployment()
    parent["metadata"]["name"] = "d" * 253
    assert len(revisions.new_replica_set(parent, 1, 1, 0)["metadata"]["name"]) == 253
