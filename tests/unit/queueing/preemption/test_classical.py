"""Preemption by priority and place in the tree: who has to go for whom, and why."""

import pytest

from fleetqueue.testing.quota_pictures import quota_tree

OWN = "InClusterQueue"
RECLAIM = "InCohortReclamation"
BORROWING = "InCohortReclaimWhileBorrowing"

ALONE = {  # the tree, what runs, who comes, and who goes
    "of two equals the later one goes": (
        "cq cpu=4 within=LowerPriority",
        "low-1@cq cpu=2 priority=-1; low-2@cq cpu=2 priority=-1",
        "high@cq cpu=2 priority=5",
        f"low-2 {OWN}",
    ),
    "lower priority goes before later": (
        "cq cpu=4 within=LowerPriority",
        "lowest@cq cpu=2 priority=-2; low@cq cpu=2 priority=-1",
        "high@cq cpu=2",
        f"lowest {OWN}",
    ),
    "no more than needed": (
        "cq cpu=4 within=LowerPriority",
        "a@cq cpu=1; b@cq cpu=1; c@cq cpu=1; d@cq cpu=1",
        "high@cq cpu=2 priority=1",
        f"d {OWN}, c {OWN}",
    ),
    "what turned out not to be needed stays": (
        "cq cpu=7 within=LowerPriority",
        "two@cq cpu=2 reserved=3; one@cq cpu=1 reserved=2; four@cq cpu=4 reserved=1",
        "high@cq cpu=4 priority=1",
        f"four {OWN}",
    ),
    "equal priority stays": (
        "cq cpu=4 within=LowerPriority",
        "a@cq cpu=4",
        "new@cq cpu=4",
        "nobody",
    ),
    "equal priority stays even if newer": (
        "cq cpu=4 within=LowerPriority",
        "a@cq cpu=4 created=9",
        "old@cq cpu=4 created=1",
        "nobody",
    ),
    "newer of equal priority goes": (
        "cq cpu=4 within=LowerOrNewerEqualPriority",
        "a@cq cpu=4 created=9",
        "old@cq cpu=4 created=1",
        f"a {OWN}",
    ),
    "older of equal priority stays": (
        "cq cpu=4 within=LowerOrNewerEqualPriority",
        "a@cq cpu=4 created=1",
        "new@cq cpu=4 created=9",
        "nobody",
    ),
    "of the same age it stays": (
        "cq cpu=4 within=LowerOrNewerEqualPriority",
        "a@cq cpu=4 created=3",
        "new@cq cpu=4 created=3",
        "nobody",
    ),
    "older of lower priority goes": (
        "cq cpu=4 within=LowerOrNewerEqualPriority",
        "a@cq cpu=4 created=1 priority=-1",
        "new@cq cpu=4 created=9",
        f"a {OWN}",
    ),
    "newer of higher priority stays": (
        "cq cpu=4 within=LowerOrNewerEqualPriority",
        "a@cq cpu=4 created=9 priority=1",
        "old@cq cpu=4 created=1",
        "nobody",
    ),
    "never": ("cq cpu=4", "a@cq cpu=4 priority=-9", "high@cq cpu=4 priority=9", "nobody"),
    "a boost lifts the preemptor": (
        "cq cpu=4 within=LowerPriority",
        "a@cq cpu=4 priority=1",
        "b@cq cpu=4 boost=2",
        f"a {OWN}",
    ),
    "a boost protects": (
        "cq cpu=4 within=LowerPriority",
        "a@cq cpu=4 boost=5",
        "b@cq cpu=4 priority=3",
        "nobody",
    ),
    "what uses another flavor is spared": (
        "cq cpu=4 spot:cpu=4 within=LowerPriority",
        "a@cq spot:cpu=4; b@cq cpu=4",
        "high@cq cpu=1 priority=1",
        f"b {OWN}",
    ),
    "what uses another resource is spared": (
        "cq cpu=4 memory=4 within=LowerPriority",
        "a@cq memory=4; b@cq cpu=4",
        "high@cq cpu=1 priority=1",
        f"b {OWN}",
    ),
    "all that could go is not enough": (
        "cq cpu=4 within=LowerPriority",
        "a@cq cpu=2 priority=9; b@cq cpu=2",
        "high@cq cpu=3 priority=1",
        "nobody",
    ),
    "evicted ones go first, whatever their priority": (
        "cq cpu=4 within=LowerPriority",
        "a@cq cpu=2 priority=-5; b@cq cpu=2 evicted",
        "high@cq cpu=2 priority=1",
        f"b {OWN}",
    ),
    "without a reservation time it counts as reserved just now": (
        "cq cpu=4 within=LowerPriority",
        "a@cq cpu=2 reserved=never; b@cq cpu=2 reserved=900",
        "high@cq cpu=2 priority=1",
        f"a {OWN}",
    ),
    "the UID decides in the end": (
        "cq cpu=4 within=LowerPriority",
        "a@cq cpu=2 uid=2 reserved=1; b@cq cpu=2 uid=1 reserved=1",
        "high@cq cpu=2 priority=1",
        f"b {OWN}",
    ),
    "the last element takes the place of one that stays": (
        "cq cpu=8 within=LowerPriority",
        "d@cq cpu=3; c@cq cpu=3; b@cq cpu=1; a@cq cpu=1",
        # All go; then b is put back, and d moves into its slot.
        "high@cq cpu=7 priority=1",
        f"a {OWN}, d {OWN}, c {OWN}",
    ),
}


