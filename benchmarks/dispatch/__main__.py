"""`python -m benchmarks.dispatch [--jobs 500] [--workers 3] [--on real] [--dispatcher best-fit]`:
prints a line for each run, what each process cost, and what was asked of the API servers.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from benchmarks.admission import requests  # noqa: E402
from benchmarks.admission.requests import Asked  # noqa: E402
from benchmarks.dispatch import objects, report  # noqa: E402
from benchmarks.dispatch.clusters import FLEETS, Fleet, Member  # noqa: E402
from benchmarks.dispatch.runner import JOBS, Runner  # noqa: E402
from benchmarks.runtime.meter import cpu_seconds, metered, peak_bytes  # noqa: E402
from fleetqueue.base.clock import SystemClock  # noqa: E402
from fleetqueue.base.loops import new_runner  # noqa: E402
from fleetqueue.kube.client import Client  # noqa: E402
from fleetqueue.kube.cluster import Cluster  # noqa: E402
from fleetqueue.kube.connect import connect  # noqa: E402
from fleetqueue.local_fleet.joining import join  # noqa: E402
from fleetqueue.multikueue import kinds  # noqa: E402

DISPATCHERS = {
    "all-at-once": "kueue.x-k8s.io/multikueue-dispatcher-all-at-once",
    "incremental": "kueue.x-k8s.io/multikueue-dispatcher-incremental",
    "best-fit": "fleetqueue.dev/dispatcher-best-fit",
}
CONNECT_SECONDS_MAX = 300
SETTLE_SECONDS, SETTLE_TRIES = 2.0, 30
SETTLED_SHARE = 0.1
"""Of a core: a server that has just started is busy with itself for a while."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--on", choices=list(FLEETS), default="real")
    parser.add_argument("--dispatcher", choices=list(DISPATCHERS), action="append")
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
            for where, asked in (("manager", run.asked_here), ("workers", run.asked_there)):
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
        clients = {}
        for each in fleet.members:
            client = connect(each.kubeconfig, clock=clock, random=source, field_manager="bench")
            stack.push_async_callback(client.close)
            clients[each.name] = client
        await _furnish(fleet, clients, options.jobs)
        clusters = {
            name: Cluster(client, clock=clock, random=source) for name, client in clients.items()
        }
        manager = clusters.pop(fleet.manager.name)
        runner = Runner(manager, clusters, options.jobs, clock, is_kubelet=not fleet.simulates)
        await runner.follow()
        stack.push_async_callback(runner.stop)
        await _settle(fleet)
        return await _measured(options, dispatcher, fleet, runner)


async def _measured(
    options: argparse.Namespace, dispatcher: str, fleet: Fleet, runner: Runner
) -> report.Run:
    asked = {each.name: _sample(each) for each in fleet.members}
    before, own = _costs(fleet), time.process_time()
    with metered(lambda: _pids(fleet)) as cost:
        outcome = await runner.run(one_by_one=options.one_by_one)
    own, after = time.process_time() - own, _costs(fleet)
    processes = [
        report.Process(member.name, name, after[pid] - before[pid], peak_bytes(pid))
        for member in fleet.members
        for name, pid in member.pids.items()
    ]
    grown = {each.name: requests.between(asked[each.name], _sample(each)) for each in fleet.members}
    return report.Run(
        options.jobs,
        options.workers,
        options.on,
        dispatcher,
        options.one_by_one,
        outcome,
        processes,
        own,
        max(0.0, cost.others - own / (outcome.seconds * (os.cpu_count() or 1))),
        os.getloadavg()[0],
        grown.pop(fleet.manager.name),
        _sum(grown.values()),
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


async def _settle(fleet: Fleet) -> None:
    """Waits until nothing goes on, so that what a start costs is not counted."""
    pids = _pids(fleet)
    for _ in range(SETTLE_TRIES):
        before = cpu_seconds(pids)
        await asyncio.sleep(SETTLE_SECONDS)
        if cpu_seconds(pids) - before < SETTLED_SHARE * SETTLE_SECONDS * len(fleet.members):
            return


def _sample(member: Member) -> requests.Samples:
    return {} if member.server is None else requests.sample(member.server)


def _sum(every: Iterable[Asked]) -> Asked:
    made = Asked()
    for each in every:
        made.counts.update(each.counts)
        made.seconds.update(each.seconds)
        made.watches += each.watches
    return made


def _pids(fleet: Fleet) -> list[int]:
    return [pid for each in fleet.members for pid in each.pids.values()]


def _costs(fleet: Fleet) -> dict[int, float]:
    return {pid: cpu_seconds([pid]) for pid in _pids(fleet)}


if __name__ == "__main__":
    main()
