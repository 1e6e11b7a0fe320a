"""The quota tree: what queues and cohorts have, use, lend and borrow, and how the tree changes."""

import pytest

from fleetqueue.queueing.amounts import AMOUNT_MAX, UNLIMITED, FlavorResource
from fleetqueue.queueing.model import ClusterQueue, Cohort, Quota
from fleetqueue.queueing.quota import Node, QuotaTree
from fleetqueue.testing.quota_pictures import Pictured, quota_tree

AT: FlavorResource = ("default", "gpu")
CPU: FlavorResource = ("default", "cpu")


def queue(name: str, cohort: str = "", nominal: int = 0, **limits: int) -> ClusterQueue:
    return ClusterQueue(name, cohort, quotas={AT: Quota(nominal, **limits)})


def cohort(name: str, parent: str = "", nominal: int = 0, **limits: int) -> Cohort:
    return Cohort(name, parent, {AT: Quota(nominal, **limits)} if nominal or limits else {})


def node(pictured: Pictured, name: str) -> Node:
    tree = pictured.state.tree
    return tree.queues[name] if name in tree.queues else tree.cohorts[name]


# Borrowing, in the words of people who share a cluster

LAB = """
    lab
      nlp     gpu=4  borrow=2
      vision  gpu=8  lend=4
"""

# fmt: off
CASES = {  #                                  in use      asks     answer
    "fits in its own quota":                  ("",         "nlp=4", "fit"),
    "borrows what vision lends":              ("",         "nlp=6", "borrow 2"),
    "asks for more than it may ever borrow":  ("",         "nlp=7", "never"),
    "vision's unlent half costs nlp nothing": ("vision=4", "nlp=6", "borrow 2"),
    "vision itself uses what it would lend":  ("vision=7", "nlp=6", "wait"),
    "what is borrowed already counts":        ("nlp=5",    "nlp=1", "borrow 1"),
    "the limit is on all that is borrowed":   ("nlp=5",    "nlp=2", "wait"),
    "vision takes its own first":             ("nlp=6",    "vision=6", "fit"),
    "what nlp borrowed is not there":         ("nlp=6",    "vision=7", "wait"),
    "vision borrows from nlp":                ("",         "vision=12", "borrow 4"),
    "nothing is asked for":                   ("nlp=6",    "nlp=0", "fit"),
}
# fmt: on


@pytest.mark.rule("kueue 6.3")
@pytest.mark.rule("kueue 6.5")
@pytest.mark.parametrize(("in_use", "asks", "answer"), CASES.values(), ids=CASES.keys())
def test_borrowing(in_use: str, asks: str, answer: str) -> None:
    assert quota_tree(LAB).using(in_use).ask(asks) == answer


# The worked examples of the specification

LENDING = """
    c
      cq-a  cpu=10  lend=4
      cq-b  cpu=5   borrow=3
"""


@pytest.mark.rule("kueue 6.8")
@pytest.mark.rule("kueue 6.2")
@pytest.mark.parametrize(
    ("name", "subtree", "local", "potential", "available"),
    [("cq-a", 10, 6, 15, 15), ("cq-b", 5, 0, 8, 8), ("c", 9, 0, 9, 9)],
)
def test_a_lending_limit_with_nothing_in_use(
    name: str, subtree: int, local: int, potential: int, available: int
) -> None:
    found = node(quota_tree(LENDING), name)
    assert found.subtree_quota(CPU) == subtree * 1000
    assert found.local_quota(CPU) == local * 1000
    assert found.potential(CPU) == potential * 1000
    assert found.available(CPU) == available * 1000


@pytest.mark.rule("kueue 6.8")
@pytest.mark.rule("kueue 6.3")
def test_a_lending_limit_with_seven_borrowed() -> None:
    found = quota_tree(LENDING).using("cq-b=7")
    assert node(found, "c").used(CPU) == 7000
    assert node(found, "c").available(CPU) == 2000
    assert node(found, "cq-a").available(CPU) == 8000
    assert node(found, "cq-b").available(CPU) == 1000
    assert found.ask("cq-a=9") == "wait"
    assert found.ask("cq-b=9") == "never"


