"""The checkers of the simulation see a roll-out that goes too far, and blame none for what no hub
could know.
"""

import pytest
from tests.support.placement_checkers import HUB, WRITE_SECONDS, Seen

from fleetqueue.kube.resources import Object

pytestmark = pytest.mark.rule("ROLL-7")
OF_TWO, OF_THREE = 2, 3
"""One of three clusters must be well where two may be unavailable, and none of two."""


class Watched:
    """Clusters that are well, and one after the other is touched."""

    def __init__(self, count: int) -> None:
        self.seconds = 0.0
        self.seen = Seen(lambda: self.seconds)
        self.names = [f"web-{number}" for number in range(count)]

    def asks_for(self, clusters: int, *, is_deleting: bool = False) -> None:
        metadata = {"name": "web"} | ({"deletionTimestamp": "now"} if is_deleting else {})
        strategy = {"rollingUpdate": {"maxUnavailable": 2}}
        policy = {"placementType": "PickN", "numberOfClusters": clusters}
        self.seen.hub_learned({"metadata": metadata, "spec": {"policy": policy} | {
            "strategy": strategy}})  # fmt: skip

    def all_are_well(self) -> None:
        for name in self.names:
            self.seen.saw(HUB, _binding(name), is_gone=False)

    def update(self, name: str) -> None:
        self.seen.saw(HUB, _binding(name, generation=2, snapshot="web-1"), is_gone=False)

    def remove(self, name: str) -> None:
        self.seen.saw(HUB, _binding(name, is_deleting=True), is_gone=False)


@pytest.mark.parametrize("deed", ["update", "remove"])
@pytest.mark.parametrize(
    ("asked", "count", "touched", "problems"),
    [(OF_TWO, 2, 2, 0), (OF_THREE, 3, 2, 0), (OF_THREE, 3, 3, 1), (OF_THREE, 2, 2, 1)],
)
def test_clusters_are_touched_while_enough_others_are_well(
    deed: str, asked: int, count: int, touched: int, problems: int
) -> None:
    watched = Watched(count)
    watched.asks_for(asked)
    watched.all_are_well()
    for name in watched.names[:touched]:
        getattr(watched, deed)(name)
    assert len(watched.seen.problems) == problems


@pytest.mark.parametrize(
    ("seconds", "problems"), [(0.0, 0), (WRITE_SECONDS - 0.1, 0), (WRITE_SECONDS, 1)]
)
def test_what_is_under_way_rests_on_what_was_asked_for_before(
    seconds: float, problems: int
) -> None:
    watched = Watched(2)
    watched.asks_for(OF_TWO)
    watched.all_are_well()
    watched.asks_for(OF_THREE)
    watched.seconds = seconds
    for name in watched.names:
        watched.update(name)
    assert len(watched.seen.problems) == problems


def test_with_its_placement_everything_goes() -> None:
    watched = Watched(3)
    watched.asks_for(OF_THREE)
    watched.all_are_well()
    watched.asks_for(OF_THREE, is_deleting=True)
    for name in watched.names:
        watched.remove(name)
    assert not watched.seen.problems


def _binding(
    name: str, *, generation: int = 1, snapshot: str = "web-0", is_deleting: bool = False
) -> Object:
    available = {"type": "Available", "status": "True", "observedGeneration": 1}
    metadata = {
        "name": name,
        "generation": generation,
        "labels": {"kubernetes-fleet.io/parent-CRP": "web"},
    }
    return {
        "kind": "ClusterResourceBinding",
        "metadata": metadata | ({"deletionTimestamp": "now"} if is_deleting else {}),
        "spec": {"state": "Bound", "resourceSnapshotName": snapshot},
        "status": {"conditions": [available]},
    }
