"""Preemption by fair shares: who gives way to whom, by which strategy, and in which order."""

import pytest

from fleetqueue.queueing.preemption.fair import almost_common
from fleetqueue.queueing.settings import FairSharing, Settings
from fleetqueue.testing.quota_pictures import Pictured, quota_tree

pytestmark = [pytest.mark.rule("kueue 7.7"), pytest.mark.rule("kueue 13.3")]

OWN = "InClusterQueue"
RECLAIM = "InCohortReclamation"
FAIR = "InCohortFairSharing"

BOTH = Settings(fair_sharing=FairSharing())
FINAL = Settings(fair_sharing=FairSharing(("LessThanOrEqualToFinalShare",)))
INITIAL = Settings(fair_sharing=FairSharing(("LessThanInitialShare",)))
STRICT = Settings(fair_sharing=FairSharing(preempts_within_nominal=False))

SHARED = """
    pool  gpu=10
      a  gpu=0  reclaim=Any
      b  gpu=0  reclaim=Any
"""


def units(queue: str, count: int, size: int = 1) -> str:
    return "; ".join(f"{queue}{number}@{queue} gpu={size}" for number in range(1, count + 1))


def running(tree: str, settings: Settings, **counts: int) -> Pictured:
    return quota_tree(tree, settings).running(
        ";".join(units(queue, count) for queue, count in counts.items())
    )


# fmt: off
UNITS = {  #                                     a  b  the last of a goes?
    "far below":                                (8, 2, f"a8 {FAIR}"),
    "equal afterwards":                         (6, 4, f"a6 {FAIR}"),
    "they would only change places":            (5, 5, "nobody"),
    "far above":                                (2, 8, "nobody"),
}
# fmt: on


@pytest.mark.rule("kueue 7.10")
@pytest.mark.parametrize("settings", [FINAL, BOTH], ids=["final share", "both"])
@pytest.mark.parametrize(("a", "b", "goes"), UNITS.values(), ids=UNITS.keys())
def test_one_unit_more_for_b(settings: Settings, a: int, b: int, goes: str) -> None:
    assert running(SHARED, settings, a=a, b=b).preempt("w@b gpu=1") == goes


@pytest.mark.parametrize(
    ("a", "b", "goes"), [(8, 2, f"a8 {FAIR}"), (6, 4, f"a6 {FAIR}"), (5, 5, "nobody")]
)
def test_by_the_initial_share(a: int, b: int, goes: str) -> None:
    assert running(SHARED, INITIAL, a=a, b=b).preempt("w@b gpu=1") == goes


@pytest.mark.parametrize("settings", [FINAL, INITIAL, BOTH], ids=["final", "initial", "both"])
def test_an_equal_initial_share_is_not_less(settings: Settings) -> None:
    assert running(SHARED.replace("10", "11"), settings, a=6, b=5).preempt("w@b gpu=1") == "nobody"


def test_after_preemption_nobody_can_preempt_back() -> None:
    """What b took from a, a cannot take back: there is no ping-pong."""
    found = running(SHARED, BOTH, a=6, b=4)
    (target,) = found.targets("w@b gpu=1")
    found.state.release(target.workload.key)
    found.running("w@b gpu=1")
    assert found.preempt("a6@a gpu=1") == "nobody"


@pytest.mark.parametrize(
    ("settings", "goes"),
    [(FINAL, "nobody"), (INITIAL, f"big {FAIR}"), (BOTH, f"big {FAIR}")],
    ids=["final share", "initial share", "both"],
)
def test_the_second_strategy_takes_what_is_too_big_for_the_first(
    settings: Settings, goes: str
) -> None:
    """Without its one big workload a would have nothing, less than b then has."""
    found = quota_tree(SHARED, settings).running("big@a gpu=9; b1@b gpu=1")
    assert found.preempt("w@b gpu=2") == goes


def test_the_first_strategy_passes_over_what_is_too_big() -> None:
    """The later one is too big to lose; the earlier and smaller one goes."""
    found = quota_tree(SHARED, FINAL).running("small@a gpu=2; big@a gpu=6; b1@b gpu=2")
    assert found.preempt("w@b gpu=2") == f"small {FAIR}"


def test_the_second_strategy_gives_each_queue_one_chance() -> None:
    tree = "pool gpu=12\n  a gpu=0\n  b gpu=0 reclaim=Any\n  c gpu=0"
    found = quota_tree(tree, BOTH).running("a1@a gpu=3; a2@a gpu=3; c1@c gpu=3; c2@c gpu=3")
    # Without any of them its queue would have 3, less than the 4 or 5 that b asks for. So the
    # first strategy takes nobody, and the second takes one of each.
    assert found.preempt("w@b gpu=4") == f"c2 {FAIR}, a2 {FAIR}"
    assert found.preempt("w@b gpu=5") == f"c2 {FAIR}, a2 {FAIR}"


# Quota of one's own

