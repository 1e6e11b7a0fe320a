"""What of the configuration matters to the check."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProvisioningSettings:
    """As the gates have it where nothing is said."""

    cleans_up: bool = True
    """Whether the requests of evicted workloads are deleted."""
    names_queues: bool = True
    """Whether the labels of pods tell the queues they came through."""


def read_settings(gates: Mapping[str, bool]) -> ProvisioningSettings:
    return ProvisioningSettings(
        cleans_up=gates["CleanupProvisioningRequestsOnEviction"],
        names_queues=gates["AssignQueueLabelsForPods"],
    )