HIGH_UP = """
    root  cpu=1
      child
        cq  cpu=0
"""


@pytest.mark.rule("kueue 6.8")
@pytest.mark.rule("kueue 6.5")
def test_quota_only_at_the_root() -> None:
    found = quota_tree(HIGH_UP)
    subtrees = [node(found, name).subtree_quota(CPU) for name in ("cq", "child", "root")]
    assert subtrees == [0, 0, 1000]
    assert node(found, "cq").available(CPU) == 1000
    found.using("cq=500m").using("cq=500m")
    assert node(found, "cq").borrowed(CPU) == 1000
    assert found.ask("cq=500m") == "wait"


@pytest.mark.rule("kueue 6.8")
@pytest.mark.rule("kueue 6.4")
def test_usage_goes_up_beyond_what_is_never_lent() -> None:
    found = quota_tree("c\n  cq gpu=10 lend=4")
    cq, above = node(found, "cq"), node(found, "c")
    steps = []
    for change, amount in ((cq.add, 5), (cq.add, 3), (cq.remove, 4)):
        change({AT: amount})
        steps.append((cq.used(AT), above.used(AT)))
    assert steps == [(5, 0), (8, 2), (4, 0)]


LEVELS = """
    root  gpu=4
      mid  gpu=2
        cq  gpu=1
"""


@pytest.mark.rule("kueue 6.8")
@pytest.mark.rule("kueue 5.4")
@pytest.mark.parametrize(
    ("asks", "level", "is_below_root"),
    [(0, 0, True), (1, 0, True), (2, 1, True), (3, 1, True), (4, 2, False), (9, 2, False)],
)
def test_the_borrowing_level_is_the_height_of_the_lowest_subtree_that_has_it(
    asks: int, level: int, is_below_root: bool
) -> None:
    cq = node(quota_tree(LEVELS), "cq")
    assert cq.borrowing_level(AT, asks) == (level, is_below_root)


@pytest.mark.rule("kueue 5.4")
def test_without_a_cohort_nothing_is_borrowed() -> None:
    assert node(quota_tree("cq gpu=1"), "cq").borrowing_level(AT, 5) == (0, False)


@pytest.mark.rule("kueue 5.4")
def test_what_is_never_lent_is_used_before_the_next_level_is_asked() -> None:
    found = quota_tree(
        """
        root  gpu=9
          mid  gpu=2
            cq    gpu=4  lend=1
            busy  gpu=0
        """
    )
    cq = node(found, "cq")
    assert node(found, "mid").subtree_quota(AT) == 3
    # Of 5 asked for, cq has 3 that it never lends; the other 2 fit below mid.
    assert [cq.borrowing_level(AT, asks)[0] for asks in (4, 5, 6, 7)] == [0, 1, 1, 2]
    found.using("cq=2 busy=2")
    assert [cq.borrowing_level(AT, asks)[0] for asks in (2, 3, 4)] == [0, 2, 2]


@pytest.mark.rule("kueue 5.4")
def test_height_is_the_distance_to_the_furthest_leaf() -> None:
    found = quota_tree(
        """
        root
          deep
            deeper
              a gpu=1
          b gpu=1
          empty/
        """
    )
    heights = {name: node(found, name).height for name in ("root", "deep", "deeper", "a", "empty")}
    assert heights == {"root": 3, "deep": 2, "deeper": 1, "a": 0, "empty": 0}


# The formulas one by one

