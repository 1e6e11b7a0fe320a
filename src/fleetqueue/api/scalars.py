"""Scalar types of the wire: sized integers, times, quantities, and names with their patterns."""

from datetime import datetime
from typing import Annotated, Any

from fleetqueue.api.markers import Core, Schema

DNS_LABEL = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
QUALIFIED_NAME = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)

Int32 = Annotated[int, Schema(format="int32")]
Int64 = Annotated[int, Schema(format="int64")]
Double = Annotated[float, Schema(format="double")]
Time = Annotated[datetime, Schema(format="date-time")]
"""A moment with a precision of one second, in UTC."""
Duration = str
"""Go's form: "1h30m", "500ms"."""

Quantity = Annotated[str | int, Schema(int_or_string=True, pattern=QUANTITY)]
"""As it came over the wire; `fleetqueue.api.quantity` computes with it."""
IntOrString = Annotated[int | str, Schema(int_or_string=True)]

DnsLabel = Annotated[str, Schema(max_length=63, pattern=DNS_LABEL)]
DnsSubdomain = Annotated[str, Schema(max_length=253, pattern=DNS_SUBDOMAIN)]

Json = Annotated[dict[str, Any], Schema(preserve_unknown=True)]
"""An object of any shape."""
EmbeddedResource = Annotated[dict[str, Any], Schema(preserve_unknown=True, embedded=True)]
"""A whole Kubernetes object inside another one."""
PodTemplate = Annotated[dict[str, Any], Core("io.k8s.api.core.v1.PodTemplateSpec")]
PodSpec = Annotated[dict[str, Any], Core("io.k8s.api.core.v1.PodSpec")]
