"""Whom preemption finds, in any tree and with anything running: it helps, nobody goes without need
or against the rules, the order in which things came is of no matter, and it is what the rules,
followed word by word, give."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetqueue.queueing.amounts import Amounts, FlavorResource
from fleetqueue.queueing.model import ClusterQueue, Cohort, PreemptionRules, Quota
from fleetqueue.queueing.preemption.search import find_targets, possibility
from fleetqueue.queueing.preemption.targets import Target
from fleetqueue.queueing.settings import DEFAULTS, FairSharing, Settings
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import Workload
from fleetqueue.testing.quota_pictures import workload
from support.naive_preemption import NaiveSearch
from support.naive_quota import NaiveTree

PLACES: list[FlavorResource] = [("default", "gpu"), ("default", "cpu")]
QUEUES = ("q1", "q2", "q3", "q4")
PARENTS = {"c1": ("",), "c2": ("c1", "c1", ""), "c3": ("c1", "c2", "c2", "")}
MANY = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])

LIMITS = st.one_of(st.none(), st.none(), st.none(), st.integers(0, 3))
QUOTAS = st.fixed_dictionaries(
    {PLACES[0]: st.builds(Quota, st.integers(0, 3), LIMITS, LIMITS)},
    optional={PLACES[1]: st.builds(Quota, st.integers(1, 3), LIMITS, LIMITS)},
)
RULES = st.builds(
    PreemptionRules,
    st.sampled_from(("Never", "LowerPriority", "LowerOrNewerEqualPriority")),
    st.sampled_from(("Never", "LowerPriority", "Any", "Any")),
    st.sampled_from(("Never", "LowerPriority")),
    st.one_of(st.none(), st.integers(-1, 1)),
)
WEIGHTS = st.sampled_from((1.0, 1.0, 1.0, 2.0, 0.0))


@st.composite
def trees(draw: st.DrawFn) -> list[ClusterQueue | Cohort]:
    cohorts = [
        Cohort(name, draw(st.sampled_from(parents)), draw(QUOTAS), draw(WEIGHTS))
        for name, parents in PARENTS.items()
    ]
    queues = [
        ClusterQueue(
            name,
            draw(st.sampled_from(("c1", "c2", "c3", "c3"))),
            quotas=draw(QUOTAS),
            preemption=draw(RULES),
            weight=draw(WEIGHTS),
        )
        for name in QUEUES
    ]
    return [*cohorts, *queues]


@st.composite
def workloads(draw: st.DrawFn, name: str, most: int = 3) -> Workload:
    queue = draw(st.sampled_from(QUEUES))
    cpu = draw(st.sampled_from(("", "", "cpu=1m", "cpu=2m")))
    line = (
        f"{name}@{queue} gpu={draw(st.integers(0 if cpu else 1, most))} {cpu} "
        f"priority={draw(st.integers(-1, 1))} created={draw(st.integers(0, 3))} "
        f"reserved={draw(st.sampled_from((1, 2, 3, 'never')))}"
    )
    return workload(line + draw(st.sampled_from(("", "", "", " evicted"))))


HOLDERS = st.integers(4, 10).flatmap(
    lambda count: st.tuples(*(workloads(f"w{number}") for number in range(count)))
)
PENDING = workloads("new", most=6)
MODES = st.sampled_from(
    (
        DEFAULTS,
        DEFAULTS,
        Settings(fair_sharing=FairSharing()),
        Settings(fair_sharing=FairSharing(("LessThanOrEqualToFinalShare",))),
        Settings(fair_sharing=FairSharing(("LessThanInitialShare",))),
        Settings(fair_sharing=FairSharing(preempts_within_nominal=False)),
    )
)


def build(
    mode: Settings, specs: Sequence[ClusterQueue | Cohort], holders: Sequence[Workload]
) -> State:
    state = State(mode)
    for spec in specs:
        state.put_queue(spec) if isinstance(spec, ClusterQueue) else state.put_cohort(spec)
    for each in holders:
        state.hold(each)
    return state


def search(state: State, pending: Workload) -> tuple[Amounts, list[Target]]:
    wanted = pending.usage()
    waiting = replace(pending, assignments=(), reserved_at=None)
    return wanted, find_targets(state, waiting, wanted, frozenset(wanted))


def usage(state: State) -> dict[str, Any]:
    nodes = (*state.tree.queues.values(), *state.tree.cohorts.values())
    return {f"{node.is_queue} {node.name}": dict(node.usage) for node in nodes}


def fits(state: State, pending: Workload, wanted: Amounts, may_borrow: bool) -> bool:
    node = state.node(pending.cluster_queue)
    borrows = any(node.borrows(at, amount) for at, amount in wanted.items())
    return node.fits(wanted) and (may_borrow or not borrows)


@pytest.mark.rule("kueue 7.1")
@pytest.mark.rule("kueue 7.2")
@pytest.mark.rule("kueue 7.3")
@pytest.mark.rule("kueue 7.4")
@pytest.mark.rule("kueue 7.7")
@settings(MANY, max_examples=600)
@given(MODES, trees(), HOLDERS, PENDING)
def test_it_is_what_the_rules_give_word_by_word(
    mode: Settings,
    specs: list[ClusterQueue | Cohort],
    holders: tuple[Workload, ...],
    pending: Workload,
) -> None:
    state = build(mode, specs, holders)
    before = usage(state)
    wanted, targets = search(state, pending)
    assert usage(state) == before
    tree = NaiveTree(
        {spec.name: spec for spec in specs if isinstance(spec, ClusterQueue)},
        {spec.name: spec for spec in specs if isinstance(spec, Cohort)},
    )
    naive = NaiveSearch(tree, list(holders), pending, wanted, PLACES)
    expected = naive.classical() if mode.fair_sharing is None else naive.fair(mode.fair_sharing)
    assert [(each.workload.key.name, each.reason) for each in targets] == expected


@pytest.mark.rule("kueue 7.4")
@MANY
@given(MODES, trees(), HOLDERS, PENDING)
def test_the_targets_make_room_and_each_of_them_is_needed(
    mode: Settings,
    specs: list[ClusterQueue | Cohort],
    holders: tuple[Workload, ...],
    pending: Workload,
) -> None:
    state = build(mode, specs, holders)
    wanted, targets = search(state, pending)
    if not targets or fits(state, pending, wanted, may_borrow=True):
        # What fits as it is asks nobody to go.
        return
    assert len({each.workload.key for each in targets}) == len(targets)
    for each in targets:
        state.take(each.workload)
    assert any(
        fits(state, pending, wanted, may_borrow) and all_needed(state, pending, targets, may_borrow)
        for may_borrow in (True, False)
    )


def all_needed(state: State, pending: Workload, targets: list[Target], may_borrow: bool) -> bool:
    for each in targets:
        start = state.mark()
        state.give(each.workload)
        is_needed = not fits(state, pending, pending.usage(), may_borrow)
        state.undo(start)
        if not is_needed:
            return False
    return True


@pytest.mark.rule("kueue 7.1")
@pytest.mark.rule("kueue 7.7")
@MANY
@given(MODES, trees(), HOLDERS, PENDING)
def test_nobody_goes_against_the_rules(
    mode: Settings,
    specs: list[ClusterQueue | Cohort],
    holders: tuple[Workload, ...],
    pending: Workload,
) -> None:
    state = build(mode, specs, holders)
    wanted, targets = search(state, pending)
    rules = state.queues[pending.cluster_queue].preemption
    for each in targets:
        gone = each.workload
        assert any(gone.usage().get(at) for at in wanted)
        is_lower = gone.priority < pending.priority
        if gone.cluster_queue == pending.cluster_queue:
            assert each.reason == "InClusterQueue"
            is_newer = gone.priority == pending.priority and gone.ordered_at > pending.ordered_at
            assert is_lower or (rules.within == "LowerOrNewerEqualPriority" and is_newer)
            assert rules.within != "Never"
            continue
        assert each.reason != "InClusterQueue"
        assert rules.reclaim == "Any" or (rules.reclaim == "LowerPriority" and is_lower)
        assert not state.node(gone.cluster_queue).is_within_nominal(wanted)
        if each.reason == "InCohortReclaimWhileBorrowing":
            assert rules.borrow == "LowerPriority"
            assert is_lower
            most = rules.borrow_priority_max
            assert most is None or gone.priority <= most


@MANY
@given(MODES, trees(), HOLDERS, PENDING, st.randoms())
def test_the_order_in_which_things_came_is_of_no_matter(
    mode: Settings,
    specs: list[ClusterQueue | Cohort],
    holders: tuple[Workload, ...],
    pending: Workload,
    shuffle: Any,
) -> None:
    one = search(build(mode, specs, holders), pending)[1]
    others, mixed = list(holders), list(specs)
    shuffle.shuffle(others)
    shuffle.shuffle(mixed)
    state = build(mode, mixed, others)
    # Somebody comes and goes in between.
    state.hold(replace(pending, reserved_at=pending.created_at))
    state.release(pending.key)
    assert search(state, pending)[1] == one


@pytest.mark.rule("kueue 5.4")
@MANY
@given(MODES, trees(), HOLDERS, PENDING)
def test_whether_it_helps_is_what_the_search_for_one_place_says(
    mode: Settings,
    specs: list[ClusterQueue | Cohort],
    holders: tuple[Workload, ...],
    pending: Workload,
) -> None:
    state = build(mode, specs, holders)
    before = usage(state)
    at, amount = next(iter(pending.usage().items()))
    answer, level = possibility(state, pending, at, amount)
    targets = find_targets(state, pending, {at: amount}, frozenset([at]))
    assert usage(state) == before
    queues = {each.workload.cluster_queue for each in targets}
    expected = "none" if not queues else "reclaim"
    assert answer == ("preempt" if pending.cluster_queue in queues else expected)
    for each in targets:
        state.take(each.workload)
    assert level == state.node(pending.cluster_queue).borrowing_level(at, amount)[0]
