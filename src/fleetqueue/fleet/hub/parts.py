"""What placement runs on a hub."""

from collections.abc import Callable, Sequence

from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube.manager import Manager
from fleetqueue.metrics.registry import Metrics

Install = Callable[[Manager, HubSettings, Metrics], None]
PARTS: Sequence[Install] = ()


def install(manager: Manager, settings: HubSettings, metrics: Metrics) -> None:
    """Adds all of it to a manager, before it runs."""
    for part in PARTS:
        part(manager, settings, metrics)
