"""What is placed, and the placements: a namespace with a ConfigMap by a ClusterResourcePlacement
each, or a ConfigMap of one namespace by a ResourcePlacement each.
"""

from collections.abc import Iterator
from typing import Any

Object = dict[str, Any]
API = "placement.kubernetes-fleet.io/v1beta1"
SHARED = "bench-shared"
"""The namespace of all ResourcePlacements."""
PICKED = 2
"""So many members a ResourcePlacement picks."""
UNAVAILABLE_SECONDS = 2
CONFIG = "conf"


def name_of(number: int, prefix: str = "bench") -> str:
    return f"{prefix}-{number}"


def sources(name: str) -> Iterator[Object]:
    """A namespace with a ConfigMap of half a kilobyte."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    yield config_map(CONFIG, name)


def config_map(name: str, namespace: str) -> Object:
    metadata = {"name": name, "namespace": namespace}
    data = {"round": "0", "text": "x" * 480}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def of_namespace(name: str) -> Object:
    """PickAll of a namespace and what is in it."""
    spec = {"policy": {"placementType": "PickAll"}}
    return _placement("ClusterResourcePlacement", {"name": name}, "Namespace", name, spec)


def of_shared_namespace() -> Object:
    """The namespace alone, so that ResourcePlacements can put something into it."""
    made = of_namespace(SHARED)
    made["spec"]["resourceSelectors"][0]["selectionScope"] = "NamespaceOnly"
    return made


def of_config_map(name: str) -> Object:
    """PickN of one ConfigMap."""
    metadata = {"name": name, "namespace": SHARED}
    spec = {"policy": {"placementType": "PickN", "numberOfClusters": PICKED}}
    return _placement("ResourcePlacement", metadata, "ConfigMap", name, spec)


def _placement(kind: str, metadata: Object, of: str, name: str, spec: Object) -> Object:
    selector = {"group": "", "version": "v1", "kind": of, "name": name}
    rolling = {"unavailablePeriodSeconds": UNAVAILABLE_SECONDS}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    whole = {"resourceSelectors": [selector], "strategy": strategy, **spec}
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": whole}
