"""Virtual time jumps, stands still for threads, and reports a deadlock instead of hanging."""

import asyncio
import itertools
import threading

import pytest

from fleetqueue.base.virtual_time import Deadlock, Endless, VirtualTimeLoop, idle, run


def now() -> float:
    return asyncio.get_running_loop().time()


def test_a_year_of_sleep_takes_no_time() -> None:
    async def main() -> float:
        await asyncio.sleep(365 * 86400)
        return now()

    assert run(main()) == 365 * 86400


def test_a_timer_after_decades_still_fires() -> None:
    async def main() -> float:
        await asyncio.sleep(3e9)
        await asyncio.sleep(0.001)
        return now()

    assert run(main()) == pytest.approx(3e9 + 0.001)


def test_timers_fire_in_order_of_their_times() -> None:
    async def main() -> list[str]:
        seen: list[str] = []

        async def after(delay: float, name: str) -> None:
            await asyncio.sleep(delay)
            seen.append(f"{name}@{now():g}")

        await asyncio.gather(after(3, "c"), after(1, "a"), after(2, "b"))
        return seen

    assert run(main()) == ["a@1", "b@2", "c@3"]


def test_timeouts_end_at_their_virtual_moment() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await asyncio.Event().wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 30)
        return now()

    assert run(main()) == 90


def test_idle_returns_when_nothing_is_ready_and_no_time_has_passed() -> None:
    async def main() -> tuple[list[int], float]:
        seen: list[int] = []

        async def worker() -> None:
            for number in range(3):
                await asyncio.sleep(0)
                seen.append(number)
            await asyncio.sleep(10)
            seen.append(99)

        task = asyncio.create_task(worker())
        await idle()
        reached = list(seen), now()
        await task
        return reached

    assert run(main()) == ([0, 1, 2], 0.0)


def test_idle_waiters_wake_one_by_one() -> None:
    async def main() -> list[str]:
        seen: list[str] = []

        async def first() -> None:
            await idle()
            for _ in range(5):
                await asyncio.sleep(0)
            seen.append("first is done")

        async def second() -> None:
            await idle()
            seen.append("second wakes")

        await asyncio.gather(first(), second())
        return seen

    assert run(main()) == ["first is done", "second wakes"]


def test_time_stands_still_while_a_thread_works() -> None:
    async def main() -> tuple[str, float, bool]:
        release = threading.Event()
        fired: list[float] = []
        loop = asyncio.get_running_loop()
        loop.call_later(1, lambda: fired.append(now()))
        loop.call_soon(release.set)
        answer = await loop.run_in_executor(None, lambda: release.wait(5) and "done")
        return str(answer), now(), bool(fired)

    assert run(main()) == ("done", 0.0, False)


def test_a_deadlock_is_an_error_that_names_who_waits() -> None:
    async def main() -> None:
        stuck = asyncio.create_task(asyncio.Event().wait(), name="stuck one")
        await stuck

    with pytest.raises(Deadlock, match=r"Nothing is ready.*stuck one"):
        run(main())


def test_what_goes_round_for_ever_is_told_with_who_does() -> None:
    async def restless() -> None:
        for seconds in itertools.repeat(0.001):
            await asyncio.sleep(seconds)

    with (
        asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(rounds_max=1_000)) as runner,
        pytest.raises(Endless, match=r"No end after 1,000 rounds.*restless"),
    ):
        runner.run(restless())


def test_two_runs_do_the_same() -> None:
    async def main() -> list[tuple[float, int]]:
        seen: list[tuple[float, int]] = []

        async def worker(number: int) -> None:
            for step in range(3):
                await asyncio.sleep((number * 7 + step) % 5)
                seen.append((now(), number))

        await asyncio.gather(*(worker(number) for number in range(10)))
        return seen

    assert run(main()) == run(main())


def test_no_timer_fires_before_its_time() -> None:
    async def main() -> int:
        loop, rounds = asyncio.get_running_loop(), 0
        deadline = loop.time() + 1.0
        await asyncio.sleep(1.0 - 1e-9)
        while loop.time() < deadline and rounds < 10:
            came = asyncio.Event()
            loop.call_at(deadline, came.set)
            await came.wait()
            rounds += 1
        return rounds

    assert run(main()) == 1
