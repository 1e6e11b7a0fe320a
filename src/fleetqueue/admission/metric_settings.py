"""Which metrics there are, as the configuration and the gates say."""

from collections.abc import Mapping
from dataclasses import dataclass

from fleetqueue.api import selectors
from fleetqueue.api.kueue.config import Configuration
from fleetqueue.api.model import write
from fleetqueue.api.selectors import LabelSelector
from fleetqueue.metrics.custom_labels import CustomLabel


@dataclass(frozen=True, slots=True)
class MetricSettings:
    """All of it."""

    tells_quota: bool = False
    """Quota and usage, by flavor and resource."""
    local_queues: LabelSelector | None = selectors.EVERYTHING
    """The LocalQueues that have metrics; None: no one has."""
    tells_cohorts: bool = True
    tells_creation: bool = True
    """How long jobs waited for their workloads."""
    tells_unadmitted: bool = True
    tells_readiness: bool = True
    """Whether pods are waited for."""
    custom: tuple[CustomLabel, ...] = ()


def read_settings(config: Configuration, on: Mapping[str, bool]) -> MetricSettings:
    waits = None if on["DisableWaitForPodsReady"] else config.wait_for_pods_ready
    return MetricSettings(
        tells_quota=config.metrics.enable_cluster_queue_resources,
        local_queues=_local_queues(config, on),
        tells_cohorts=on["MetricsForCohorts"],
        tells_creation=on["MetricForWorkloadCreationLatency"],
        tells_unadmitted=on["UnadmittedWorkloadsObservability"],
        tells_readiness=waits is not None,
        custom=_custom(config) if on["CustomMetricLabels"] else (),
    )


def _custom(config: Configuration) -> tuple[CustomLabel, ...]:
    return tuple(
        CustomLabel(
            each.name,
            getattr(each, "source_kind", ""),
            each.source_label_key,
            each.source_annotation_key,
            frozenset(getattr(each, "tracked_values", ())),
        )
        for each in config.metrics.custom_labels
    )


def _local_queues(config: Configuration, on: Mapping[str, bool]) -> LabelSelector | None:
    wanted = config.metrics.local_queue_metrics
    if not on["LocalQueueMetrics"] or not wanted.enable:
        return None
    selector = wanted.local_queue_selector
    return (
        selectors.EVERYTHING if selector is None else selectors.labels_from_object(write(selector))
    )