@pytest.mark.rule("kueue 7.1")
@pytest.mark.rule("kueue 7.3")
@pytest.mark.rule("kueue 7.4")
@pytest.mark.rule("kueue 13.3")
@pytest.mark.parametrize(("tree", "running", "comes", "goes"), ALONE.values(), ids=ALONE.keys())
def test_within_one_queue(tree: str, running: str, comes: str, goes: str) -> None:
    assert quota_tree(tree).running(running).preempt(comes) == goes


TEAMS = """
    team
      a  cpu=5  reclaim=Any
      b  cpu=5
"""
STRICT = TEAMS.replace("Any", "LowerPriority")
BOTH_WAYS = TEAMS.replace("Any", "Any within=LowerPriority")
WHILE_BORROWING = """
    team
      a  cpu=3  reclaim=Any  while-borrowing=LowerPriority  within=LowerPriority
      b  cpu=3
      c  cpu=3
"""
THRESHOLD = WHILE_BORROWING.replace("LowerPriority", "LowerPriority threshold=0", 1)
NINE = "; ".join(f"b{number}@b cpu=1" for number in range(1, 10))

COHORT = {
    "takes back what is its own": (TEAMS, NINE, "w@a cpu=3", f"b9 {RECLAIM}, b8 {RECLAIM}"),
    "as far as the other keeps its own": (TEAMS, "big@b cpu=9", "w@a cpu=5", f"big {RECLAIM}"),
    "from nobody who is within his own": (
        TEAMS,
        "b1@b cpu=5; a1@a cpu=3",
        "w@a cpu=3 priority=9",
        "nobody",
    ),
    "not if it has to borrow itself": (TEAMS, NINE, "w@a cpu=6", "nobody"),
    "any priority": (TEAMS, "b1@b cpu=9 priority=99", "w@a cpu=3", f"b1 {RECLAIM}"),
    "lower priority only": (
        STRICT,
        "b1@b cpu=5 priority=2; b2@b cpu=4 priority=-1",
        "w@a cpu=3",
        f"b2 {RECLAIM}",
    ),
    "not equal priority": (STRICT, "b1@b cpu=9", "w@a cpu=3", "nobody"),
    "no reclaiming at all": (
        TEAMS.replace("reclaim=Any", ""),
        NINE,
        "w@a cpu=3 priority=9",
        "nobody",
    ),
    "the other is left alone once it is back within its own": (
        TEAMS,
        "b1@b cpu=3; b2@b cpu=3; a1@a cpu=4",
        "w@a cpu=5 priority=9",
        "nobody",
    ),
    "and then the next one gives way": (
        TEAMS + "      c  cpu=0",
        "c1@c cpu=4; b2@b cpu=5; b1@b cpu=1",
        "w@a cpu=5",
        f"b1 {RECLAIM}, c1 {RECLAIM}",
    ),
    "evicted ones of the other go first": (
        TEAMS,
        "b1@b cpu=3 evicted priority=9; b2@b cpu=3; b3@b cpu=3",
        "w@a cpu=3",
        f"b1 {RECLAIM}",
    ),
    "those of others go before one's own": (
        BOTH_WAYS,
        "a1@a cpu=2 priority=-9; b1@b cpu=4; b2@b cpu=4",
        "w@a cpu=3",
        f"b2 {RECLAIM}",
    ),
    "but evicted ones of one's own go before those": (
        BOTH_WAYS,
        "a1@a cpu=2 priority=-9 evicted; b1@b cpu=4; b2@b cpu=4",
        "w@a cpu=2",
        f"a1 {OWN}",
    ),
    "one's own and others' together": (
        BOTH_WAYS,
        "a1@a cpu=3 priority=-1; b1@b cpu=5; b2@b cpu=2",
        "w@a cpu=5",
        f"b2 {RECLAIM}, a1 {OWN}",
    ),
    "borrowing at the cost of lower priority": (
        WHILE_BORROWING,
        "b1@b cpu=3 priority=-1; b2@b cpu=4 priority=-1",
        "w@a cpu=4",
        f"b2 {BORROWING}",
    ),
    "not at the cost of equal priority": (
        WHILE_BORROWING,
        "b1@b cpu=3; b2@b cpu=4",
        "w@a cpu=4",
        "nobody",
    ),
    "but within its own quota, equal priority goes": (
        WHILE_BORROWING,
        "b1@b cpu=3; b2@b cpu=5",
        "w@a cpu=3",
        f"b2 {RECLAIM}",
    ),
    "below the threshold": (
        THRESHOLD,
        "b1@b cpu=3; b2@b cpu=4",
        "w@a cpu=4 priority=5",
        f"b2 {BORROWING}",
    ),
    "not above the threshold": (
        THRESHOLD,
        "b1@b cpu=3 priority=1; b2@b cpu=4 priority=1",
        "w@a cpu=4 priority=5",
        "nobody",
    ),
    "one who uses what is his own stays even then": (
        WHILE_BORROWING,
        "c1@c cpu=3 priority=-1; b1@b cpu=3 priority=-1; a1@a cpu=3 priority=1",
        "w@a cpu=3",
        "nobody",
    ),
}


