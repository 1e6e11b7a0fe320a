"""AdmissionCheck as v1beta1 has it: fewer limits, and a delay that has no effect."""

from typing import Annotated

from fleetqueue.api.kinds import Resource
from fleetqueue.api.kueue import v1beta2
from fleetqueue.api.kueue.group import IMMUTABLE, deprecated
from fleetqueue.api.kueue.v1beta2.admission_check import KIND_NAME
from fleetqueue.api.markers import Schema
from fleetqueue.api.meta import Conditions
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import DnsLabel, DnsSubdomain, Int64


class AdmissionCheckParametersReference(Model):
    """The object that configures a check."""

    api_group: DnsSubdomain
    kind: Annotated[str, Schema(max_length=63, pattern=KIND_NAME)]
    name: DnsLabel


class AdmissionCheckSpec(Model):
    """Which controller answers, and with which parameters."""

    controller_name: Annotated[str, Schema(required=True), IMMUTABLE] = ""
    retry_delay_minutes: Annotated[Int64 | None, Schema(default=15)] = None
    parameters: AdmissionCheckParametersReference | None = None


class AdmissionCheckStatus(Model):
    """Whether the check can be answered at all."""

    conditions: Conditions = []


class AdmissionCheck(Resource, kind=deprecated(v1beta2.AdmissionCheck)):
    """A step between having quota and being admitted."""

    spec: AdmissionCheckSpec = AdmissionCheckSpec()
    status: AdmissionCheckStatus = AdmissionCheckStatus()
