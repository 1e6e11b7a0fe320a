"""What new clusters have in common is what one that stands alone makes by itself."""

import asyncio
import random
from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue import kueue
from fleetqueue.api import times
from fleetqueue.apiserver.instance import Instance
from fleetqueue.apiserver.log import MemoryLog
from fleetqueue.base import codec
from fleetqueue.base.clock import SystemClock
from fleetqueue.embedded import furniture, newborn
from fleetqueue.embedded.newborn import Newborn

Object = dict[str, Any]
NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


class Clock(SystemClock):
    def now(self) -> datetime:
        return NOW


@pytest.fixture(scope="module")
def roles() -> list[Object]:
    return list(kueue.cluster_roles())


@pytest.fixture(scope="module")
def made(roles: list[Object]) -> Newborn:
    return asyncio.run(newborn.make(roles))


async def born(log: MemoryLog, roles: list[Object]) -> dict[tuple[str, str], Object]:
    """A server that makes what is missing; what it has then."""
    instance = Instance(log, Clock(), random.Random(7))
    await instance.start()
    await furniture.ensure(instance)
    await furniture.make_all(instance, roles)
    while not instance.is_idle:  # noqa: ASYNC110 - keepers tell nobody that they are done
        await asyncio.sleep(0)
    await instance.stop()
    return stored(log)


def stored(log: MemoryLog) -> dict[tuple[str, str], Object]:
    return {(row.resource, row.key): codec.decode(row.value) for row in log.load()}


def common(objects: dict[tuple[str, str], Object]) -> dict[tuple[str, str], Object]:
    """Without what each cluster has for itself."""
    for obj in objects.values():
        for name in ("uid", "resourceVersion"):
            del obj["metadata"][name]
    return objects


def planted(made: Newborn, seed: int = 1) -> MemoryLog:
    log = MemoryLog()
    made.plant(log, Clock(), random.Random(seed))
    return log


async def test_a_cluster_that_is_given_what_all_have_is_as_one_that_makes_it(
    made: Newborn, roles: list[Object]
) -> None:
    given = common(await born(planted(made), roles))
    alone = common(await born(MemoryLog(), roles))
    assert sorted(given) == sorted(alone)
    for key, obj in alone.items():
        assert given[key] == obj, key


async def test_nothing_that_was_given_is_written_again(made: Newborn, roles: list[Object]) -> None:
    log = planted(made)
    before = {row.revision: row for row in log.load()}
    await born(log, roles)
    assert {row.revision: row for row in log.load() if row.revision in before} == before
    assert len(before) == len(made.objects)


def test_revisions_begin_with_the_first_and_have_no_gaps(made: Newborn) -> None:
    rows = list(planted(made).load())
    assert [row.revision for row in rows] == list(range(2, len(rows) + 2))
    assert all(
        codec.decode(row.value)["metadata"]["resourceVersion"] == str(row.revision) for row in rows
    )


def test_each_cluster_has_identities_and_times_of_its_own(made: Newborn) -> None:
    one, other = (stored(planted(made, seed)) for seed in (1, 2))
    uids = [obj["metadata"]["uid"] for objects in (one, other) for obj in objects.values()]
    assert len(set(uids)) == 2 * len(made.objects)
    text = b"".join(row.value for row in planted(made).load())
    assert times.format_time(newborn.BIRTH).encode() not in text
    assert not any(uid.encode() in text for uid, _ in made.objects)
    assert all(
        obj["metadata"]["creationTimestamp"] == "2031-05-06T07:08:09Z" for obj in one.values()
    )


def test_a_log_that_has_something_stays_as_it_is(made: Newborn) -> None:
    log = planted(made, 1)
    before = list(log.load())
    made.plant(log, Clock(), random.Random(2))
    assert list(log.load()) == before
