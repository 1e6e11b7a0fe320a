"""Dominant resource shares, and whose turn it is where queues share fairly."""

from math import inf

import pytest

from fleetqueue.api.quantity import Quantity
from fleetqueue.queueing.amounts import AMOUNT_MAX
from fleetqueue.queueing.fairness import Share, Tournament, share
from fleetqueue.queueing.reading_queues import read_weight
from fleetqueue.queueing.settings import FairSharing, Settings
from fleetqueue.queueing.workload import Workload
from fleetqueue.testing.quota_pictures import Pictured, quota_tree, workload

FAIR = Settings(fair_sharing=FairSharing())

THREE = """
    pool
      cq-1  cpu=9 {weight}
      cq-2  cpu=9
      cq-3  cpu=9
"""


@pytest.mark.rule("kueue 7.6")
@pytest.mark.rule("kueue 7.10")
@pytest.mark.parametrize(
    ("weight", "reported", "precise"),
    [
        ("", 112, 3000 / 27),
        ("weight=2", 56, 1500 / 27),
        ("weight=0.5", 223, 6000 / 27),
        ("weight=0", AMOUNT_MAX, inf),
    ],
)
def test_a_share_is_what_is_borrowed_of_what_can_be_over_the_weight(
    weight: str, reported: int, precise: float
) -> None:
    found = quota_tree(THREE.format(weight=weight)).using("cq-1=12")
    assert share(found.state.node("cq-1")).reported == reported
    assert share(found.state.node("cq-1")).precise == pytest.approx(precise)
    assert share(found.state.node("cq-2")).reported == 0


