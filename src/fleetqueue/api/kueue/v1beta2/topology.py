"""Topology: the levels of a data centre, from the widest to single nodes, as node labels."""

from typing import Annotated

from fleetqueue.api.kinds import Kind, Resource
from fleetqueue.api.kueue.group import GROUP, UNIQUE
from fleetqueue.api.markers import Rule, Schema
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import QUALIFIED_NAME

HOSTNAME = "kubernetes.io/hostname"

HOSTNAME_IS_LOWEST = Rule(
    f"!self.exists(level, level.nodeLabel == '{HOSTNAME}') ||"
    f" self[size(self) - 1].nodeLabel == '{HOSTNAME}'",
    "the kubernetes.io/hostname label can only be used at the lowest level of topology",
)
MUTABLE_ABOVE_HOSTNAME = Rule(
    f"self == oldSelf || (self[size(self) - 1].nodeLabel == '{HOSTNAME}' &&"
    f" oldSelf[size(oldSelf) - 1].nodeLabel == '{HOSTNAME}')",
    "levels are mutable only when kubernetes.io/hostname is the lowest level both before and"
    " after the change",
)


class TopologyLevel(Model):
    """One level: nodes with the same value of this label are close to each other."""

    node_label: Annotated[str, Schema(min_length=1, max_length=316, pattern=QUALIFIED_NAME)]


Levels = Annotated[
    list[TopologyLevel],
    Schema(min_items=1, max_items=16, list_type="atomic", required=True),
]


class TopologySpec(Model):
    """The levels, widest first."""

    levels: Annotated[Levels, MUTABLE_ABOVE_HOSTNAME, UNIQUE, HOSTNAME_IS_LOWEST] = []


class Topology(
    Resource,
    kind=Kind(
        GROUP,
        "v1beta2",
        "topologies",
        scope="Cluster",
        short_names=("topo",),
        storage=True,
    ),
):
    """How close nodes are to each other."""

    spec: TopologySpec = TopologySpec()
