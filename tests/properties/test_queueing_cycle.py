"""What holds for every cycle on every tree: no quota is given twice, tries leave no trace, and
neither the order of heads nor that in which things came to be known matters.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetqueue.queueing.amounts import FlavorResource
from fleetqueue.queueing.assignment import Record
from fleetqueue.queueing.cycle import decide
from fleetqueue.queueing.model import (
    ClusterQueue,
    Cohort,
    Flavor,
    Fungibility,
    PreemptionRules,
    Quota,
    ResourceGroup,
)
from fleetqueue.queueing.nomination import Head
from fleetqueue.queueing.plan import Migrate, Plan, Preempt, Wait
from fleetqueue.queueing.quota import Node
from fleetqueue.queueing.settings import FairSharing, Settings
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import Workload
from support.cycles import NOW, usage, waiting

FLAVORS = ("spot", "on-demand")
RESOURCES = ("cpu", "gpu")
COHORTS = ("", "root", "left", "right")
AT = tuple((flavor, resource) for flavor in FLAVORS for resource in RESOURCES)


@dataclass(frozen=True)
class World:
    """Everything there is, before anything was decided."""

    settings: Settings
    cohorts: tuple[Cohort, ...]
    queues: tuple[ClusterQueue, ...]
    pending: tuple[Workload, ...]


quotas = st.builds(
    Quota,
    st.integers(0, 6).map(lambda units: units * 1000),
    st.none() | st.integers(0, 4).map(lambda units: units * 1000),
    st.none() | st.integers(0, 4).map(lambda units: units * 1000),
)
by_place = st.fixed_dictionaries(dict.fromkeys(AT, quotas))
rules = st.builds(
    PreemptionRules,
    st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
    st.sampled_from(["Never", "LowerPriority", "Any"]),
    st.sampled_from(["Never", "LowerPriority"]),
)
fungibilities = st.builds(Fungibility, st.booleans(), st.booleans(), st.booleans())
GROUP = ResourceGroup(RESOURCES, FLAVORS)


@st.composite
def queues(draw: st.DrawFn) -> tuple[ClusterQueue, ...]:
    return tuple(
        ClusterQueue(
            f"q{number}",
            draw(st.sampled_from(COHORTS)),
            (GROUP,),
            draw(by_place),
            fungibility=draw(fungibilities),
            preemption=draw(rules),
            weight=draw(st.sampled_from([0.0, 1.0, 2.0])),
        )
        for number in range(draw(st.integers(1, 4)))
    )


@st.composite
def workloads(draw: st.DrawFn, names: Sequence[str]) -> tuple[Workload, ...]:
    found = []
    for number in range(draw(st.integers(1, 14))):
        sets = " + ".join(
            f"s{index} cpu={draw(st.integers(0, 4))} gpu={draw(st.integers(0, 2))} "
            f"x{draw(st.integers(1, 3))} min={draw(st.integers(0, 3))}"
            for index in range(draw(st.integers(1, 2)))
        )
        order = f"priority={draw(st.integers(0, 2))} created={draw(st.integers(0, 3))}"
        line = f"w{number}@{draw(st.sampled_from(names))} {sets} {order}"
        found.append(waiting(line))
    return tuple(found)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    found = draw(queues())
    cohorts = (
        Cohort("root", "", draw(by_place)),
        Cohort("left", "root", draw(by_place)),
        Cohort("right", "root"),
    )
    fair = draw(st.sampled_from([None, FairSharing()]))
    pending = draw(workloads([each.name for each in found]))
    return World(Settings(fair_sharing=fair), cohorts, found, pending)


def build(world: World) -> State:
    state = State(world.settings)
    for name in FLAVORS:
        state.put_flavor(Flavor(name))
    for cohort in world.cohorts:
        state.put_cohort(cohort)
    for queue in world.queues:
        state.put_queue(queue)
    return state


class Run:
    """Cycles that are carried out: those who must go are gone before the next one."""

    def __init__(self, world: World) -> None:
        self.state = build(world)
        self.pending = {each.key: each for each in world.pending}
        self.records: dict[object, Record | None] = {}
        self.cycle = 0

    def heads(self) -> list[Head]:
        """The first of every queue."""
        first: dict[str, Workload] = {}
        for each in self.pending.values():
            best = first.get(each.cluster_queue)
            if best is None or _rank(each) < _rank(best):
                first[each.cluster_queue] = each
        return [Head(each, record=self.records.get(each.key)) for each in first.values()]

    def decide(self, heads: Iterable[Head]) -> Plan:
        return decide(self.state, list(heads), NOW, cycle=self.cycle)

    def step(self) -> Plan:
        self.cycle += 1
        plan = self.decide(self.heads())
        for each in plan.admitted():
            self.state.hold(each.held)
            del self.pending[each.workload.key]
        check_nothing_is_oversold(self.state)
        for decision in plan.decisions:
            if isinstance(decision, Preempt):
                for target in decision.targets:
                    gone = self.state.release(target.workload.key)
                    assert gone is not None, "nobody is preempted twice"
            elif isinstance(decision, Wait):
                self.records[decision.workload.key] = decision.record
                if not decision.has_more_flavors and decision.requeue.value != "PendingPreemption":
                    self.pending.pop(decision.workload.key)
        return plan


def _rank(workload: Workload) -> tuple[object, ...]:
    return (-workload.effective_priority, workload.ordered_at, workload.uid)


def check_nothing_is_oversold(state: State) -> None:
    for node in (*state.tree.cohorts.values(), *state.tree.queues.values()):
        for at in AT:
            check_node(node, at)


def check_node(node: Node, at: FlavorResource) -> None:
    quota = node.quota(at)
    if node.parent is None:
        assert node.used(at) <= node.subtree_quota(at)
    elif quota.borrowing_limit is not None:
        assert node.used(at) <= node.subtree_quota(at) + quota.borrowing_limit


def generations(state: State) -> list[int]:
    return [state.generation(name) for name in sorted(state.queues)]


def told(plan: Plan) -> list[tuple[object, ...]]:
    """A plan as plain data."""
    found: list[tuple[object, ...]] = []
    for each in plan.decisions:
        targets = getattr(each, "targets", ())
        held = getattr(each, "held", None)
        waits = each if isinstance(each, Wait) else getattr(each, "wait", None)
        found.append(
            (
                type(each).__name__,
                each.workload.key,
                [(target.workload.key, target.reason) for target in targets],
                held.assignments if held is not None else None,
                (waits.reason, waits.message, waits.requeue) if waits is not None else None,
            )
        )
        assert not isinstance(each, Migrate)
    return found


fast = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.rule("kueue 5.7")
@pytest.mark.rule("kueue 6.3")
@fast
@given(worlds())
def test_quota_is_never_oversold(world: World) -> None:
    run = Run(world)
    for _ in range(12):
        if not run.pending:
            break
        run.step()
        check_nothing_is_oversold(run.state)


@pytest.mark.rule("kueue 6.4")
@fast
@given(worlds())
def test_deciding_leaves_the_state_as_it_was(world: World) -> None:
    run = Run(world)
    for _ in range(4):
        before, counts = usage(run.state), generations(run.state)
        holders = {name: dict(found) for name, found in run.state.holders.items()}
        run.decide(run.heads())
        assert usage(run.state) == before
        assert generations(run.state) == counts
        assert run.state.holders == holders
        run.step()


@pytest.mark.rule("kueue 5.7")
@fast
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_heads_does_not_matter(world: World, random: Random) -> None:
    run = Run(world)
    for _ in range(4):
        heads = run.heads()
        expected = told(run.decide(heads))
        random.shuffle(heads)
        assert told(run.decide(heads)) == expected
        run.step()


@pytest.mark.rule("kueue 5.7")
@fast
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_in_which_things_became_known_does_not_matter(
    world: World, random: Random
) -> None:
    run = Run(world)
    for _ in range(4):
        run.step()
    held = [each for found in run.state.holders.values() for each in found.values()]
    shuffled = []
    for each in (world.cohorts, world.queues, held):
        mixed = list(each)
        random.shuffle(mixed)
        shuffled.append(mixed)
    cohorts, found, holders = shuffled
    other = Run(replace(world, cohorts=tuple(cohorts), queues=tuple(found)))
    for each in holders:
        other.state.hold(each)
    heads = [replace(each, record=None) for each in run.heads()]
    assert usage(other.state) == usage(run.state)
    assert told(other.decide(heads)) == told(run.decide(heads))