# fmt: off
LOCAL = {  #                      line             subtree, local, lendable
    "no limit":                   ("gpu=5",         5, 0, 5),
    "lends a part":               ("gpu=5 lend=2",  5, 3, 2),
    "lends nothing":              ("gpu=5 lend=0",  5, 5, 0),
    "may lend more than there is": ("gpu=5 lend=9", 5, 0, 5),
    "unlimited":                  ("gpu=unlimited", UNLIMITED, 0, UNLIMITED),
    "unlimited, lends a part":    ("gpu=unlimited lend=4", UNLIMITED, UNLIMITED, 4),
    "unlimited, lends all":       ("gpu=unlimited lend=unlimited", UNLIMITED, 0, UNLIMITED),
}
# fmt: on


@pytest.mark.rule("kueue 6.2")
@pytest.mark.parametrize(("line", "subtree", "local", "lendable"), LOCAL.values(), ids=LOCAL.keys())
def test_what_stays_and_what_can_be_lent(
    line: str, subtree: int, local: int, lendable: int
) -> None:
    found = quota_tree(f"c\n  cq {line}")
    cq = node(found, "cq")
    assert (cq.subtree_quota(AT), cq.local_quota(AT), cq.lendable(AT)) == (subtree, local, lendable)
    assert node(found, "c").subtree_quota(AT) == lendable


@pytest.mark.rule("kueue 6.2")
def test_a_cohort_has_its_own_quota_and_what_its_children_lend() -> None:
    found = quota_tree(
        """
        root  gpu=1
          mid  gpu=2  lend=3
            a  gpu=4  lend=1
            b  gpu=8
          c  gpu=16
        """
    )
    assert node(found, "mid").subtree_quota(AT) == 2 + 1 + 8
    assert node(found, "mid").local_quota(AT) == 8
    assert node(found, "root").subtree_quota(AT) == 1 + 3 + 16


@pytest.mark.rule("kueue 6.2")
def test_a_cohort_counts_only_what_its_children_use_beyond_what_stays_with_them() -> None:
    found = quota_tree(
        """
        root
          mid  gpu=2  lend=1
            a  gpu=4  lend=1
            b  gpu=2
        """
    ).using("a=5 b=3")
    assert node(found, "mid").used(AT) == (5 - 3) + 3
    # mid has 2 + 1 + 2 = 5, of which it never lends 4.
    assert node(found, "root").used(AT) == 5 - 4


@pytest.mark.rule("kueue 6.3")
def test_a_tree_that_uses_more_than_it_has_has_less_than_nothing_left() -> None:
    found = quota_tree("c\n  a gpu=2\n  b gpu=2").using("a=7")
    assert node(found, "c").available(AT) == -3
    assert node(found, "b").available(AT) == -3
    assert found.ask("b=0") == "fit"
    assert found.ask("b=1") == "wait"


@pytest.mark.rule("kueue 6.3")
def test_cohorts_have_borrowing_limits_too() -> None:
    found = quota_tree(
        """
        root  gpu=10
          mid  gpu=2  borrow=3
            a  gpu=1
        """
    )
    assert node(found, "a").potential(AT) == 3 + 3
    assert node(found, "a").available(AT) == 6
    assert found.using("a=4").ask("a=2") == "borrow 2"
    assert found.ask("a=3") == "wait"
    assert found.ask("a=7") == "never"


@pytest.mark.rule("kueue 6.3")
def test_what_a_limit_keeps_local_comes_on_top_of_what_may_be_borrowed() -> None:
    found = quota_tree("c gpu=10\n  a gpu=6 lend=2 borrow=1\n  b gpu=1")
    assert node(found, "a").potential(AT) == 7
    assert node(found, "a").available(AT) == 4 + min(13, 2 + 1)
    found.using("a=5")
    assert node(found, "a").available(AT) == 0 + min(12, 2 - 1 + 1)


