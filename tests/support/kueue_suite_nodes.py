"""The nodes that Kueue's end-to-end suites look for, by suite: names as kind gives them, and the
labels of the cluster each suite is run on.
"""

from typing import NamedTuple

ROLE = "node-role.kubernetes.io/control-plane"
GROUP, BLOCK, RACK = (
    f"cloud.provider.com/{part}" for part in ("node-group", "topology-block", "topology-rack")
)


class Node(NamedTuple):
    name: str
    labels: dict[str, str]


CONTROL_PLANE = Node("kind-control-plane", {ROLE: ""})
USUAL = [
    CONTROL_PLANE,
    Node("kind-worker", {"instance-type": "on-demand", GROUP: "tas-node"}),
    Node("kind-worker2", {"instance-type": "spot"}),
]
RACKS = [(block, rack) for block in ("b1", "b2") for rack in ("r1", "r2")]
NODES_PER_RACK = 2


def nodes_of(suite: str) -> list[Node]:
    """Those of `tas` stand in racks and blocks, so that places among them differ."""
    return [CONTROL_PLANE, *_racks()] if suite.startswith("tas/") else USUAL


def _racks() -> list[Node]:
    places = [place for place in RACKS for _ in range(NODES_PER_RACK)]
    return [
        Node(
            "kind-worker" if number == 1 else f"kind-worker{number}",
            {GROUP: "tas-group", BLOCK: block, RACK: rack},
        )
        for number, (block, rack) in enumerate(places, start=1)
    ]