@pytest.mark.rule("kueue 7.1")
@pytest.mark.rule("kueue 7.2")
@pytest.mark.rule("kueue 7.4")
@pytest.mark.rule("kueue 13.3")
@pytest.mark.parametrize(("tree", "running", "comes", "goes"), COHORT.values(), ids=COHORT.keys())
def test_between_queues_of_a_cohort(tree: str, running: str, comes: str, goes: str) -> None:
    assert quota_tree(tree).running(running).preempt(comes) == goes


@pytest.mark.rule("kueue 7.10")
def test_reclaiming_stops_where_the_other_has_only_its_own_left() -> None:
    found = quota_tree(TEAMS).running(NINE)
    assert len(found.targets("w@a cpu=5")) == 4
    assert found.targets("w@a cpu=6") == []


@pytest.mark.rule("kueue 7.2")
@pytest.mark.rule("kueue 13.3")
def test_a_lending_limit_does_not_keep_a_queue_from_preempting_its_own() -> None:
    found = quota_tree("team\n  a cpu=4 lend=1 within=LowerPriority\n  b cpu=2").running(
        "a1@a cpu=3; b1@b cpu=3"
    )
    assert found.preempt("w@a cpu=3 priority=1") == f"a1 {OWN}"


@pytest.mark.rule("kueue 7.2")
def test_a_queue_at_its_nominal_quota_borrows_instead_of_reclaiming() -> None:
    """Without borrowWithinCohort it may preempt its own, and then use what is free in the cohort;
    nothing is reclaimed for it."""
    found = quota_tree(
        """
        team
          a  cpu=2  within=LowerPriority  reclaim=Any
          b  cpu=2
          c  cpu=4
        """
    ).running("a1@a cpu=2; a2@a cpu=1; b1@b cpu=4")
    assert found.preempt("w@a cpu=4 priority=1") == f"a2 {OWN}, a1 {OWN}"
    assert found.preempt("w@a cpu=5 priority=1") == "nobody"


