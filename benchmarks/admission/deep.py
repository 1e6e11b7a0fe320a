"""`python -m benchmarks.admission.deep`: a deep mixed queue without any server: what deciding
costs, how long those that fit wait behind those that do not, and the memory of one that waits.
"""

import argparse
import asyncio
import time
import tracemalloc
from datetime import UTC, datetime, timedelta
from typing import Any

from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.queue_book import LocalQueue
from fleetqueue.admission.scheduler import Scheduler
from fleetqueue.api.meta import Key
from fleetqueue.base import codec
from fleetqueue.base.clock import SystemClock
from fleetqueue.queueing.reading import ReadingRules
from fleetqueue.queueing.settings import Settings

Object = dict[str, Any]
API = "kueue.x-k8s.io/v1beta2"
GPU = "nvidia.com/gpu"
NAMESPACE = "default"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
SHAPES = 100
NOW = SystemClock().now


class PaperWriter:
    """Takes every write, and says when there were as many as are waited for."""

    def __init__(self) -> None:
        self.reserved = self.told = 0
        self._until: tuple[int, int] = (0, 0)
        self._is_done = asyncio.Event()

    async def reserve(self, decision: Any) -> bool:
        self.reserved += 1
        self._look()
        return True

    async def caught_up(self) -> None:
        """It always is."""

    async def wait(self, decision: Any) -> None:
        self.told += bool(decision.reason)
        self._look()

    async def until(self, *, reserved: int, told: int) -> None:
        self._until = (reserved, told)
        self._is_done.clear()
        self._look()
        await self._is_done.wait()

    def _look(self) -> None:
        if self.reserved >= self._until[0] and self.told >= self._until[1]:
            self._is_done.set()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocked", type=int, default=10_000, help="that want what is not there")
    parser.add_argument("--ready", type=int, default=1_000, help="that fit, and come later")
    options = parser.parse_args()
    asyncio.run(measure(options.blocked, options.ready))


async def measure(blocked: int, ready: int) -> None:
    ledger, writer, now = Ledger(Settings(), ReadingRules(), NOW), PaperWriter(), time.process_time
    scheduler = Scheduler(ledger, writer, NOW)  # type: ignore[arg-type]
    ledger.namespaces.put({"metadata": {"name": NAMESPACE}})
    ledger.put_flavor(_made("ResourceFlavor", "rf", {}))
    ledger.put_cluster_queue(_cluster_queue(ready))
    ledger.put_local_queue(Key(NAMESPACE, "main"), LocalQueue("queue"))
    fill(ledger, blocked)
    running = asyncio.create_task(scheduler.run())
    began = now()
    await writer.until(reserved=0, told=SHAPES)
    print(f"all of them tried, of {SHAPES} shapes: {now() - began:.2f} s CPU, {writer.told:,} told")
    began, wall = now(), time.perf_counter()
    for number in range(ready):
        ledger.put_workload(_workload(blocked + number, {"cpu": "1"}))
    await writer.until(reserved=ready, told=0)
    cpu, seconds = now() - began, time.perf_counter() - wall
    print(f"{ready:,} that fit behind them: {seconds:.2f} s, {cpu / ready * 1000:.2f} ms CPU each")
    running.cancel()


def fill(ledger: Ledger, blocked: int) -> None:
    shapes = [{"cpu": f"{number + 1}m", GPU: "1"} for number in range(SHAPES)]
    made = [codec.encode(_workload(at, shapes[at % SHAPES])) for at in range(blocked)]
    tracemalloc.start()
    objects = [codec.decode(each) for each in made]
    of_objects = tracemalloc.get_traced_memory()[0]
    for each in objects:
        ledger.put_workload(each)
    of_ledger = tracemalloc.get_traced_memory()[0] - of_objects
    tracemalloc.stop()
    print(
        f"each of {blocked:,} that wait: {of_ledger / blocked / 1024:.1f} KiB in the ledger, "
        f"{of_objects / blocked / 1024:.1f} KiB for the object in the cache"
    )


def _cluster_queue(cpus: int) -> Object:
    amounts = {"cpu": cpus, GPU: 0}
    resources = [{"name": name, "nominalQuota": amount} for name, amount in amounts.items()]
    flavors = [{"name": "rf", "resources": resources}]
    group = {"coveredResources": list(amounts), "flavors": flavors}
    spec = {"namespaceSelector": {}, "resourceGroups": [group]}
    return _made("ClusterQueue", "queue", {**spec, "queueingStrategy": "BestEffortFIFO"})


def _workload(number: int, requests: Object) -> Object:
    container = {"name": "c", "image": "none", "resources": {"requests": requests}}
    template = {"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    pods = {"name": "main", "count": 1, "template": template}
    made = _made("Workload", f"w-{number}", {"queueName": "main", "podSets": [pods]})
    created = EPOCH + timedelta(seconds=number)
    made["metadata"] |= {
        "namespace": NAMESPACE,
        "uid": f"00000000-0000-0000-0000-{number:012}",
        "generation": 1,
        "resourceVersion": str(number + 1),
        "creationTimestamp": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return made


def _made(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


if __name__ == "__main__":
    main()