@pytest.mark.rule("kueue 7.6")
@pytest.mark.parametrize("weight", ["0.29", "290m", "0.57", "0.07", "1.1", "0.3"])
def test_a_weight_counts_as_it_is_written(weight: str) -> None:
    read = read_weight({"fairSharing": {"weight": weight}})
    hundredths = int(Quantity.of(weight).milli_value() // 10)
    assert Share(hundredths, 100, read).reported == 1000


@pytest.mark.rule("kueue 7.6")
def test_nothing_borrowed_is_no_share_whatever_the_weight() -> None:
    found = quota_tree(THREE.format(weight="weight=0")).using("cq-1=9")
    assert share(found.state.node("cq-1")).reported == 0
    assert not share(found.state.node("cq-1")).is_infinite
    assert not share(found.state.node("cq-1")).is_borrowing


@pytest.mark.rule("kueue 7.6")
def test_what_has_no_parent_has_no_share() -> None:
    found = quota_tree("pool\n  a cpu=1\nalone cpu=1").using("alone=5 a=5")
    assert share(found.state.node("alone")).reported == 0
    assert share(found.state.tree.cohorts["pool"]).reported == 0


@pytest.mark.rule("kueue 7.6")
def test_extra_usage_counts_as_if_it_were_there() -> None:
    found = quota_tree(THREE.format(weight="")).using("cq-1=8")
    node = found.state.node("cq-1")
    assert share(node, {("default", "cpu"): 4000}) == Share(3, 27)
    assert share(node, {("other", "cpu"): 27000}) == Share(27, 27)
    assert share(node) == Share()


SEVERAL = """
    pool  memory=10
      a  cpu=10   gpu=4  spot:cpu=10
      b  cpu=10   gpu=4
"""


@pytest.mark.rule("kueue 7.6")
@pytest.mark.parametrize(
    ("in_use", "reported", "resource"),
    [
        ("a:cpu=13", 100, "cpu"),
        # What is over in one flavor is not made up for by what is free in another.
        ("a:cpu=13 a:spot:cpu=2", 100, "cpu"),
        ("a:cpu=13 a:spot:cpu=13", 200, "cpu"),
        ("a:cpu=13 a:gpu=5", 125, "gpu"),
        ("a:memory=3", 300, "memory"),
        # Of two that are equal, the first by name.
        ("a:cpu=25 a:gpu=8", 500, "cpu"),
    ],
)
def test_the_dominant_resource_counts(in_use: str, reported: int, resource: str) -> None:
    found = share(quota_tree(SEVERAL).using(in_use).state.node("a"))
    assert (found.reported, found.resource) == (reported, resource)


@pytest.mark.rule("kueue 7.6")
def test_what_cannot_be_lent_does_not_count_but_is_borrowed() -> None:
    found = quota_tree("pool\n  a gpu=0\n  b gpu=0").using("a=3")
    assert share(found.state.node("a")).reported == 0
    assert share(found.state.node("a")).is_borrowing


@pytest.mark.rule("kueue 7.6")
def test_lendable_is_what_the_parent_could_get_at_most() -> None:
    tree = """
        root  gpu=10
          mid  gpu=2  borrow=3
            a  gpu=0
            b  gpu=1
    """
    found = quota_tree(tree).using("a=2 b=3")
    assert share(found.state.node("a")).reported == 1000 * 2 // 6 + 1
    # mid uses 5 of its 3 and could get what the root has: 13.
    assert share(found.state.tree.cohorts["mid"]) == Share(2, 13)


@pytest.mark.rule("kueue 7.6")
def test_lendable_follows_the_tree() -> None:
    found = quota_tree("pool gpu=10\n  a gpu=0").using("a=2")
    assert share(found.state.node("a")).reported == 200
    found.state.put_cohort(quota_tree("pool/ gpu=4").state.cohorts["pool"])
    assert share(found.state.node("a")).reported == 500


@pytest.mark.rule("kueue 7.6")
def test_infinite_shares_are_compared_by_what_is_borrowed() -> None:
    small, big = Share(1, 10, weight=0), Share(2, 10, weight=0)
    finite, none = Share(9, 10, weight=1e-9), Share(weight=0)
    assert none < finite < small < big
    assert sorted([big, none, small, finite]) == [none, finite, small, big]
    assert small == Share(2, 20, weight=0)
    assert small <= Share(1, 10, weight=0)
    assert hash(Share(1, 10)) == hash(Share(2, 20)) == hash(Share(2, 10, weight=2))
    assert Share(1, 10) != "a tenth"


@pytest.mark.rule("kueue 7.6")
def test_comparing_is_exact() -> None:
    huge = 2**62
    assert Share(huge, huge + 1) < Share(huge + 1, huge + 2)
    assert Share(1, 3, weight=3) == Share(1, 9)


# The tournament


def order(found: Pictured, lines: str, **more: object) -> list[str]:
    """The order in which entries come when each is admitted in its turn."""
    entries = [workload(line, number) for number, line in enumerate(lines.split(";"))]
    came = []
    for each in Tournament(found.state, entries, Workload.usage, lambda entry: entry, **more):  # type: ignore[arg-type]
        came.append(each.key.name)
        found.state.node(each.cluster_queue).add(each.usage())
    return came


POOL = "pool gpu=12\n  a gpu=0\n  b gpu=0\n  c gpu=0"

# fmt: off
ORDERS = {
    "the lower share goes first": (
        POOL, "a=3 b=1 c=2", "x@a gpu=1; y@b gpu=1; z@c gpu=1", "y z x"),
    "the share is that with the workload": (
        POOL, "a=3 b=1", "x@a gpu=1; y@b gpu=5", "x y"),
    "then priority": (
        POOL, "", "x@a gpu=1; y@b gpu=1 priority=2; z@c gpu=1 priority=1", "y z x"),
    "then time": (
        POOL, "", "x@a gpu=1 created=3; y@b gpu=1 created=1; z@c gpu=1 created=2", "y z x"),
    "then the UID": (
        POOL, "", "x@a gpu=1 created=1 uid=3; y@b gpu=1 created=1 uid=1; z@c gpu=1 created=1 uid=2",
        "y z x"),
    "weights": (
        "pool gpu=12\n  a gpu=0 weight=3\n  b gpu=0", "a=2 b=1", "x@a gpu=1; y@b gpu=1", "x y"),
    "what does not borrow goes before what does, whatever the shares": (
        "pool gpu=9\n  a gpu=0 weight=1000\n  b gpu=3 weight=0.001",
        "", "x@a gpu=1 priority=9; y@b gpu=3", "y x"),
    "by the resources it asks for": (
        "pool gpu=9 cpu=9\n  a gpu=0 cpu=1\n  b gpu=1 cpu=1",
        "b:gpu=9", "x@a gpu=1 priority=9; y@b cpu=1", "y x"),
    "without a cohort it is next by priority and time": (
        "alone gpu=1\nother gpu=1\npool\n  a gpu=1", "",
        "x@alone gpu=9; y@a gpu=1; z@other priority=1", "z x y"),
    "cohorts share by subtree first": (
        "root gpu=12\n  left\n    a gpu=0\n    b gpu=0\n  right\n    c gpu=0", "a=1 b=3 c=3",
        "x@a gpu=1; y@b gpu=1; z@c gpu=1", "z x y"),
    "and inside by queue": (
        "root gpu=12\n  left\n    a gpu=0\n    b gpu=0\n  right\n    c gpu=0", "a=2 b=1 c=9",
        "x@a gpu=1; y@b gpu=1; z@c gpu=1", "y x z"),
    "two of one queue": (
        POOL, "b=2", "x@a gpu=2; y@a gpu=1 created=9; z@b gpu=1", "y x z"),
}
# fmt: on


@pytest.mark.rule("kueue 7.5")
@pytest.mark.rule("kueue 13.3")
@pytest.mark.parametrize(("tree", "in_use", "lines", "came"), ORDERS.values(), ids=ORDERS.keys())
def test_whose_turn_it_is(tree: str, in_use: str, lines: str, came: str) -> None:
    assert order(quota_tree(tree, FAIR).using(in_use), lines) == came.split()


@pytest.mark.rule("kueue 7.5")
def test_shares_are_looked_at_anew_after_each_entry() -> None:
    """Of the two entries of left, the second waits for right once the first was admitted."""
    tree = "root gpu=12\n  left\n    a gpu=0\n    b gpu=0\n  right\n    c gpu=0"
    found = quota_tree(tree, FAIR).using("c=1")
    assert order(found, "x@a gpu=1; y@b gpu=1; z@c gpu=1") == ["x", "y", "z"]
    found = quota_tree(tree, FAIR).using("c=1")
    assert order(found, "x@a gpu=2; y@b gpu=1; z@c gpu=1") == ["y", "z", "x"]
    found = quota_tree(tree, FAIR).using("c=2")
    assert order(found, "x@a gpu=2 priority=-1; y@b gpu=2; z@c gpu=1") == ["y", "z", "x"]


@pytest.mark.rule("kueue 7.5")
def test_usage_of_others_that_changes_in_between_counts() -> None:
    found = quota_tree(POOL, FAIR)
    state = found.state
    entries = [workload(line) for line in ("x@a gpu=1", "y@b gpu=2", "z@c gpu=3")]
    tournament = Tournament(state, entries, Workload.usage, lambda entry: entry)
    start = state.mark()
    assert next(tournament) is entries[0]
    state.node("b").add({("default", "gpu"): 4})
    assert next(tournament) is entries[2]
    state.undo(start)
    assert next(tournament) is entries[1]
    assert list(tournament) == []


@pytest.mark.rule("kueue 7.5")
def test_what_was_undone_before_the_last_entry_is_noticed() -> None:
    found = quota_tree(POOL, FAIR)
    state = found.state
    entries = [workload(line) for line in ("x@a gpu=1", "y@b gpu=2", "z@c gpu=3")]
    start = state.mark()
    state.node("b").add({("default", "gpu"): 4})
    tournament = Tournament(state, entries, Workload.usage, lambda entry: entry)
    assert next(tournament) is entries[0]
    state.undo(start)
    state.node("a").add({("default", "gpu"): 1})
    assert next(tournament) is entries[1]


@pytest.mark.rule("kueue 7.5")
def test_without_the_preference_for_what_does_not_borrow_shares_decide() -> None:
    tree = "pool gpu=9 cpu=9\n  a gpu=3 cpu=9\n  b gpu=0 cpu=9 weight=1000"
    settings = Settings(fair_sharing=FairSharing(prefers_non_borrowing=False))
    lines = "x@a gpu=3; y@b gpu=1"
    in_use = "a:cpu=10"
    assert order(quota_tree(tree, FAIR).using(in_use), lines) == ["x", "y"]
    assert order(quota_tree(tree, settings).using(in_use), lines) == ["y", "x"]


@pytest.mark.rule("kueue 7.5")
def test_preemptors_first_where_that_is_asked_for() -> None:
    lines = "x@a gpu=1; y@b gpu=5"

    def is_preemptor(entry: Workload) -> bool:
        return entry.key.name == "y"

    found = quota_tree(POOL, Settings(fair_sharing=FairSharing(), prefers_preemptors=True))
    assert order(found, lines, is_preemptor=is_preemptor) == ["y", "x"]
    assert order(quota_tree(POOL, FAIR), lines, is_preemptor=is_preemptor) == ["x", "y"]


@pytest.mark.rule("kueue 7.5")
def test_priority_is_left_out_where_it_is_not_to_count() -> None:
    lines = "x@a gpu=1; y@b gpu=1 priority=5"
    settings = Settings(fair_sharing=FairSharing(), sorts_by_priority=False)
    assert order(quota_tree(POOL, settings), lines) == ["x", "y"]


@pytest.mark.rule("kueue 7.5")
def test_admissions_alternate_so_that_shares_stay_level() -> None:
    found = quota_tree(POOL, FAIR)
    waiting = {
        queue: [workload(f"{queue}{n}@{queue} gpu=1", n) for n in range(4)] for queue in "abc"
    }
    came = ""
    while any(waiting.values()):
        heads = [entries[0] for entries in waiting.values() if entries]
        head = next(Tournament(found.state, heads, Workload.usage, lambda entry: entry))
        found.state.node(head.cluster_queue).add(head.usage())
        waiting[head.cluster_queue].pop(0)
        came += head.cluster_queue
    assert came == "abc" * 4