@pytest.mark.rule("kueue 6.5")
def test_borrowing_is_using_more_than_the_own_quota() -> None:
    found = quota_tree("c\n  a gpu=3\n  b gpu=3").using("a=3")
    a = node(found, "a")
    assert not a.borrows(AT)
    assert a.borrows(AT, 1)
    assert not node(found, "c").borrows(AT, 3)
    assert node(found, "c").borrows(AT, 4)
    assert a.is_within_nominal([AT, CPU])
    found.using("a=1")
    assert not a.is_within_nominal([CPU, AT])
    assert a.is_within_nominal([CPU])
    assert a.borrowed(AT) == 1


@pytest.mark.rule("kueue 6.5")
def test_a_cohort_knows_which_children_use_more_than_they_have() -> None:
    found = quota_tree("root\n  mid\n    a gpu=1\n  b gpu=2\n  c gpu=9")
    tree, root = found.state.tree, node(found, "root")
    start = tree.mark()
    node(found, "a").add({AT: 3})
    node(found, "b").add({AT: 2})
    assert {each.name for each in root.exceeding_children([AT, CPU])} == {"mid"}
    node(found, "b").add({AT: 1})
    node(found, "a").remove({AT: 2})
    assert {each.name for each in root.exceeding_children([AT])} == {"b"}
    tree.undo(start)
    assert list(root.exceeding_children([AT])) == []


@pytest.mark.rule("kueue 6.5")
def test_less_quota_makes_a_queue_exceed_without_any_new_usage() -> None:
    found = quota_tree("c\n  a gpu=4\n  b gpu=4").using("a=3")
    found.state.put_queue(queue("a", "c", 2))
    assert [each.name for each in node(found, "c").exceeding_children([AT])] == ["a"]
    found.state.put_queue(queue("a", "c", 3))
    assert list(node(found, "c").exceeding_children([AT])) == []


# Unlimited, and sums that are too large


@pytest.mark.rule("kueue 6.1")
def test_unlimited_quota_is_never_used_up() -> None:
    found = quota_tree("c\n  a gpu=unlimited\n  b gpu=1")
    assert found.using(f"a={2**62}").using(f"a={2**62}").ask(f"b={2**62}") != "wait"
    assert node(found, "a").used(AT) == AMOUNT_MAX
    assert node(found, "c").available(AT) == UNLIMITED


@pytest.mark.rule("kueue 6.1")
def test_an_unlimited_queue_lends_no_more_than_it_wants() -> None:
    found = quota_tree("c\n  a gpu=unlimited lend=4\n  b gpu=1")
    assert node(found, "b").potential(AT) == 5
    assert node(found, "a").potential(AT) == UNLIMITED
    # What a uses stays below its own limitless quota, so nobody else feels it.
    assert found.using("a=1000").ask("b=5") == "borrow 4"


@pytest.mark.rule("kueue 6.1")
def test_an_unlimited_borrowing_limit_is_none() -> None:
    found = quota_tree("c gpu=7\n  a gpu=1 borrow=unlimited")
    assert node(found, "a").available(AT) == 8
    assert node(found, "a").potential(AT) == 8


@pytest.mark.rule("kueue 6.1")
def test_large_quotas_add_up_to_the_largest_amount_and_not_beyond() -> None:
    most = AMOUNT_MAX - 1
    found = quota_tree(f"c\n  a gpu={most}\n  b gpu={most}")
    assert node(found, "c").subtree_quota(AT) == AMOUNT_MAX
    assert node(found, "c").available(AT) == AMOUNT_MAX
    assert node(found, "c").subtree_quota(AT) < UNLIMITED


# The tree changes


@pytest.mark.rule("kueue 6.2")
def test_a_cohort_that_is_only_named_is_there_while_somebody_names_it() -> None:
    tree = QuotaTree()
    tree.put_queue(queue("a", "team", 2))
    tree.put_queue(queue("b", "team", 3))
    assert tree.cohorts["team"].subtree_quota(AT) == 5
    tree.remove_queue("a")
    assert tree.cohorts["team"].subtree_quota(AT) == 3
    tree.put_queue(queue("b", "", 3))
    assert tree.cohorts == {}


