"""Jobs of several Workloads, which all go to the worker that the first of them found."""

from collections.abc import Sequence
from dataclasses import dataclass

from fleetqueue.api.kueue import labels
from fleetqueue.kube.resources import Object


@dataclass(frozen=True, slots=True)
class Component:
    """One Workload of the job."""

    name: str
    index: int
    cluster: str


@dataclass(frozen=True, slots=True)
class Primary:
    """Where a component has to go, or whether it is the one that finds out."""

    cluster: str = ""
    is_first: bool = False
    problem: str = ""


def component_of(workload: Object) -> Component:
    metadata = workload["metadata"]
    said = (metadata.get("annotations") or {}).get(labels.COMPONENT_WORKLOAD_INDEX) or "0"
    cluster = (workload.get("status") or {}).get("clusterName") or ""
    return Component(str(metadata["name"]), int(said) if said.isdigit() else 0, str(cluster))


def primary_of(workload: Object, components: Sequence[Component], wanted: int) -> Primary:
    if len(components) < wanted:
        return Primary()
    clusters = list(dict.fromkeys(each.cluster for each in components if each.cluster))
    if len(clusters) > 1:
        first, second = clusters[:2]
        text = f'component workloads assigned to different clusters: "{first}" and "{second}"'
        return Primary(problem=text)
    if clusters:
        return Primary(cluster=clusters[0])
    lowest = min(components, key=lambda each: (each.index, each.name))
    return Primary(is_first=lowest.name == workload["metadata"]["name"])
