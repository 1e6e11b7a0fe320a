"""Asks the filters about nodes, with room kept for pods that others were removed for."""

from collections.abc import Iterator
from contextlib import contextmanager

from fleetqueue.runtime.scheduling.filters import check, filters_of
from fleetqueue.runtime.scheduling.pods import PodInfo
from fleetqueue.runtime.scheduling.state import ClusterState
from fleetqueue.runtime.scheduling.verdicts import Filter, Unfit
from fleetqueue.runtime.scheduling.volumes import NO_VOLUMES, Volumes


def fits(
    state: ClusterState,
    info: PodInfo,
    node: str,
    volumes: Volumes | None = None,
    filters: list[Filter] | None = None,
) -> Unfit | None:
    """Why the pod cannot run on that node; None where it can. `filters`: made for this state."""
    volumes = volumes or NO_VOLUMES
    expected = [
        other
        for other in state.nominated.get(node, {}).values()
        if other.priority >= info.priority and other.uid != info.uid
    ]
    if expected:
        with _placed(state, expected, node):
            refused = check(filters_of(state, info, volumes), state.nodes[node])
        if refused is not None:
            return refused
    return check(filters or filters_of(state, info, volumes), state.nodes[node])


@contextmanager
def _placed(state: ClusterState, expected: list[PodInfo], node: str) -> Iterator[None]:
    """As if those pods were there already: the pod must fit whether they come or not."""
    for other in expected:
        state.place(other, node)
    try:
        yield
    finally:
        for other in expected:
            state.take_away(other.uid)
