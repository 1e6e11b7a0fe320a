"""ResourceFlavor: a sort of nodes that quota is given for."""

from typing import Annotated

from fleetqueue.api.kinds import Kind, Resource
from fleetqueue.api.kueue.group import (
    GROUP,
    KNOWN_EFFECTS,
    TAINT_EFFECTS,
    Tolerations,
    TopologyReference,
)
from fleetqueue.api.markers import Rule, Schema, schema
from fleetqueue.api.model import Model
from fleetqueue.api.taints import Taint


@schema(
    Rule(
        # Not guarded by has(): a flavor without nodeLabels is refused with "no such key".
        "!has(self.topologyName) || self.nodeLabels.size() > 0",
        "at least one nodeLabel is required when topology is set",
    ),
    Rule(
        "!has(oldSelf.topologyName) ||"
        " (has(self.topologyName) && self.topologyName == oldSelf.topologyName)",
        "topologyName is immutable when topologyName is set",
    ),
)
class ResourceFlavorSpec(Model):
    """The labels and taints of the nodes, and what pods need to get there."""

    node_labels: Annotated[dict[str, str], Schema(max_properties=8, map_type="atomic")] = {}
    node_taints: Annotated[
        list[Taint],
        Schema(max_items=8, list_type="atomic"),
        Rule(f"self.all(taint, taint.effect in {TAINT_EFFECTS})", KNOWN_EFFECTS),
    ] = []
    tolerations: Tolerations = []
    topology_name: TopologyReference = ""


class ResourceFlavor(
    Resource,
    kind=Kind(
        GROUP,
        "v1beta2",
        "resourceflavors",
        scope="Cluster",
        short_names=("flavor", "flavors", "rf"),
        storage=True,
    ),
):
    """A sort of nodes, told apart by labels and taints."""

    spec: ResourceFlavorSpec = ResourceFlavorSpec()
