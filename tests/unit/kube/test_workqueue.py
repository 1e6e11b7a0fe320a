"""The work queue: each key once, never twice at work, later when told, by priority but fairly."""

import asyncio
from random import Random
from typing import Any

import pytest

from fleetqueue.base.backoff import Backoff
from fleetqueue.kube.turns import TURNS_LEFT, TURNS_MAX
from fleetqueue.kube.workqueue import FAILURES_MIN, PAUSE_SECONDS, ShutDown, WorkQueue


@pytest.fixture
async def queue() -> WorkQueue[str]:
    return WorkQueue(random=Random(1))


async def _all(queue: WorkQueue[str]) -> list[str]:
    found = []
    while len(queue):
        key = await queue.get()
        found.append(key)
        queue.done(key)
    return found


async def test_a_key_that_waits_is_not_added_twice(queue: WorkQueue[str]) -> None:
    for key in ("a", "b", "a"):
        queue.add(key)

    assert await _all(queue) == ["a", "b"]


async def test_a_key_at_work_is_not_given_to_a_second_worker(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await queue.get()
    queue.add("a")
    other = asyncio.ensure_future(queue.get())

    await asyncio.sleep(100)
    assert not other.done()

    queue.done("a")
    assert await other == "a"


async def test_higher_priorities_go_first_and_equals_by_age(queue: WorkQueue[str]) -> None:
    queue.add("low", -1)
    queue.add("first")
    queue.add("high", 1)
    queue.add("second")

    assert await _all(queue) == ["high", "first", "second", "low"]


async def test_adding_again_can_raise_a_priority_but_not_lower_it(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.add("b")
    queue.add("b", 5)
    queue.add("b", -5)

    assert await _all(queue) == ["b", "a"]


async def test_the_oldest_gets_a_turn_however_many_are_more_important() -> None:
    queue: WorkQueue[str] = WorkQueue(random=Random(1), oldest_every=4)
    queue.add("patient", -100)
    for number in range(20):
        queue.add(f"urgent {number}", 10)

    assert (await _all(queue)).index("patient") == 3


async def test_a_delayed_key_comes_at_its_time(queue: WorkQueue[str], clock: Any) -> None:
    queue.add_after("later", 60)
    queue.add_after("sooner", 5)

    assert await queue.get() == "sooner"
    assert clock.monotonic() == 5
    assert await queue.get() == "later"
    assert clock.monotonic() == 60


async def test_the_earliest_of_several_times_counts(queue: WorkQueue[str], clock: Any) -> None:
    queue.add_after("a", 60)
    queue.add_after("a", 10)
    queue.add_after("a", 90)

    await queue.get()
    queue.done("a")

    assert clock.monotonic() == 10
    assert queue.delayed == 0


async def test_failures_in_a_row_wait_longer_and_success_forgets(clock: Any) -> None:
    queue: WorkQueue[str] = WorkQueue(random=Random(1), backoff=Backoff(1.0, 5.0))
    delays = [queue.add_rate_limited("a") for _ in range(5)]
    queue.forget("a")

    assert delays == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert queue.add_rate_limited("a") == 1.0
    assert queue.add_rate_limited("b") == 1.0


async def test_what_keeps_failing_is_not_hurried_by_its_own_tries(clock: Any) -> None:
    """A try that fails may be what wakes its key again, at once and for ever."""
    queue: WorkQueue[str] = WorkQueue(random=Random(1), backoff=Backoff(100.0, 1000.0))
    begun = clock.now()
    for _ in range(FAILURES_MIN):
        queue.add("a")
        assert await queue.get() == "a"
        queue.add_rate_limited("a")
        queue.done("a")
    assert clock.now() == begun

    queue.add("a")
    assert len(queue) == 0
    assert await queue.get() == "a"
    queue.add("a")
    queue.done("a")
    assert await queue.get() == "a"
    assert (clock.now() - begun).total_seconds() == pytest.approx(2 * PAUSE_SECONDS)

    queue.forget("a")
    queue.done("a")
    queue.add("a")
    assert len(queue) == 1


async def test_what_comes_again_and_again_is_slowed_down(queue: WorkQueue[str], clock: Any) -> None:
    """A controller that hears late of what others do may be what wakes it, though all goes well."""
    begun = clock.now()

    async def turns(count: int) -> float:
        for _ in range(count):
            queue.add("busy")
            assert await queue.get() == "busy"
            queue.done("busy")
        return float((clock.now() - begun).total_seconds())

    assert await turns(TURNS_MAX) == 0
    queue.add("busy")
    queue.add("other")
    assert await _all(queue) == ["other"]
    assert queue.is_idle
    assert not queue.is_settled
    assert await turns(10) == pytest.approx(10 * PAUSE_SECONDS)
    assert await turns(100) > 5


async def test_what_was_busy_and_has_been_quiet_is_not_slowed_down(queue: WorkQueue[str]) -> None:
    for _ in range(TURNS_MAX):
        queue.add("a")
        queue.done(await queue.get())
    await asyncio.sleep(1)
    for _ in range(TURNS_LEFT):
        queue.add("a")
        assert len(queue) == 1
        queue.done(await queue.get())
    queue.add("a")
    assert len(queue) == 0

    await asyncio.sleep(2)
    assert await _all(queue) == ["a"]
    assert queue.is_settled
    await asyncio.sleep(2)
    for _ in range(TURNS_MAX):
        queue.add("a")
        assert len(queue) == 1
        queue.done(await queue.get())


async def test_after_a_shutdown_waiting_keys_are_drained_and_workers_sent_home(
    queue: WorkQueue[str],
) -> None:
    queue.add("a")
    queue.add_after("never", 5)
    queue.shut_down()
    queue.add("too late")

    assert await queue.get() == "a"
    queue.done("a")
    with pytest.raises(ShutDown):
        await queue.get()


async def test_a_shutdown_can_drop_what_waits(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.shut_down(drain=False)

    with pytest.raises(ShutDown):
        await queue.get()
    await queue.drain()


async def test_a_shutdown_wakes_every_worker(queue: WorkQueue[str]) -> None:
    workers = [asyncio.ensure_future(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)

    queue.shut_down()

    results = await asyncio.gather(*workers, return_exceptions=True)
    assert [type(result) for result in results] == [ShutDown] * 3


async def test_drain_waits_for_those_at_work(queue: WorkQueue[str], clock: Any) -> None:
    async def work() -> None:
        key = await queue.get()
        await asyncio.sleep(7)
        queue.done(key)

    queue.add("a")
    worker = asyncio.ensure_future(work())

    await queue.drain()

    assert clock.monotonic() == 7
    await worker


async def test_a_cancelled_worker_passes_its_wake_up_on(queue: WorkQueue[str]) -> None:
    first, second = (asyncio.ensure_future(queue.get()) for _ in range(2))
    await asyncio.sleep(0)

    queue.add("a")
    first.cancel()

    assert await second == "a"


async def test_many_workers_never_share_a_key(queue: WorkQueue[str]) -> None:
    at_work: set[str] = set()
    done: dict[str, int] = {}
    random = Random(3)

    async def work() -> None:
        while True:
            try:
                key = await queue.get()
            except ShutDown:
                return
            assert key not in at_work
            at_work.add(key)
            await asyncio.sleep(random.random())
            at_work.remove(key)
            done[key] = done.get(key, 0) + 1
            queue.done(key)

    workers = [asyncio.ensure_future(work()) for _ in range(4)]
    for _ in range(200):
        queue.add(f"key {random.randrange(5)}")
        await asyncio.sleep(random.random() / 10)
    await queue.drain()
    queue.shut_down()
    await asyncio.gather(*workers)

    assert set(done) == {f"key {number}" for number in range(5)}
    assert sum(done.values()) < 200


async def test_the_urgent_find_room_beside_so_many_of_the_others() -> None:
    queue: WorkQueue[str] = WorkQueue(random=Random(1), ordinary_max=2)
    for key in ("a", "b", "c"):
        queue.add(key)
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    third = asyncio.ensure_future(queue.get())
    await asyncio.sleep(0.01)
    assert not third.done()

    queue.add("urgent", priority=1)
    assert await third == "urgent"
    fourth = asyncio.ensure_future(queue.get())
    queue.done("urgent")
    await asyncio.sleep(0.01)
    assert not fourth.done()
    queue.done("a")
    assert await fourth == "c"


async def test_one_that_waits_becomes_urgent() -> None:
    queue: WorkQueue[str] = WorkQueue(random=Random(1), ordinary_max=1)
    for key in ("a", "b"):
        queue.add(key)
    assert await queue.get() == "a"
    waiting = asyncio.ensure_future(queue.get())
    await asyncio.sleep(100)
    queue.add("b", priority=1)

    assert await waiting == "b"


async def test_a_queue_that_closes_lets_all_go_home_though_there_was_no_room() -> None:
    queue: WorkQueue[str] = WorkQueue(random=Random(1), ordinary_max=1)
    for key in ("a", "b"):
        queue.add(key)
    assert await queue.get() == "a"
    others = [asyncio.ensure_future(queue.get()) for _ in range(2)]
    await asyncio.sleep(100)
    queue.shut_down()
    queue.done("a")

    assert await others[0] == "b"
    queue.done("b")
    with pytest.raises(ShutDown):
        await others[1]


async def test_of_several_delays_the_earliest_counts_and_the_highest_priority() -> None:
    queue: WorkQueue[str] = WorkQueue(random=Random(1))
    queue.add_after("a", 1, priority=0)
    queue.add_after("b", 1, priority=0)
    queue.add_after("b", 5, priority=1)
    await asyncio.sleep(2)

    assert await _all(queue) == ["b", "a"]


async def test_while_they_take_long_they_go_one_at_a_time() -> None:
    queue: WorkQueue[str] = WorkQueue(random=Random(1), ordinary_max=2)
    for key in "abcde":
        queue.add(key)
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    await asyncio.sleep(1)
    for key in "ab":
        queue.done(key)

    assert await queue.get() == "c"
    waiting = asyncio.ensure_future(queue.get())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    queue.done("c")
    assert [await waiting, await queue.get()] == ["d", "e"]
