"""`python -m benchmarks.placement [--on real] [--placements 100] [--members 3] [--load crp] ...`:
prints a line for each load, what each process cost, and what was asked of the API servers.

Loads, in the order in which they run on one fleet:

one      placements one after the other, each when the last is available
crp      all placements at once: a namespace with a ConfigMap each, on all members
change   all those ConfigMaps change at once
restart  the hub's controllers start again, and a tenth of the ConfigMaps change meanwhile
rp       all at once: a ConfigMap each, on two members
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from benchmarks.admission import requests  # noqa: E402
from benchmarks.fleets.measuring import clients_of, measured, settle  # noqa: E402
from benchmarks.placement import objects, report  # noqa: E402
from benchmarks.placement.clusters import FLEETS, Fleet  # noqa: E402
from benchmarks.placement.runner import Outcome, Place, Runner  # noqa: E402
from fleetqueue.base.clock import SystemClock  # noqa: E402
from fleetqueue.base.loops import new_runner  # noqa: E402
from fleetqueue.fleet import kinds  # noqa: E402
from fleetqueue.kube.client import Client  # noqa: E402
from fleetqueue.kube.cluster import Cluster  # noqa: E402
from fleetqueue.local_fleet import membership  # noqa: E402

LOADS = ("one", "crp", "change", "restart", "rp")
JOIN_SECONDS_MAX = 300
CHANGED_SHARE = 10
"""One of so many changes while the hub starts again."""
Load = Callable[[], Awaitable[Outcome]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--on", choices=list(FLEETS), default="real")
    parser.add_argument("--placements", type=int, default=100)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument(
        "--load", choices=LOADS, nargs="+", action="extend", help="some of them; all, if none"
    )
    parser.add_argument("--ones", type=int, default=10, help="so many placements for `one`")
    parser.add_argument("--details", action="store_true", help="each process, each request")
    parser.add_argument("--profile", default="", metavar="FILE", help="of the hub's controllers")
    options = parser.parse_args()
    runs = measure(options)
    print("\n".join(report.table(runs)))
    if options.details:
        for run in runs:
            print("\n".join(["", f"{run.load}:", *report.details(run)]))
            for where, asked in run.asked.items():
                if asked.counts:
                    lines = requests.lines(asked, run.placements)[:-1]
                    told = [line.replace("workload", "placement") for line in lines]
                    print("\n".join(["", f"{where}:", "", *told]))


def measure(options: argparse.Namespace) -> list[report.Run]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        fleet = FLEETS[options.on](Path(folder), options.members, options.profile)
        try:
            with new_runner() as runner:
                return runner.run(_run(options, fleet))
        finally:
            fleet.stop()


async def _run(options: argparse.Namespace, fleet: Fleet) -> list[report.Run]:
    clock, source = SystemClock(), random.Random(0)
    async with AsyncExitStack() as stack:
        clients = await clients_of(stack, fleet.clusters, clock, source)
        await _join(fleet, clients)
        clusters = {
            name: Cluster(client, clock=clock, random=source) for name, client in clients.items()
        }
        runner = Runner(clusters.pop(fleet.hub.name), clusters)
        await runner.follow()
        stack.push_async_callback(runner.stop)
        return await _loads(options, fleet, runner)


async def _loads(options: argparse.Namespace, fleet: Fleet, runner: Runner) -> list[report.Run]:
    wanted = options.load or list(LOADS)
    count, members = options.placements, options.members
    places = [(objects.name_of(number), objects.CONFIG) for number in range(count)]
    some = places[::CHANGED_SHARE]
    loads: dict[str, tuple[int, Load]] = {
        "one": (options.ones,
                lambda: runner.place(range(options.ones), "single", one_by_one=True)),
        "crp": (count, lambda: runner.place(range(count), "bench", one_by_one=False)),
        "change": (count, lambda: runner.change(places, members)),
        "restart": (len(some), lambda: _restart(fleet, runner, some, members)),
        "rp": (count, lambda: runner.pick(count)),
    }  # fmt: skip
    runs = []
    for name in LOADS:
        if name in wanted:
            number, load = loads[name]
            await settle(fleet.clusters)
            found = await measured(fleet.clusters, load)
            runs.append(report.Run(name, number, members, options.on, found))
            print(report.table(runs)[-1], file=sys.stderr, flush=True)
    return runs


async def _restart(fleet: Fleet, runner: Runner, some: list[Place], members: int) -> Outcome:
    """All placements are looked at again; those that changed have to be found among them."""
    begun = time.perf_counter()
    await asyncio.get_running_loop().run_in_executor(None, fleet.restart_hub)
    ready = time.perf_counter() - begun
    outcome = await runner.change(some, members)
    for found in (outcome.placed, outcome.available):
        for place in found:
            found[place] += ready
    outcome.seconds += ready
    return outcome


async def _join(fleet: Fleet, clients: dict[str, Client]) -> None:
    hub = clients[fleet.hub.name]
    loop = asyncio.get_running_loop()
    for each in fleet.members:
        if fleet.join is not None:
            await loop.run_in_executor(None, fleet.join, each)
        else:
            await membership.join(hub, clients[each.name], each.name, fleet.hub.url)
    for _ in range(JOIN_SECONDS_MAX):
        found = (await hub.list(kinds.MEMBER_CLUSTER)).items
        if sum(map(_has_joined, found)) == len(fleet.members):
            return
        await asyncio.sleep(1)
    raise SystemExit("the members did not join")


def _has_joined(member: dict[str, object]) -> bool:
    status = member.get("status")
    found = status.get("conditions") or () if isinstance(status, dict) else ()
    return any(each["type"] == "Joined" and each["status"] == "True" for each in found)


if __name__ == "__main__":
    main()
