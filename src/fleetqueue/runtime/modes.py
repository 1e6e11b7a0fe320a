"""Which pods run as processes and which are simulated, by what nodes and pods say."""

from fleetqueue.kube.resources import Object

RUNTIME = "fleetqueue.io/runtime"
"""Label of a node: `process` or `simulated`."""
SIMULATE = "fleetqueue.io/simulate"
"""Annotation of a pod: "true" where it is simulated on whatever node."""
NODE_DOWN = "fleetqueue.io/sim-node-down"
"""Annotation of a simulated node: "true" lets it fall silent as a machine that lost its power."""
KWOK_NODE = "kwok.x-k8s.io/node"
PROCESS, SIMULATED = "process", "simulated"


def is_simulated_node(node: Object) -> bool:
    metadata = node["metadata"]
    labels, notes = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return labels.get(RUNTIME) == SIMULATED or "fake" in (
        notes.get(KWOK_NODE),
        labels.get(KWOK_NODE),
    )


def is_simulated(pod: Object, node: Object | None) -> bool:
    """Of a pod that is bound; `node` is None where its node is not known."""
    notes = pod["metadata"].get("annotations") or {}
    return notes.get(SIMULATE) == "true" or (node is not None and is_simulated_node(node))


def is_down(node: Object) -> bool:
    return (node["metadata"].get("annotations") or {}).get(NODE_DOWN) == "true"
