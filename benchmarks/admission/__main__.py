"""`python -m benchmarks.admission [LOAD ...] [--scale 0.1] [--on DOOR] [--bare]`: a line for each.

`--bare`: on kube-apiserver, without admission: what the three writes of each workload alone cost.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from benchmarks.admission import objects, report, requests  # noqa: E402
from benchmarks.admission.bare import BareRunner  # noqa: E402
from benchmarks.admission.doors import DOORS, Door, bare  # noqa: E402
from benchmarks.admission.loads import LOADS, Load  # noqa: E402
from benchmarks.admission.progress import Progress  # noqa: E402
from benchmarks.admission.runner import Outcome, Runner  # noqa: E402
from benchmarks.runtime.meter import Cost, cpu_seconds, metered, peak_bytes  # noqa: E402
from fleetqueue.admission.kinds import NODE  # noqa: E402
from fleetqueue.base.clock import SystemClock  # noqa: E402
from fleetqueue.base.loops import new_runner  # noqa: E402
from fleetqueue.kube.client import Client  # noqa: E402
from fleetqueue.kube.cluster import Cluster  # noqa: E402
from fleetqueue.kube.connect import connect  # noqa: E402
from fleetqueue.kube.errors import AlreadyExists, Refused, Unreachable  # noqa: E402

PREPARE_SECONDS_MAX = 120
SETTLE_SECONDS, SETTLE_TRIES = 2.0, 30
SETTLED_SHARE = 0.1
"""Of a core: a server that has just started is busy with itself for a while."""
CREATED_AT_ONCE = 16
BARE = "bare"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loads", nargs="*", default=["mini"], help=f"of {', '.join(LOADS)}")
    parser.add_argument("--scale", type=float, default=1.0, help="so much of each class")
    parser.add_argument("--on", choices=list(DOORS), action="append", help="all by default")
    parser.add_argument("--bare", action="store_true", help="only the writes, nobody admits")
    options = parser.parse_args()
    # Whoever ends this ends the servers, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
    doors = [BARE] if options.bare else options.on or list(DOORS)
    runs = []
    for name in options.loads:
        for door in doors:
            runs.append(measure(LOADS[name].scaled(options.scale), options.scale, door))
            print(report.table(runs)[-1], file=sys.stderr, flush=True)
    print("\n".join(report.table(runs)))
    for run in runs:
        asked = requests.lines(run.asked, run.load.total) if run.asked.counts else []
        print("\n".join(["", f"{run.load.name} on {run.door}: {report.around(run)}", "", *asked]))


def measure(load: Load, scale: float, name: str) -> report.Run:
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        door = bare(Path(folder)) if name == BARE else DOORS[name](Path(folder))
        try:
            with new_runner() as runner:
                return runner.run(_run(load, scale, door, is_bare=name == BARE))
        except Exception as error:
            print(f"{load.name} on {door.name} failed: {error!r}", file=sys.stderr)
            print(door.problem(), door.log_tail(), sep="\n", file=sys.stderr, flush=True)
            raise
        finally:
            door.server.stop()


async def _run(load: Load, scale: float, door: Door, *, is_bare: bool) -> report.Run:
    clock, source = SystemClock(), random.Random(0)
    client = connect(door.server.kubeconfig, clock=clock, random=source, field_manager="bench")
    try:
        await prepare(client, load)
        await settle(list(door.pids.values()))
        cluster = Cluster(client, clock=clock, random=source)
        progress = Progress(f"{load.name} on {door.name}", load.total, door.problem)
        made = BareRunner if is_bare else Runner
        runner = made(cluster, load, clock, progress)
        asked = requests.sample(door.server)
        before = {name: cpu_seconds([pid]) for name, pid in door.pids.items()}
        own = time.process_time()
        with metered(lambda: list(door.pids.values())) as cost:
            outcome = await runner.run()
        own = time.process_time() - own
        told = _told(load, scale, door, outcome, before, cost)
        return replace(
            told,
            asked=requests.between(asked, requests.sample(door.server)),
            runner_cpu=own,
            others=max(0.0, told.others - own / (outcome.seconds * (os.cpu_count() or 1))),
            load_average=os.getloadavg()[0],
        )
    finally:
        await client.close()


async def prepare(client: Client, load: Load) -> None:
    """The first of them is tried until our webhooks answer."""
    made = list(objects.surroundings(load))
    for attempt in range(PREPARE_SECONDS_MAX):
        try:
            await client.create(made[0])
            break
        except AlreadyExists:
            break
        except (Refused, Unreachable):
            if attempt == PREPARE_SECONDS_MAX - 1:
                raise
            await asyncio.sleep(1)
    free = asyncio.Semaphore(CREATED_AT_ONCE)

    async def create(*wanted: dict[str, Any]) -> None:
        async with free:
            for obj in wanted:
                await client.create(obj)
                if obj["kind"] == "Node":
                    # New nodes are tainted as not ready, and nobody here looks after them.
                    name = obj["metadata"]["name"]
                    await client.patch(NODE, name, {"spec": {"taints": None}})

    await asyncio.gather(*map(create, made[1:]))
    await asyncio.gather(*(create(*objects.queue_of(each)) for each in objects.queue_names(load)))


async def settle(pids: list[int]) -> None:
    """Waits until nothing goes on, so that what a start costs is not counted."""
    for _ in range(SETTLE_TRIES):
        before = cpu_seconds(pids)
        await asyncio.sleep(SETTLE_SECONDS)
        if cpu_seconds(pids) - before < SETTLED_SHARE * SETTLE_SECONDS:
            return


def _told(
    load: Load,
    scale: float,
    door: Door,
    outcome: Outcome,
    before: dict[str, float],
    cost: Cost,
) -> report.Run:
    processes = [
        report.Process(name, cpu_seconds([pid]) - before[name], peak_bytes(pid))
        for name, pid in door.pids.items()
    ]
    return report.Run(load, scale, door.name, outcome, processes, cost.others)


if __name__ == "__main__":
    main()
