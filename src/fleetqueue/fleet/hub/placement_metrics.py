"""Counts what the controllers of placements do, under the names that KubeFleet gives them."""

from collections.abc import Iterator
from typing import Any

from fleetqueue.kube.controller import Loop
from fleetqueue.metrics.registry import Reading

NAMES = {
    "ClusterResourcePlacement": "cluster-resource-placement-controller-v1beta1",
    "ResourcePlacement": "resource-placement-controller",
}
TIME = "fleet_workload_reconcile_time_seconds"
RESULTS = ("success", "error", "requeue", "requeue_after")


class LoopReadings:
    """A source of metrics: what one loop has done and does."""

    def __init__(self, name: str, loop: Loop[Any]) -> None:
        self._name = name
        self._loop = loop

    def __call__(self) -> Iterator[Reading]:
        outcomes = self._loop.outcomes
        for result in RESULTS:
            yield "fleet_workload_reconcile_total", (self._name, result), float(outcomes[result])
        name = (self._name,)
        yield "fleet_workload_reconcile_errors_total", name, float(outcomes["error"])
        workers = float(self._loop.controller.workers)
        yield "fleet_workload_max_concurrent_reconciles", name, workers
        yield "fleet_workload_active_workers", name, float(self._loop.queue.at_work)