@pytest.mark.rule("kueue 7.2")
@pytest.mark.parametrize(
    ("more", "goes"),
    [
        # Without borrowing first: a1 has to go, too, so that a stays within its four.
        ("", f"a1 {OWN}, a2 {OWN}"),
        # With borrowing first: a2 is enough.
        ("while-borrowing=LowerPriority", f"a2 {OWN}"),
    ],
)
def test_which_attempt_comes_first(more: str, goes: str) -> None:
    tree = f"team cpu=2\n  a cpu=4 within=LowerPriority reclaim=Any {more}\n  b cpu=4"
    found = quota_tree(tree).running("a1@a cpu=1 priority=-1; a2@a cpu=1 priority=-1; b1@b cpu=5")
    assert found.preempt("w@a cpu=4") == goes


@pytest.mark.rule("kueue 7.2")
@pytest.mark.rule("kueue 7.4")
def test_what_one_attempt_took_out_is_back_for_the_next() -> None:
    """Without borrowing b1 goes, and then a1, in vain; with borrowing a1 alone makes room for five,
    not for six."""
    tree = "team cpu=2\n  a cpu=4 within=LowerPriority reclaim=Any\n  b cpu=4"
    found = quota_tree(tree).running("a1@a cpu=2 priority=-1; b1@b cpu=5")
    assert found.preempt("w@a cpu=5") == f"a1 {OWN}"
    assert found.preempt("w@a cpu=6") == "nobody"


@pytest.mark.rule("kueue 7.2")
def test_with_borrowing_first_where_the_tree_gives_an_advantage() -> None:
    tree = """
        root  cpu=2
          x  cpu=9
            a  cpu=1  within=LowerPriority  reclaim=Any
          y
            b  cpu=0
    """
    found = quota_tree(tree).running("b1@b cpu=6 priority=9; b2@b cpu=6 priority=9")
    # It would borrow from x, and yet takes back from outside of x.
    assert found.preempt("w@a cpu=3") == f"b2 {RECLAIM}"


TREE = """
    root
      guaranteed          cpu=4
        g   cpu=0  reclaim=Any
        h   cpu=0
      best-effort         cpu=0
        e   cpu=0
        f   cpu=0
"""
INSIDE = """
    root  cpu=2
      guaranteed  cpu=4
        g   cpu=1  reclaim=LowerPriority  while-borrowing=LowerPriority
        h   cpu=1
      other  cpu=2
        e   cpu=0
"""

