"""How often a workload would fit into the queues of a worker."""

from typing import Any

import pytest

from fleetqueue.multikueue.worker_quota import Room, demands_of, room_for
from support.offered import cluster_queue, workload

Json = dict[str, Any]
pytestmark = pytest.mark.rule("LIM-5")


def room(queue: Json, *others: Json, **asked: str) -> Room:
    return room_for(demands_of(workload(**asked)), queue, [queue, *others])


def shared(name: str, cpu: str, **more: Any) -> Json:
    return cluster_queue(name, default=f"cpu={cpu}", cohort="all", **more)


# fmt: off
ROOMS = {  #                               queues                                  own free nominal
    "all of it is free":         ([cluster_queue(default="cpu=8")],                     (4, 4, 4)),
    "some is taken":
        ([cluster_queue(default="cpu=8", used="default: cpu=5")],                       (1, 1, 4)),
    "all is taken":
        ([cluster_queue(default="cpu=8", used="default: cpu=8")],                       (0, 0, 4)),
    "another lends":             ([shared("a", "4"), shared("b", "4")],                 (2, 4, 2)),
    "another lends some":        ([shared("a", "4"), shared("b", "4", lend="2")],       (2, 3, 2)),
    "a limit of borrowing":      ([shared("a", "4", borrow="0"), shared("b", "4")],     (2, 2, 2)),
    "another took what is ours": ([shared("a", "4"), shared("b", "0", used="default: cpu=4")],
                                                                                        (0, 0, 2)),
    "what we do not lend nobody took":
        ([shared("a", "4", lend="0"), shared("b", "0", used="default: cpu=4")],         (2, 2, 2)),
    "it borrows already":
        ([shared("a", "4", used="default: cpu=6"), shared("b", "4")],                   (0, 1, 2)),
    "another cohort lends nothing":
        ([cluster_queue("a", default="cpu=4"), shared("b", "4")],                       (2, 2, 2)),
}
# fmt: on


@pytest.mark.parametrize(("queues", "found"), ROOMS.values(), ids=ROOMS.keys())
def test_room_for_two_cpu(queues: list[Json], found: tuple[int, int, int]) -> None:
    assert room(*queues, cpu="2") == Room(*found)


def test_groups_of_resources_choose_their_flavors_alone() -> None:
    queue = cluster_queue(a="cpu=2", b="cpu=8")
    queue["spec"]["resourceGroups"] += cluster_queue(g="gpu=3")["spec"]["resourceGroups"]

    assert room(queue, cpu="2", gpu="1").guaranteed == 3


def test_pod_sets_that_do_not_fit_together_take_two_flavors() -> None:
    two = workload(cpu="3")
    two["spec"]["podSets"] += [{**two["spec"]["podSets"][0], "name": "more"}]
    two["status"] = {}
    queue = cluster_queue(a="cpu=4", b="cpu=4")

    assert room_for(demands_of(two), queue, [queue]).guaranteed == 1


def test_a_resource_without_quota_never_fits() -> None:
    assert room(cluster_queue(default="cpu=8"), cpu="1", gpu="1") == Room(0, 0, 0)


def test_what_is_remembered_of_a_queue_holds_for_one_version_of_it() -> None:
    queue = cluster_queue(default="cpu=8")
    queue["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    later = cluster_queue(default="cpu=8", used="default: cpu=8")
    later["metadata"] |= {"uid": "u", "resourceVersion": "2"}

    found = [room(each, cpu="2").guaranteed for each in (queue, queue, later, queue)]

    assert found == [4, 4, 0, 4]


def test_what_is_remembered_of_a_cohort_holds_for_one_version_of_each_queue() -> None:
    ours = shared("a", "4")
    ours["metadata"] |= {"uid": "a", "resourceVersion": "1"}
    other, later = shared("b", "4"), shared("b", "4", used="default: cpu=4")
    other["metadata"] |= {"uid": "b", "resourceVersion": "1"}
    later["metadata"] |= {"uid": "b", "resourceVersion": "2"}

    assert [room(ours, each, cpu="2").free for each in (other, later, other)] == [4, 2, 4]
