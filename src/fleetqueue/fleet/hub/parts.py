"""What placement runs on a hub."""

from collections.abc import Callable, Sequence

from fleetqueue.fleet.hub import (
    cluster_profiles,
    evictions,
    membership,
    overrides,
    placement,
    rollout,
    scheduler,
    update_runs,
    work_generator,
)
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube.manager import Manager
from fleetqueue.metrics.registry import Metrics

Install = Callable[[Manager, HubSettings, Metrics], None]
PARTS: Sequence[Install] = (
    membership.install,
    cluster_profiles.install,
    overrides.install,
    work_generator.install,
    update_runs.install,
    placement.install,
    scheduler.install,
    rollout.install,
    evictions.install,
)


def install(manager: Manager, settings: HubSettings, metrics: Metrics) -> None:
    """Adds all of it to a manager, before it runs."""
    for part in PARTS:
        part(manager, settings, metrics)