@pytest.mark.rule("kueue 6.2")
def test_a_queue_that_moves_takes_its_quota_and_usage_along() -> None:
    found = quota_tree("old\n  a gpu=4 lend=3\n  b gpu=1\nnew\n  c gpu=2").using("a=3")
    found.state.put_queue(queue("a", "new", 4, lending_limit=3))
    old, new = node(found, "old"), node(found, "new")
    assert (old.subtree_quota(AT), old.used(AT)) == (1, 0)
    assert (new.subtree_quota(AT), new.used(AT)) == (5, 2)
    assert found.ask("b=2") == "never"
    assert found.ask("c=3") == "borrow 1"
    assert node(found, "a").path == "/new/a"


@pytest.mark.rule("kueue 6.2")
def test_a_cohort_that_moves_takes_everything_below_it_along() -> None:
    found = quota_tree("x\n  mid\n    a gpu=4\ny\n  b gpu=1").using("a=6")
    found.state.put_cohort(Cohort("mid", "y"))
    assert node(found, "x").subtree_quota(AT) == 0
    assert (node(found, "y").subtree_quota(AT), node(found, "y").used(AT)) == (5, 6)
    assert node(found, "a").path == "/y/mid/a"
    assert found.state.tree.tree_of("a") == ["a", "b"]


@pytest.mark.rule("kueue 6.2")
def test_a_removed_cohort_with_children_keeps_them_without_quota_or_parent() -> None:
    found = quota_tree("root gpu=10\n  mid gpu=5\n    a gpu=1\n  b gpu=1").using("a=3")
    found.state.remove_cohort("mid")
    mid = node(found, "mid")
    assert mid.parent is None
    assert (mid.subtree_quota(AT), mid.used(AT), mid.available(AT)) == (1, 3, -2)
    assert (node(found, "root").subtree_quota(AT), node(found, "root").used(AT)) == (11, 0)
    found.state.put_cohort(cohort("mid", "root", 5))
    assert node(found, "a").available(AT) == 17 - 3


@pytest.mark.rule("kueue 6.2")
def test_a_removed_cohort_without_children_is_gone() -> None:
    found = quota_tree("root gpu=10\n  mid/ gpu=5\n  b gpu=1")
    found.state.remove_cohort("mid")
    assert "mid" not in found.state.tree.cohorts
    assert node(found, "root").subtree_quota(AT) == 11
    found.state.remove_cohort("never-seen")


@pytest.mark.rule("kueue 6.2")
def test_a_queue_and_a_cohort_may_have_the_same_name() -> None:
    found = quota_tree("top gpu=1\n  same/ gpu=2")
    found.state.put_queue(queue("same", "top", 4))
    assert node(found, "top").subtree_quota(AT) == 7
    found.state.remove_queue("same")
    assert node(found, "top").subtree_quota(AT) == 3


# Cohorts that form a cycle


def cyclic() -> Pictured:
    """Two cohorts, each the parent of the other, and a queue below; another tree stands apart."""
    found = quota_tree("x gpu=2\n  y gpu=3\n    a gpu=4\nz\n  b gpu=1").using("a=1")
    found.state.put_cohort(cohort("x", "y", 2))
    return found


@pytest.mark.rule("kueue 5.1")
@pytest.mark.rule("kueue 6.2")
def test_cohorts_in_a_cycle_are_noticed_and_disturb_nobody() -> None:
    found = cyclic()
    tree = found.state.tree
    lost = ["x", "y", "a"]
    assert [tree.has_cycle(node(found, name)) for name in lost] == [True] * 3
    assert not tree.has_cycle(node(found, "b"))
    assert found.ask("b=1") == "fit"
    assert tree.tree_of("a") == ["a"]


