"""Configuration as v1beta1 has it, and its translation: two features have a switch of their own."""

from typing import Any

from fleetqueue.api.kueue.config import types
from fleetqueue.api.kueue.config.manager import Anything, LocalQueueMetrics, Metrics
from fleetqueue.api.kueue.config.types import PreemptionStrategy
from fleetqueue.api.model import Model

Json = dict[str, Any]

API_VERSION = "config.kueue.x-k8s.io/v1beta1"


class CustomLabel(Model):
    """A label of metrics; the kind of its source cannot be chosen yet."""

    name: str
    source_label_key: str = ""
    source_annotation_key: str = ""


class MetricsV1Beta1(Model):
    """What is measured, and where it can be read."""

    bind_address: str = Metrics().bind_address
    enable_cluster_queue_resources: bool = False
    local_queue_metrics: LocalQueueMetrics = LocalQueueMetrics()
    custom_labels: list[CustomLabel] = []


class WaitForPodsReady(types.WaitForPodsReady):
    """Off unless enabled."""

    enable: bool = False


class FairSharing(types.FairSharing):
    """Off unless enabled."""

    enable: bool = False


class Integrations(types.Integrations):
    """The kinds of jobs that are managed; options for pods have no effect any more."""

    pod_options: Anything = None


class DeviceClassMapping(Model):
    """The name under which quota counts devices of some classes."""

    name: str
    device_class_names: list[str] = []


class Resources(Model):
    """How requests become what quota counts."""

    exclude_resource_prefixes: list[str] = []
    transformations: list[types.ResourceTransformation] = []
    device_class_mappings: list[DeviceClassMapping] = []


class Configuration(types.Configuration):
    """Everything that can be set in the file."""

    metrics: MetricsV1Beta1 = MetricsV1Beta1()  # type: ignore[assignment]  # fewer fields
    wait_for_pods_ready: WaitForPodsReady | None = None
    integrations: Integrations = Integrations()
    fair_sharing: FairSharing | None = None
    resources: Resources = Resources()  # type: ignore[assignment]  # fewer fields
    queue_visibility: Anything = None


ABSENT = ("visibilityServer",)
"""Fields of v1beta2 that v1beta1 does not have."""


def as_v1beta2(raw: Json) -> Json:
    """The same settings in v1beta2's words. A feature that is switched off is null."""
    upgraded = {name: value for name, value in raw.items() if name != "queueVisibility"}
    upgraded["apiVersion"] = types.API_VERSION
    upgraded["waitForPodsReady"] = _wait_for_pods_ready(raw.get("waitForPodsReady") or {})
    upgraded["fairSharing"] = _fair_sharing(raw.get("fairSharing") or {})
    if integrations := raw.get("integrations"):
        upgraded["integrations"] = _without(integrations, "podOptions")
    return upgraded


def _wait_for_pods_ready(block: Json) -> Json | None:
    if not block.get("enable"):
        return None
    return {"timeout": "5m", "blockAdmission": True} | _without(block, "enable")


def _fair_sharing(block: Json) -> Json | None:
    if not block.get("enable"):
        return None
    both = [strategy.value for strategy in PreemptionStrategy]
    return {"preemptionStrategies": block.get("preemptionStrategies") or both}


def _without(block: Json, name: str) -> Json:
    return {key: value for key, value in block.items() if key != name}
