"""`python -m benchmarks.admission.memory`: what a workload that waits takes in `fleetqueue
controller`, all caches together: the growth of its resident memory from some workloads to many.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from benchmarks.admission import objects  # noqa: E402
from benchmarks.admission.__main__ import prepare, settle  # noqa: E402
from benchmarks.admission.doors import Door, beside_ours  # noqa: E402
from benchmarks.admission.loads import Load, WorkloadClass  # noqa: E402
from benchmarks.runtime.meter import resident_bytes  # noqa: E402
from fleetqueue.admission.kinds import WORKLOAD  # noqa: E402
from fleetqueue.base.clock import SystemClock  # noqa: E402
from fleetqueue.base.loops import new_runner  # noqa: E402
from fleetqueue.kube.client import Client  # noqa: E402
from fleetqueue.kube.connect import connect  # noqa: E402

BLOCKED = WorkloadClass("blocked", 0, 0.0, 0.0, 50, 10_000_000)
"""More than all queues have together."""
WAITING = Load("memory", 1, 6, (BLOCKED,))
AT_ONCE = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=1_000)
    parser.add_argument("--more", type=int, default=5_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        door = beside_ours(Path(folder))
        try:
            with new_runner() as runner:
                runner.run(measure(door, options.first, options.more))
        finally:
            door.server.stop()


async def measure(door: Door, first: int, more: int) -> None:
    source = random.Random(0)
    client = connect(door.server.kubeconfig, clock=SystemClock(), random=source)
    pids = [door.pids["fleetqueue"]]
    await prepare(client, WAITING)
    await create(client, 0, first)
    await settle(pids)
    before = resident_bytes(pids)
    await create(client, first, first + more)
    await settle(pids)
    grown = resident_bytes(pids) - before
    print(f"{before / 2**20:.0f} MiB with {first:,}; {grown / more / 1024:.1f} KiB for each more")
    await client.close()


async def create(client: Client, first: int, end: int) -> None:
    free = asyncio.Semaphore(AT_ONCE)
    queues = objects.queue_names(WAITING)

    async def one(number: int) -> None:
        made = objects.workload(queues[number % len(queues)], BLOCKED, number, WAITING)
        async with free:
            await client.create(made, resource=WORKLOAD)

    await asyncio.gather(*map(one, range(first, end)))


if __name__ == "__main__":
    main()