@pytest.mark.rule("kueue 6.6")
def test_usage_below_a_cycle_is_still_counted() -> None:
    found = cyclic().using("a=2")
    assert node(found, "a").used(AT) == 3
    assert node(found, "a").available(AT) == 1
    assert node(found, "a").path == "/a"
    node(found, "a").remove({AT: 1})
    found.state.put_cohort(cohort("x", "", 2))
    assert [node(found, name).used(AT) for name in ("a", "y", "x")] == [2, 2, 2]
    assert node(found, "a").available(AT) == 2 + 3 + 4 - 2
    assert node(found, "a").path == "/x/y/a"
    assert not found.state.tree.has_cycle(node(found, "a"))


@pytest.mark.rule("kueue 6.2")
def test_a_cohort_that_is_its_own_parent_is_a_cycle_too() -> None:
    found = quota_tree("x gpu=2\n  a gpu=1")
    found.state.put_cohort(cohort("x", "x", 2))
    assert found.state.tree.has_cycle(node(found, "a"))
    assert found.using("a=1").ask("a=1") == "wait"
    found.state.remove_cohort("x")
    assert not found.state.tree.has_cycle(node(found, "a"))
    assert node(found, "a").path == "/x/a"


@pytest.mark.rule("kueue 6.2")
def test_what_hangs_on_a_cycle_comes_back_when_any_part_of_it_is_moved_out() -> None:
    found = cyclic()
    found.state.put_queue(queue("late", "x", 8))
    assert found.state.tree.has_cycle(node(found, "late"))
    found.state.put_cohort(cohort("y", "z", 3))
    assert node(found, "late").path == "/z/y/x/late"
    assert node(found, "z").subtree_quota(AT) == 2 + 3 + 4 + 1 + 8
    assert node(found, "z").used(AT) == 1


@pytest.mark.rule("kueue 6.2")
def test_a_queue_leaves_a_cycle_by_itself() -> None:
    found = cyclic()
    found.state.put_queue(queue("a", "z", 4))
    assert not found.state.tree.has_cycle(node(found, "a"))
    assert node(found, "z").used(AT) == 1
    assert found.state.tree.has_cycle(node(found, "x"))


# Trying and taking back


@pytest.mark.rule("kueue 6.4")
def test_what_was_tried_is_taken_back() -> None:
    found = quota_tree("c\n  a gpu=4 lend=1\n  b gpu=4").using("a=3")
    tree = found.state.tree
    outer = tree.mark()
    node(found, "a").add({AT: 3})
    inner = tree.mark()
    node(found, "b").add({AT: 2, CPU: 1})
    node(found, "a").remove({AT: 5})
    tree.undo(inner)
    assert [node(found, name).usage for name in ("a", "b", "c")] == [{AT: 6}, {}, {AT: 3}]
    tree.undo(outer)
    assert [node(found, name).usage for name in ("a", "b", "c")] == [{AT: 3}, {}, {}]


@pytest.mark.rule("kueue 6.4")
def test_changes_since_a_moment_are_known_even_if_some_were_undone() -> None:
    found = quota_tree("c\n  a gpu=4\n  b gpu=4\nd gpu=1")
    tree = found.state.tree
    start = tree.mark()
    node(found, "a").add({AT: 1})
    position = tree.position()
    assert tree.changed_since(position) == set()
    node(found, "b").add({AT: 1})
    assert tree.changed_since(position) == {node(found, "b"), node(found, "c")}
    tree.undo(start)
    node(found, "d").add({AT: 1})
    assert tree.changed_since(position) is None


@pytest.mark.rule("kueue 6.2")
def test_a_queue_that_moves_up_is_counted_once() -> None:
    """Its unlimited quota leaves a cohort below the one that it moves to."""
    tree = QuotaTree()
    at = ("spot", "gpu")
    tree.put_cohort(Cohort("low", "high"))
    tree.put_queue(ClusterQueue("q", "low", quotas={at: Quota(UNLIMITED)}))

    tree.put_queue(ClusterQueue("q", "high", quotas={at: Quota(1)}))

    assert tree.cohorts["high"].subtree_quota(at) == 1
    assert tree.queues["q"].available(at) == 1
