"""AdmissionCheck: a question that a controller answers before a workload may start."""

from typing import Annotated

from fleetqueue.api.kinds import Kind, Resource
from fleetqueue.api.kueue.group import GROUP, IMMUTABLE, BoundedConditions
from fleetqueue.api.markers import Schema
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import DNS_LABEL, DnsSubdomain

KIND_NAME = "^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$"


class AdmissionCheckParametersReference(Model):
    """The object that configures a check."""

    api_group: Annotated[DnsSubdomain, Schema(min_length=1)]
    kind: Annotated[str, Schema(min_length=1, max_length=63, pattern=KIND_NAME)]
    name: Annotated[str, Schema(min_length=1, max_length=63, pattern=DNS_LABEL)]


class AdmissionCheckSpec(Model):
    """Which controller answers, and with which parameters."""

    controller_name: Annotated[
        str, Schema(min_length=1, max_length=253, required=True), IMMUTABLE
    ] = ""
    parameters: AdmissionCheckParametersReference | None = None


class AdmissionCheckStatus(Model):
    """Whether the check can be answered at all."""

    conditions: BoundedConditions = []


class AdmissionCheck(
    Resource,
    kind=Kind(
        GROUP,
        "v1beta2",
        "admissionchecks",
        scope="Cluster",
        short_names=("ac",),
        storage=True,
        status=True,
    ),
):
    """A step between having quota and being admitted."""

    spec: AdmissionCheckSpec = AdmissionCheckSpec()
    status: AdmissionCheckStatus = AdmissionCheckStatus()
