"""What a load costs the clusters of a fleet: CPU and memory of every process, and what was asked of
each API server.
"""

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Generic, TypeVar

from benchmarks.admission import requests
from benchmarks.admission.requests import Asked
from benchmarks.fleets.clusters import Member
from benchmarks.runtime.meter import cpu_seconds, machine_seconds, peak_bytes
from fleetqueue.base.clock import Clock
from fleetqueue.kube.client import Client
from fleetqueue.kube.connect import connect

SETTLE_SECONDS, SETTLE_TRIES = 2.0, 30
SETTLED_SHARE = 0.1
"""Of a core: a server that has just started is busy with itself for a while."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Process:
    """What one of them cost meanwhile."""

    cluster: str
    name: str
    cpu: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Measured(Generic[T]):
    """`outcome` is what the load itself returned."""

    outcome: T
    processes: list[Process]
    runner_cpu: float
    others: float
    """The share of the machine's cores that everybody else used meanwhile."""
    load_average: float
    asked: dict[str, Asked]
    """By the name of the cluster."""


async def clients_of(
    stack: AsyncExitStack, members: Iterable[Member], clock: Clock, source: random.Random
) -> dict[str, Client]:
    """By name; closed when the stack ends."""
    found = {}
    for each in members:
        client = connect(each.kubeconfig, clock=clock, random=source, field_manager="bench")
        stack.push_async_callback(client.close)
        found[each.name] = client
    return found


async def measured(members: Sequence[Member], load: Callable[[], Awaitable[T]]) -> Measured[T]:
    """Processes may come and go meanwhile."""
    asked = {each.name: _sample(each) for each in members}
    before, own, machine = _costs(members), time.process_time(), machine_seconds()
    outcome = await load()
    busy, total = (now - then for now, then in zip(machine_seconds(), machine, strict=True))
    own, after = time.process_time() - own, _costs(members)
    processes = [
        Process(each.name, name, after[pid] - before.get(pid, 0.0), peak_bytes(pid))
        for each in members
        for name, pid in each.pids.items()
    ]
    used = own + sum(each.cpu for each in processes)
    return Measured(
        outcome,
        processes,
        own,
        max(0.0, busy - used) / total,
        os.getloadavg()[0],
        {each.name: requests.between(asked[each.name], _sample(each)) for each in members},
    )


async def settle(members: Sequence[Member]) -> None:
    """Waits until nothing goes on, so that what a start costs is not counted."""
    pids = _pids(members)
    for _ in range(SETTLE_TRIES):
        before = cpu_seconds(pids)
        await asyncio.sleep(SETTLE_SECONDS)
        if cpu_seconds(pids) - before < SETTLED_SHARE * SETTLE_SECONDS * len(members):
            return


def together(every: Iterable[Asked]) -> Asked:
    """What was asked of several servers."""
    made = Asked()
    for each in every:
        made.counts.update(each.counts)
        made.seconds.update(each.seconds)
        made.watches += each.watches
        for name, buckets in each.within.items():
            made.within.setdefault(name, Counter()).update(buckets)
    return made


def _sample(member: Member) -> requests.Samples:
    return {} if member.server is None else requests.sample(member.server)


def _pids(members: Sequence[Member]) -> list[int]:
    return [pid for each in members for pid in each.pids.values()]


def _costs(members: Sequence[Member]) -> dict[int, float]:
    return {pid: cpu_seconds([pid]) for pid in _pids(members)}
