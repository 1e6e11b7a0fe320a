"""`python -m benchmarks.dispatch [--jobs 500] [--workers 3] [--on real] [--dispatcher best-fit]`:
prints a line for each run, what each process cost, and what was asked of the API servers.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from benchmarks.admission import requests  # noqa: E402
from benchmarks.dispatch import objects, report  # noqa: E402
from benchmarks.dispatch.clusters import FLEETS, Fleet  # noqa: E402
from benchmarks.dispatch.runner import JOBS, Runner  # noqa: E402
from benchmarks.fleets.clusters import Member  # noqa: E402
from benchmarks.fleets.measuring import clients_of, measured, settle  # noqa: E402
from fleetqueue.base.clock import SystemClock  # noqa: E402
from fleetqueue.base.loops import new_runner  # noqa: E402
from fleetqueue.kube.client import Client  # noqa: E402
from fleetqueue.kube.cluster import Cluster  # noqa: E402
from fleetqueue.local_fleet.joining import join  # noqa: E402
from fleetqueue.multikueue import kinds  # noqa: E402

DISPATCHERS = {
    "all-at-once": "kueue.x-k8s.io/multikueue-dispatcher-all-at-once",
    "incremental": "kueue.x-k8s.io/multikueue-dispatcher-incremental",
    "best-fit": "fleetqueue.dev/dispatcher-best-fit",
}
CONNECT_SECONDS_MAX = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--on", choices=list(FLEETS), default="real")
    parser.add_argument("--dispatcher", choices=list(DISPATCHERS), action="append")
    parser.add_argument("--warm-up", type=int, default=0, help="so many jobs before, not counted")
    parser.add_argument("--one-by-one", action="store_true", help="each when the last has ended")
    parser.add_argument("--details", action="store_true", help="each process, each request")
    options = parser.parse_args()
    runs = []
    for name in options.dispatcher or ["all-at-once"]:
        runs.append(measure(options, name))
        print(report.table(runs)[-1], file=sys.stderr, flush=True)
    print("\n".join(report.table(runs)))
    if options.details:
        for run in runs:
            print("\n".join(["", f"{run.dispatcher}:", *report.details(run)]))
            for where, asked in run.asked.items():
                if asked.counts:
                    print("\n".join(["", f"{where}:", "", *requests.lines(asked, run.jobs)]))


def measure(options: argparse.Namespace, dispatcher: str) -> report.Run:
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        fleet = FLEETS[options.on](Path(folder), options.workers, DISPATCHERS[dispatcher])
        try:
            with new_runner() as runner:
                return runner.run(_run(options, dispatcher, fleet))
        finally:
            fleet.stop()


async def _run(options: argparse.Namespace, dispatcher: str, fleet: Fleet) -> report.Run:
    clock, source = SystemClock(), random.Random(0)
    async with AsyncExitStack() as stack:
        clients = await clients_of(stack, fleet.clusters, clock, source)
        await _furnish(fleet, clients, options.jobs)
        clusters = {
            name: Cluster(client, clock=clock, random=source) for name, client in clients.items()
        }
        manager = clusters.pop(fleet.manager.name)
        runner = Runner(manager, clusters, options.jobs, clock, is_kubelet=not fleet.simulates)
        await runner.follow()
        stack.push_async_callback(runner.stop)
        await runner.warm_up(options.warm_up)
        await settle(fleet.clusters)
        found = await measured(fleet.clusters, lambda: runner.run(one_by_one=options.one_by_one))
    return report.Run(
        options.jobs, options.workers, options.on, dispatcher, options.one_by_one, found
    )


async def _furnish(fleet: Fleet, clients: dict[str, Client], jobs: int) -> None:
    manager = clients[fleet.manager.name]
    queues = objects.queue_count(len(fleet.workers))

    async def furnish(worker: Member) -> None:
        client = clients[worker.name]
        await join(manager, client, worker.name, worker.url, [JOBS])
        await _make(client, objects.on_worker(queues, jobs))

    await asyncio.gather(*map(furnish, fleet.workers))
    await _make(manager, objects.on_manager([each.name for each in fleet.workers], jobs))
    for _ in range(CONNECT_SECONDS_MAX):
        checks = (await manager.list(kinds.ADMISSION_CHECK)).items
        if all(_is_active(each) for each in checks):
            return
        await asyncio.sleep(1)
    raise SystemExit("the workers did not connect")


def _is_active(check: dict[str, Any]) -> bool:
    """With all its workers."""
    found = (check.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Active" and each["reason"] == "Active" for each in found)


async def _make(client: Client, wanted: Iterable[dict[str, Any]]) -> None:
    for obj in wanted:
        await client.create(obj)


if __name__ == "__main__":
    main()
