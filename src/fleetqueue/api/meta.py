"""What all kinds have in common: metadata, conditions, owner references, selectors, Status."""

from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import msgspec

from fleetqueue.api.markers import Schema, schema
from fleetqueue.api.model import Model, sent
from fleetqueue.api.scalars import Int32, Int64, Time


class Key(NamedTuple):
    """The place of an object among those of its kind; the namespace is "" where there is none."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@schema(Schema(map_type="atomic"))
class OwnerReference(Model):
    """The object that this one belongs to."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ManagedFieldsEntry(Model):
    """The fields that one manager set with one operation."""

    manager: str = ""
    operation: str = ""
    api_version: str = ""
    time: Time | None = None
    fields_type: str = ""
    fields_v1: dict[str, Any] = msgspec.field(default_factory=dict, name="fieldsV1")
    subresource: str = ""


class ObjectMeta(Model):
    """Who an object is, and what the API server keeps about it."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: Int64 | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    finalizers: list[str] = []
    managed_fields: list[ManagedFieldsEntry] = []


class ListMeta(Model):
    """Where a list stands in the history of its kind, and how to get its next page."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: Int64 | None = None


class ConditionStatus(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


CONDITION_TYPE = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)


class Condition(Model):
    """One aspect of an object's state, when it last changed, and why."""

    type: Annotated[str, Schema(max_length=316, pattern=CONDITION_TYPE)]
    status: ConditionStatus
    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    last_transition_time: Time
    reason: Annotated[
        str,
        Schema(min_length=1, max_length=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
    ]
    message: Annotated[str, Schema(max_length=32768)]


Conditions = Annotated[list[Condition], Schema(list_type="map", list_keys=("type",))]


class LabelSelectorRequirement(Model):
    """One comparison of a label with a set of values."""

    key: str
    operator: str
    values: Annotated[list[str], Schema(list_type="atomic")] = []


@schema(Schema(map_type="atomic"))
class LabelSelector(Model):
    """Objects that carry all of these labels and meet all of these requirements."""

    match_labels: dict[str, str] = {}
    match_expressions: Annotated[list[LabelSelectorRequirement], Schema(list_type="atomic")] = []


class StatusCause(Model):
    """One reason of a refusal, often about one field."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Model):
    """What a Status is about."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[StatusCause] = []
    retry_after_seconds: Int32 = 0


class Status(Model):
    """The answer to a request that has no object to answer with, mostly a refusal."""

    api_version: str = sent(default_factory=lambda: "v1")
    kind: str = sent(default_factory=lambda: "Status")
    metadata: ListMeta = sent(default_factory=ListMeta)
    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: Int32 = 0