NOMINAL = """
    pool
      a  gpu=3
      b  gpu=3  reclaim=Any
      c  gpu=3
"""


def test_what_is_within_its_own_quota_is_owed_to_it() -> None:
    found = quota_tree(NOMINAL, BOTH).running("big@a gpu=9")
    assert found.preempt("w@b gpu=3") == f"big {RECLAIM}"


def test_unless_that_is_turned_off() -> None:
    """Then shares decide: nothing borrowed is less than what a would have without it, or not."""
    found = quota_tree(NOMINAL, STRICT).running("big@a gpu=9")
    assert found.preempt("w@b gpu=3") == f"big {FAIR}"
    found = quota_tree(NOMINAL, STRICT).running("a1@a gpu=4; a2@a gpu=2; c1@c gpu=3")
    assert found.preempt("w@b gpu=2") == f"a2 {FAIR}"


def test_nobody_gives_way_who_does_not_borrow() -> None:
    tree = "pool\n  a gpu=3\n  b gpu=3 reclaim=Any\n  c gpu=0"
    found = quota_tree(tree, BOTH).running("a1@a gpu=3; c1@c gpu=3")
    assert found.preempt("w@b gpu=2") == f"c1 {RECLAIM}"
    found = quota_tree(tree, BOTH).running("a1@a gpu=3; b1@b gpu=3 priority=9")
    assert found.preempt("w@b gpu=2 priority=9") == "nobody"


def test_lower_priority_only_where_the_policy_says_so() -> None:
    tree = SHARED.replace("b  gpu=0  reclaim=Any", "b  gpu=0  reclaim=LowerPriority")
    found = quota_tree(tree, BOTH).running("a1@a gpu=5; a2@a gpu=5 priority=3")
    assert found.preempt("w@b gpu=1 priority=1") == f"a1 {FAIR}"
    assert found.preempt("w@b gpu=1") == "nobody"


def test_no_reclaiming_means_one_s_own_only() -> None:
    tree = "pool gpu=10\n  a gpu=0\n  b gpu=0 within=LowerPriority"
    found = quota_tree(tree, BOTH).running("a1@a gpu=8; b1@b gpu=2 priority=-1")
    assert found.preempt("w@b gpu=2") == f"b1 {OWN}"
    assert found.preempt("w@b gpu=3") == "nobody"


def test_a_queue_without_a_cohort_preempts_its_own() -> None:
    found = quota_tree("cq gpu=4 within=LowerPriority", BOTH).running(
        "a@cq gpu=1; b@cq gpu=1; c@cq gpu=2"
    )
    assert found.preempt("w@cq gpu=3 priority=1") == f"c {OWN}, b {OWN}"
    assert found.preempt("w@cq gpu=5 priority=1") == "nobody"


def test_borrow_within_cohort_is_of_no_matter() -> None:
    tree = SHARED.replace("b  gpu=0", "b  gpu=0 while-borrowing=LowerPriority threshold=-9")
    assert running(tree, BOTH, a=8, b=2).preempt("w@b gpu=1") == f"a8 {FAIR}"


# The order of queues


def test_the_queue_with_the_highest_share_gives_way_first_and_is_looked_at_anew() -> None:
    tree = "pool gpu=12\n  a gpu=0\n  b gpu=0 reclaim=Any\n  c gpu=0"
    found = running(tree, BOTH, a=7, b=0, c=5)
    # 7:5, 6:5, then equal: the latest reservation of the two decides.
    assert found.preempt("w@b gpu=1") == f"a7 {FAIR}"
    assert found.preempt("w@b gpu=2") == f"a7 {FAIR}, a6 {FAIR}"
    assert found.preempt("w@b gpu=3") == f"a7 {FAIR}, a6 {FAIR}, c5 {FAIR}"
    assert found.preempt("w@b gpu=4") == f"a7 {FAIR}, a6 {FAIR}, c5 {FAIR}, a5 {FAIR}"


def test_weights_change_who_has_the_highest_share() -> None:
    tree = "pool gpu=12\n  a gpu=0 weight=4\n  b gpu=0 reclaim=Any\n  c gpu=0"
    found = running(tree, BOTH, a=8, b=0, c=4)
    assert found.preempt("w@b gpu=1") == f"c4 {FAIR}"


def test_one_s_own_queue_is_one_of_them() -> None:
    tree = "pool gpu=8\n  a gpu=0\n  b gpu=0 reclaim=Any within=LowerPriority"
    found = quota_tree(tree, BOTH).running("b1@b gpu=2 priority=-1; a1@a gpu=3; a2@a gpu=3")
    # With w, b would have 5 of 8 and a has 6.
    assert found.preempt("w@b gpu=3") == f"a2 {FAIR}"
    # With w, b would have 7: its own share is the highest.
    assert found.preempt("w@b gpu=5") == f"b1 {OWN}, a2 {FAIR}"