HIERARCHY = {
    "what the own cohort has is taken back from outside it": (
        TREE,
        "e1@e cpu=2 priority=9; f1@f cpu=2 priority=9",
        "w@g cpu=3",
        f"f1 {RECLAIM}, e1 {RECLAIM}",
    ),
    "not more than that": (TREE, "e1@e cpu=2; f1@f cpu=2", "w@g cpu=5", "nobody"),
    "inside the cohort there is no such advantage, and borrowing is not allowed": (
        TREE,
        "h1@h cpu=4",
        "w@g cpu=1",
        "nobody",
    ),
    "outsiders go, insiders stay": (
        TREE,
        "h1@h cpu=2; e1@e cpu=2 priority=9",
        "w@g cpu=2",
        f"e1 {RECLAIM}",
    ),
    "outside by the advantage, before those inside by priority": (
        INSIDE,
        "h1@h cpu=4 priority=-1; e1@e cpu=6 priority=-1",
        "w@g cpu=2",
        f"e1 {RECLAIM}",
    ),
    "inside by priority where nobody outside exceeds": (
        INSIDE,
        "h1@h cpu=8 priority=-1; e1@e cpu=2 priority=-1",
        "w@g cpu=2",
        f"h1 {BORROWING}",
    ),
    "a cohort within its quota protects a queue that exceeds": (
        "root\n  x cpu=4\n    p cpu=0\n    q cpu=0\n  y\n    a cpu=4 reclaim=Any",
        "p1@p cpu=4; a1@a cpu=4",
        "w@a cpu=2",
        "nobody",
    ),
    "until it exceeds itself, and then only as far": (
        "root\n  x cpu=4\n    p cpu=0\n    q cpu=0\n  y\n    a cpu=4 reclaim=Any",
        "p1@p cpu=3; q1@q cpu=2; p2@p cpu=1; p3@p cpu=1; a1@a cpu=1",
        "w@a cpu=3",
        f"p3 {RECLAIM}, q1 {RECLAIM}",
    ),
    "an advantage stays one further up": (
        """
        root  cpu=2
          x
            a  cpu=2  reclaim=Any  while-borrowing=LowerPriority
            b  cpu=0
          y
            c  cpu=0
        """,
        "c1@c cpu=3 priority=-1; b1@b cpu=1 priority=-1",
        "w@a cpu=2",
        f"c1 {RECLAIM}",
    ),
    "nobody is looked at twice": (
        "root cpu=3\n  x\n    a cpu=2 reclaim=Any\n    b cpu=0\n  y\n    c cpu=0",
        "c1@c cpu=1; b2@b cpu=3; b1@b cpu=1",
        "w@a cpu=2",
        f"b2 {RECLAIM}",
    ),
    "what is never lent is used before the cohort's own": (
        "root\n  x cpu=2\n    a cpu=2 lend=0 reclaim=Any\n  y\n    c cpu=0",
        "c1@c cpu=2",
        "w@a cpu=4",
        f"c1 {RECLAIM}",
    ),
    "and stays protected below that": (
        "root\n  x cpu=4\n    p cpu=0\n    q cpu=0\n  y\n    a cpu=4 reclaim=Any",
        "p1@p cpu=3; q1@q cpu=2; a1@a cpu=1",
        "w@a cpu=5",
        "nobody",
    ),
}


@pytest.mark.rule("kueue 7.1")
@pytest.mark.rule("kueue 7.4")
@pytest.mark.rule("kueue 13.3")
@pytest.mark.parametrize(
    ("tree", "running", "comes", "goes"), HIERARCHY.values(), ids=HIERARCHY.keys()
)
def test_in_a_tree_of_cohorts(tree: str, running: str, comes: str, goes: str) -> None:
    assert quota_tree(tree).running(running).preempt(comes) == goes


@pytest.mark.rule("kueue 7.1")
def test_only_places_that_are_short_make_a_workload_a_candidate() -> None:
    found = quota_tree("cq cpu=4 memory=9 within=LowerPriority").running(
        "both@cq cpu=1 memory=1 reserved=1; cpu@cq cpu=3 reserved=2; mem@cq memory=8 reserved=3"
    )
    assert found.preempt("w@cq cpu=3 memory=0 priority=1", "cpu") == f"cpu {OWN}"
    assert found.preempt("w@cq cpu=0 memory=9 priority=1", "memory") == f"mem {OWN}, both {OWN}"


@pytest.mark.rule("kueue 7.1")
def test_the_advantage_is_judged_by_everything_the_workload_wants() -> None:
    """It fits in the queue's own memory, but has to borrow cpu: no advantage for either."""
    tree = "team cpu=4 memory=4\n  a cpu=1 memory=4 reclaim=Any\n  b cpu=0 memory=0"
    found = quota_tree(tree).running("b1@b memory=6")
    assert found.preempt("w@a memory=3", "memory") == f"b1 {RECLAIM}"
    assert found.preempt("w@a cpu=2 memory=3", "memory") == "nobody"


@pytest.mark.rule("kueue 7.10")
@pytest.mark.rule("kueue 13.3")
def test_as_recorded() -> None:
    """Two recordings: a job of lower priority fills the queue; two jobs of one team fill what the
    other team takes back."""
    alone = quota_tree("b3-cq cpu=4 within=LowerPriority").running("low@b3-cq cpu=4 priority=100")
    assert alone.preempt("high@b3-cq cpu=4 priority=1000") == f"low {OWN}"
    cohort = quota_tree("b4-cohort\n  b4-team-a cpu=4\n  b4-team-b cpu=4 reclaim=Any").running(
        "a1@b4-team-a cpu=3; a2@b4-team-a cpu=3"
    )
    assert cohort.preempt("b1@b4-team-b cpu=4") == f"a2 {RECLAIM}"
