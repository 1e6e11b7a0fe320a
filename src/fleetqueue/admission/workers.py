"""How busy the controllers are, read off their queues when somebody asks for the metrics."""

from collections import Counter
from collections.abc import Iterator

from fleetqueue.kube.controller import Loop
from fleetqueue.kube.manager import Manager
from fleetqueue.metrics.registry import Reading


def readings(manager: Manager) -> Iterator[Reading]:
    """Controllers of one name are told together."""
    told: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for loop in manager.loops():
        for metric, labels, value in _of(loop):
            told[metric, labels] += int(value)
    for (metric, labels), count in told.items():
        yield metric, labels, count


def _of(loop: Loop[object]) -> Iterator[Reading]:
    name = loop.controller.name
    for result, count in loop.outcomes.items():
        yield "controller_runtime_reconcile_total", (name, result), count
    yield "controller_runtime_reconcile_errors_total", (name,), loop.outcomes["error"]
    yield "controller_runtime_max_concurrent_reconciles", (name,), loop.controller.workers
    yield "controller_runtime_active_workers", (name,), loop.queue.at_work
    yield "workqueue_depth", (name,), len(loop.queue)
