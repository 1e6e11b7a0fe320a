"""Clocks tell aware times, and a loop clock follows its loop."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone

from fleetqueue.base.clock import LoopClock, SystemClock
from fleetqueue.base.virtual_time import run

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_system_clock_is_in_utc_and_never_goes_back() -> None:
    clock = SystemClock()
    assert clock.now().tzinfo is UTC
    assert clock.monotonic() <= clock.monotonic()


def test_a_loop_clock_moves_with_its_loop() -> None:
    async def main() -> tuple[datetime, float]:
        clock = LoopClock(asyncio.get_running_loop(), EPOCH)
        await asyncio.sleep(90)
        return clock.now(), clock.monotonic()

    assert run(main()) == (EPOCH + timedelta(seconds=90), 90.0)


def test_a_loop_clock_shows_utc_whatever_the_zone_of_its_epoch() -> None:
    loop = asyncio.new_event_loop()
    zone = timezone(timedelta(hours=2))
    clock = LoopClock(loop, datetime(2026, 1, 1, 2, tzinfo=zone))
    loop.close()
    assert clock.now().tzinfo is UTC
