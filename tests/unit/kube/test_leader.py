"""Leader election: who may lead, when a lease changes hands, and what the Lease says."""

import asyncio
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.kube.client import Client
from fleetqueue.kube.leader import LeaderElector, LeadershipLost, Record, Terms, succeed

LEASE = Key("ns", "lock")
PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/lock"


@pytest.fixture
def candidate(memory_client: Client, clock: Any) -> Any:
    def make(identity: str) -> LeaderElector:
        return LeaderElector(memory_client, LEASE, identity, clock=clock, random=Random(1))

    return make


def spec(memory: Any) -> dict[str, Any]:
    return dict(memory.objects[PATH]["spec"])


async def test_the_first_candidate_makes_the_lease(candidate: Any, memory: Any) -> None:
    one = candidate("one")

    await one.acquire()

    assert one.is_leader
    assert spec(memory) == {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z",
        "leaseTransitions": 0,
    }


async def test_a_lease_that_is_renewed_is_not_taken(candidate: Any, memory: Any) -> None:
    one, two = candidate("one"), candidate("two")
    await one.acquire()
    holding = asyncio.ensure_future(one.hold())
    waiting = asyncio.ensure_future(two.acquire())

    await asyncio.sleep(600)

    assert not waiting.done()
    assert two.leader == "one"
    assert spec(memory)["acquireTime"] == "2026-01-01T00:00:00.000000Z"
    assert spec(memory)["renewTime"] > "2026-01-01T00:09:50"
    holding.cancel()
    waiting.cancel()


async def test_a_lease_that_is_not_renewed_is_taken_when_it_has_run_out(
    candidate: Any, memory: Any, clock: Any
) -> None:
    one, two = candidate("one"), candidate("two")
    await one.acquire()

    await two.acquire()

    assert 15 <= clock.monotonic() <= 20
    assert spec(memory)["holderIdentity"] == "two"
    assert spec(memory)["leaseTransitions"] == 1


async def test_a_released_lease_is_taken_soon(candidate: Any, memory: Any, clock: Any) -> None:
    one, two = candidate("one"), candidate("two")
    await one.acquire()
    waiting = asyncio.ensure_future(two.acquire())
    await asyncio.sleep(3)

    await one.release()
    await waiting

    assert clock.monotonic() <= 8
    assert not one.is_leader
    assert spec(memory)["leaseTransitions"] == 1


async def test_leadership_is_lost_when_the_lease_cannot_be_renewed_in_time(
    candidate: Any, memory: Any, clock: Any, refuse: Any
) -> None:
    one = candidate("one")
    await one.acquire()
    memory.failures.extend([None, *[refuse(500, "InternalError") for _ in range(50)]])

    with pytest.raises(LeadershipLost):
        await one.hold()

    assert not one.is_leader
    assert clock.monotonic() < 15


async def test_leadership_survives_a_short_outage(candidate: Any, memory: Any, refuse: Any) -> None:
    one = candidate("one")
    await one.acquire()
    memory.failures.extend([refuse(500, "InternalError"), refuse(409, "Conflict")])
    holding = asyncio.ensure_future(one.hold())

    await asyncio.sleep(60)

    assert not holding.done()
    assert one.is_leader
    holding.cancel()


async def test_of_many_candidates_exactly_one_leads(candidate: Any, clock: Any) -> None:
    candidates = [candidate(f"candidate {number}") for number in range(5)]
    tasks = [asyncio.ensure_future(each.acquire()) for each in candidates]
    await asyncio.sleep(5)

    leaders = [each for each in candidates if each.is_leader]

    assert len(leaders) == 1
    for task in tasks:
        task.cancel()


def test_a_change_of_leader_is_counted_and_a_renewal_is_not() -> None:
    seen = Record("one", 15, "then", "then", 4)

    assert succeed(seen, Record("two", 15, "now", "now")) == Record("two", 15, "now", "now", 5)
    assert succeed(seen, Record("one", 15, "now", "now")) == Record("one", 15, "then", "now", 4)


def test_terms_that_cannot_work_are_refused() -> None:
    with pytest.raises(AssertionError):
        Terms(lease=timedelta(seconds=5))