def test_one_s_own_queue_counts_even_if_it_does_not_borrow() -> None:
    tree = "pool\n  a gpu=4\n  b gpu=4 reclaim=Any within=LowerPriority"
    found = quota_tree(tree, BOTH).running("b1@b gpu=4 priority=-1; a1@a gpu=4")
    assert found.preempt("w@b gpu=4") == f"b1 {OWN}"


def test_evicted_ones_of_a_queue_go_first() -> None:
    found = quota_tree(SHARED, BOTH).running(
        "a1@a gpu=4 evicted priority=9; a2@a gpu=4; b1@b gpu=2"
    )
    assert found.preempt("w@b gpu=1") == f"a1 {FAIR}"


def test_what_is_not_needed_in_the_end_stays() -> None:
    """The first to go is too small; once the bigger one goes it is not needed."""
    found = quota_tree(SHARED.replace("gpu=10", "gpu=9"), BOTH).running(
        "other@a gpu=4 reserved=0; big@a gpu=4 reserved=1; small@a gpu=1 reserved=2"
    )
    assert found.preempt("w@b gpu=4") == f"big {FAIR}"


def test_weightless_queues_do_not_take_from_each_other_for_ever() -> None:
    tree = "pool gpu=10\n  a gpu=0 weight=0\n  b gpu=0 weight=0 reclaim=Any\n  c gpu=0"
    assert running(tree, BOTH, a=5, b=5).preempt("w@b gpu=1") == "nobody"
    assert running(tree, BOTH, a=7, b=3).preempt("w@b gpu=1") == f"a7 {FAIR}"
    # And never from somebody with a weight.
    assert running(tree, BOTH, b=1, c=9).preempt("w@b gpu=1") == "nobody"


# Trees of cohorts

DEEP = """
    root  gpu=12
      left
        a  gpu=0  reclaim=Any
        b  gpu=0
      right
        c  gpu=0
        d  gpu=0
"""


def test_subtrees_are_compared_first() -> None:
    """left has 9 and right 3: though c's share is higher than b's, left gives way."""
    found = running(DEEP, BOTH, a=4, b=5, c=3)
    assert found.preempt("w@a gpu=1") == "nobody"
    found = running(DEEP, BOTH, a=0, b=6, c=6)
    # left would have 7 with w, so that it is b inside left that gives way.
    assert found.preempt("w@a gpu=1") == f"b6 {FAIR}"
    found = running(DEEP, BOTH, a=0, b=5, c=7)
    assert found.preempt("w@a gpu=1") == f"c7 {FAIR}"


def test_a_tie_between_a_cohort_and_a_queue_goes_to_the_cohort() -> None:
    tree = "root gpu=12\n  a gpu=0 reclaim=Any\n  q gpu=0\n  sub\n    c gpu=0"
    found = running(tree, BOTH, a=0, c=6, q=6)
    assert found.preempt("w@a gpu=1") == f"c6 {FAIR}"


def test_a_tie_between_queues_goes_to_the_one_whose_first_candidate_sorts_first() -> None:
    tree = "root gpu=12\n  a gpu=0 reclaim=Any\n  q gpu=0\n  r gpu=0"
    found = quota_tree(tree, BOTH).running("q1@q gpu=6 reserved=1; r1@r gpu=6 reserved=2")
    assert found.preempt("w@a gpu=1") == f"r1 {FAIR}"
    found = quota_tree(tree, BOTH).running(
        "q1@q gpu=6 reserved=1; r1@r gpu=6 reserved=2 priority=1"
    )
    assert found.preempt("w@a gpu=1") == f"q1 {FAIR}"


def test_a_cohort_within_its_quota_is_left_alone() -> None:
    tree = """
        root  gpu=2
          x  gpu=6
            c  gpu=0
          a  gpu=0  reclaim=Any
          b  gpu=0
    """
    found = quota_tree(tree, BOTH).running("c1@c gpu=6; b1@b gpu=1; b2@b gpu=1")
    assert found.preempt("w@a gpu=1") == f"b2 {FAIR}"
    found = quota_tree(tree, BOTH).running("c1@c gpu=6; a1@a gpu=2")
    assert found.preempt("w@a gpu=1") == "nobody"


def test_shares_are_compared_below_the_lowest_common_ancestor() -> None:
    found = quota_tree(DEEP)
    node, cohorts = found.state.node, found.state.tree.cohorts
    assert almost_common(node("a"), node("b")) == (node("a"), node("b"))
    assert almost_common(node("a"), node("c")) == (cohorts["left"], cohorts["right"])
    mixed = quota_tree("root\n  a gpu=1\n  x\n    y\n      b gpu=1")
    node, cohorts = mixed.state.node, mixed.state.tree.cohorts
    assert almost_common(node("a"), node("b")) == (node("a"), cohorts["x"])
    assert almost_common(node("b"), node("a")) == (cohorts["x"], node("a"))
