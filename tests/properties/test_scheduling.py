"""The scheduler's state under any sequence of events: counts that are kept equal counts that are
made anew, and what is decided always fits.
"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetqueue.api.pods.terms import PodTerm, pod_term
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.scheduling.cycle import Placed, Waits, schedule
from fleetqueue.runtime.scheduling.pods import PodInfo
from fleetqueue.runtime.scheduling.state import ClusterState
from support.scheduling import HOST, REQUIRED, node, pod

pytestmark = pytest.mark.rule("jobs C.10")

NODES = ("a", "b", "c")
APPS = ("web", "db")
TERMS: list[PodTerm] = [
    pod_term({"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}, "default")
    for app in APPS
    for key in (HOST, "zone")
]


def shy(app: str) -> Object:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOST}
    return {"podAntiAffinity": {REQUIRED: [term]}}


def made(number: int, app: str, cpu: int, priority: int, is_shy: bool) -> Object:
    more: dict[str, Any] = {"affinity": shy(app)} if is_shy else {}
    return pod(
        f"p{number}",
        requests={"cpu": str(cpu)},
        labels={"app": app},
        priority=priority,
        **more,
    )


PODS = st.builds(
    made,
    st.integers(0, 11),
    st.sampled_from(APPS),
    st.integers(1, 3),
    st.integers(0, 2),
    st.booleans(),
)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("schedule"), PODS),
        st.tuples(st.just("remove"), st.integers(0, 11)),
        st.tuples(st.just("node"), st.sampled_from(NODES), st.sampled_from(("z1", "z2"))),
        st.tuples(st.just("drop"), st.sampled_from(NODES)),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(EVENTS)
def test_what_is_kept_is_what_is_there_and_nothing_is_overfull(events: list[Any]) -> None:
    state = ClusterState()
    homes: dict[str, tuple[Object, str]] = {}
    nodes: dict[str, Object] = {}
    for event in events:
        apply(state, homes, nodes, event)
        for term in TERMS:
            state.count(term)
    fresh = ClusterState()
    for each in nodes.values():
        fresh.set_node(each)
    for each, home in homes.values():
        fresh.place(PodInfo(each), home)
    assert shown(state) == shown(fresh)
    for name in nodes:
        assert state.nodes[name].used.get("cpu", 0) <= 4000


def apply(
    state: ClusterState,
    homes: dict[str, tuple[Object, str]],
    nodes: dict[str, Object],
    event: tuple[Any, ...],
) -> None:
    match event:
        case ("schedule", obj):
            uid = obj["metadata"]["uid"]
            if uid in homes:
                return
            before = shown(state)
            decision = schedule(state, PodInfo(obj))
            assert shown(state) == before
            if isinstance(decision, Placed):
                state.place(PodInfo(obj), decision.node)
                homes[uid] = (obj, decision.node)
            elif isinstance(decision, Waits) and decision.preemption is not None:
                check_preemption(state, obj, decision)
        case ("remove", number):
            state.take_away(f"uid-p{number}")
            homes.pop(f"uid-p{number}", None)
        case ("node", name, zone):
            nodes[name] = node(name, labels={"zone": zone})
            state.set_node(nodes[name])
        case ("drop", name):
            nodes.pop(name, None)
            state.drop_node(name)


def check_preemption(state: ClusterState, obj: Object, decision: Waits) -> None:
    """Victims are lesser pods of that node, and without them there is room."""
    found = decision.preemption
    assert found is not None
    assert all(victim.priority < obj["spec"]["priority"] for victim in found.victims)
    for victim in found.victims:
        assert state.take_away(victim.uid) is not None
    assert isinstance(schedule(state, PodInfo(obj)), Placed)
    for victim in found.victims:
        state.place(victim, found.node)


def shown(state: ClusterState) -> Any:
    """All counts, zeros left out."""
    used = {
        name: ({k: v for k, v in each.used.items() if v}, each.weighed_cpu, sorted(each.pods))
        for name, each in state.nodes.items()
        if each.pods or each.object
    }
    counts = [{k: v for k, v in state.count(term).items() if v} for term in TERMS]
    held = {term: dict(holders) for term, holders in state.keep_away.items()}
    return used, counts, held, state.node_names()
