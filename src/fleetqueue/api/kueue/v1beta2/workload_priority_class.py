"""WorkloadPriorityClass: a name for a workload's priority, apart from that of its pods."""

from typing import Annotated

from fleetqueue.api.kinds import Column, Kind, Resource
from fleetqueue.api.kueue.group import GROUP
from fleetqueue.api.markers import Schema
from fleetqueue.api.scalars import Int32


class WorkloadPriorityClass(
    Resource,
    kind=Kind(
        GROUP,
        "v1beta2",
        "workloadpriorityclasses",
        scope="Cluster",
        short_names=("wpc",),
        storage=True,
        columns=(Column("Value", ".value", "integer"),),
    ),
):
    """The higher the value, the earlier a workload is admitted."""

    value: Int32
    description: Annotated[str, Schema(max_length=2048)] = ""
