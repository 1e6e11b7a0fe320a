"""WorkloadPriorityClass as v1beta1 has it: the description has no limit."""

from fleetqueue.api.kinds import Resource
from fleetqueue.api.kueue import v1beta2
from fleetqueue.api.kueue.group import deprecated
from fleetqueue.api.scalars import Int32


class WorkloadPriorityClass(Resource, kind=deprecated(v1beta2.WorkloadPriorityClass)):
    """The higher the value, the earlier a workload is admitted."""

    value: Int32
    description: str = ""
