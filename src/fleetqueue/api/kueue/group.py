"""The API group of Kueue: its versions, names that its kinds share, and how they are declared."""

from dataclasses import replace
from typing import Annotated

from fleetqueue.api.kinds import Column, ConversionWebhook, Kind, Resource, kind_of
from fleetqueue.api.markers import Rule, Schema
from fleetqueue.api.meta import Conditions
from fleetqueue.api.scalars import DnsLabel, DnsSubdomain
from fleetqueue.api.taints import Toleration

GROUP = "kueue.x-k8s.io"
LEVEL = "v0.20.0"
"""The Kueue that we behave as."""
DEPRECATION = "This version is deprecated. Use v1beta2 instead."
CONVERSION = ConversionWebhook("kueue-webhook-service", "kueue-system")

ClusterQueueReference = DnsSubdomain
LocalQueueName = DnsSubdomain
CohortReference = DnsSubdomain
ResourceFlavorReference = DnsSubdomain
TopologyReference = DnsSubdomain
PodSetReference = DnsLabel
AdmissionCheckReference = Annotated[str, Schema(min_length=1, max_length=316)]
ResourceName = str

BoundedConditions = Annotated[Conditions, Schema(max_items=16)]

IMMUTABLE = Rule("self == oldSelf", "field is immutable")
UNIQUE = Rule("self.all(i, self.exists_one(j, j == i))", "must be unique")

TAINT_EFFECTS = "['NoSchedule', 'PreferNoSchedule', 'NoExecute']"
KNOWN_EFFECTS = "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"

Tolerations = Annotated[
    list[Toleration],
    Schema(max_items=8, list_type="atomic"),
    Rule(
        "self.all(t, has(t.key) || t.operator == 'Exists')",
        "operator must be Exists when 'key' is empty, which means 'match all values and all keys'",
    ),
    Rule(
        "self.all(t, !has(t.tolerationSeconds) || t.effect == 'NoExecute')",
        "effect must be 'NoExecute' when 'tolerationSeconds' is set",
    ),
    Rule(
        "self.all(t, !has(t.operator) || t.operator in ['Equal', 'Exists'])",
        "supported toleration values: 'Equal'(default), 'Exists'",
    ),
    Rule(
        "self.all(t, !has(t.operator) || t.operator != 'Exists' || !has(t.value))",
        "a value must be empty when 'operator' is 'Exists'",
    ),
    Rule(f"self.all(t, !has(t.effect) || t.effect in {TAINT_EFFECTS})", KNOWN_EFFECTS),
]


def deprecated(cls: type[Resource], columns: tuple[Column, ...] | None = None) -> Kind:
    """The kind as v1beta1 serves it, from its v1beta2: with a warning, and never stored."""
    kind = kind_of(cls)
    return replace(
        kind,
        version="v1beta1",
        storage=False,
        deprecated=True,
        deprecation_warning=DEPRECATION,
        selectable=(),
        columns=kind.columns if columns is None else columns,
    )
