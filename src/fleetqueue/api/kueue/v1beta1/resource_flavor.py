"""ResourceFlavor as v1beta1 has it: the same."""

from fleetqueue.api.kinds import Resource
from fleetqueue.api.kueue import v1beta2
from fleetqueue.api.kueue.group import deprecated
from fleetqueue.api.kueue.v1beta2.resource_flavor import ResourceFlavorSpec


class ResourceFlavor(Resource, kind=deprecated(v1beta2.ResourceFlavor)):
    """A sort of nodes, told apart by labels and taints."""

    spec: ResourceFlavorSpec = ResourceFlavorSpec()
