"""Calls at a limited rate, in virtual time."""

import asyncio

import pytest

from fleetqueue.kube.allowance import Allowance, Rate

pytestmark = pytest.mark.rule("kubefleet 10.2", "kubefleet 10.3")


async def times_of(allowance: Allowance, count: int) -> list[float]:
    """When calls may go that are all made now, in seconds from now."""
    loop = asyncio.get_running_loop()
    start = loop.time()

    async def call() -> float:
        await allowance.take()
        return round(loop.time() - start, 6)

    return list(await asyncio.gather(*(call() for _ in range(count))))


async def test_a_burst_goes_at_once_and_the_rest_one_after_the_other() -> None:
    assert await times_of(Allowance(Rate(10.0, 3)), 6) == [0.0, 0.0, 0.0, 0.1, 0.2, 0.3]


async def test_a_rest_fills_the_burst_and_no_more() -> None:
    allowance = Allowance(Rate(10.0, 2))
    await times_of(allowance, 3)
    await asyncio.sleep(100)
    assert await times_of(allowance, 3) == [0.0, 0.0, 0.1]
