"""LocalQueue as v1beta1 has it: other names in the status, and a list of the flavors."""

from typing import Annotated

from fleetqueue.api.kinds import Resource
from fleetqueue.api.kueue import v1beta2
from fleetqueue.api.kueue.group import (
    ResourceFlavorReference,
    ResourceName,
    TopologyReference,
    deprecated,
)
from fleetqueue.api.kueue.v1beta1.fair_sharing import FairSharingStatus
from fleetqueue.api.kueue.v1beta2.local_queue import LocalQueueFlavorUsages, LocalQueueSpec
from fleetqueue.api.markers import Schema
from fleetqueue.api.meta import Conditions
from fleetqueue.api.model import Model, sent
from fleetqueue.api.scalars import Int32
from fleetqueue.api.taints import Taint


class TopologyInfo(Model):
    """The topology of a flavor."""

    name: TopologyReference
    levels: Annotated[list[str], Schema(min_items=1, max_items=16, list_type="atomic")]


class LocalQueueFlavorStatus(Model):
    """A flavor that the queue can give; nothing fills it any more."""

    name: ResourceFlavorReference
    resources: Annotated[list[ResourceName], Schema(max_items=64, list_type="set")] = []
    node_labels: Annotated[dict[str, str], Schema(max_properties=8, map_type="atomic")] = {}
    node_taints: Annotated[list[Taint], Schema(max_items=8, list_type="atomic")] = []
    topology: TopologyInfo | None = None


class LocalQueueStatus(Model):
    """Whether workloads can be submitted, and what those submitted hold."""

    conditions: Conditions = []
    pending_workloads: Int32 = sent(default_factory=int)
    reserving_workloads: Int32 = sent(default_factory=int)
    admitted_workloads: Int32 = sent(default_factory=int)
    flavors_reservation: LocalQueueFlavorUsages = []
    flavor_usage: LocalQueueFlavorUsages = []
    flavors: Annotated[
        list[LocalQueueFlavorStatus], Schema(max_items=64, list_type="map", list_keys=("name",))
    ] = []
    fair_sharing: FairSharingStatus | None = None


class LocalQueue(Resource, kind=deprecated(v1beta2.LocalQueue)):
    """A queue that the users of one namespace submit to."""

    spec: LocalQueueSpec = LocalQueueSpec()
    status: LocalQueueStatus = LocalQueueStatus()
