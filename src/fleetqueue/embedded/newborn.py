"""What every new cluster has from the start, made once for several: each gets the same objects,
under identities and times of its own.
"""

import asyncio
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fleetqueue.api import times
from fleetqueue.apiserver.core import new_uid
from fleetqueue.apiserver.custom import TABLE
from fleetqueue.apiserver.instance import Instance
from fleetqueue.apiserver.log import Log, MemoryLog, Row
from fleetqueue.apiserver.storage import FIRST_REVISION, Stored
from fleetqueue.base import codec
from fleetqueue.base.clock import Clock
from fleetqueue.embedded import furniture

Object = dict[str, Any]

TABLES = frozenset(
    {
        "namespaces",
        "priorityclasses.scheduling.k8s.io",
        "storageclasses.storage.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
        "roles.rbac.authorization.k8s.io",
        "rolebindings.rbac.authorization.k8s.io",
        "clustertrainingruntimes.trainer.kubeflow.org",
        TABLE,
    }
)
"""The others depend on the cluster: its addresses, its keys. It makes them as it always does."""
BIRTH = datetime(1971, 3, 5, 7, 11, 13, tzinfo=UTC)
"""A time that no object has for another reason."""


class _Stopped:
    """A clock at the birth of all."""

    def now(self) -> datetime:
        return BIRTH

    def monotonic(self) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class Newborn:
    """The objects, each under the uid that stands for the one it will get."""

    objects: Sequence[tuple[str, Row]] = field(repr=False)

    def plant(self, log: Log, clock: Clock, source: random.Random) -> None:
        """Into a log that is empty, in one commit; one that is not stays as it is."""
        if not any(log.load()):
            now = times.format_time(clock.now().replace(microsecond=0))
            log.append(list(self._rows(now, source)), (), 0)

    def _rows(self, now: str, source: random.Random) -> Iterator[Row]:
        then = times.format_time(BIRTH).encode()
        for uid, row in self.objects:
            value = row.value.replace(uid.encode(), new_uid(source).encode())
            yield row._replace(value=value.replace(then, now.encode()))


async def make(roles: Iterable[Object] = ()) -> Newborn:
    """From a server that lives no longer than this, with the roles that people get besides."""
    instance = Instance(MemoryLog(), _Stopped(), random.Random(0))
    await instance.start()
    await furniture.ensure(instance)
    await furniture.make_all(instance, roles)
    while not instance.is_idle:  # noqa: ASYNC110 - keepers tell nobody that they are done
        await asyncio.sleep(0)
    store = instance.core.store
    kept = [(table, stored) for table in TABLES for stored in store.table(table).live.values()]
    await instance.stop()
    kept.sort(key=lambda each: each[1].revision)
    return Newborn([_as_row(*each, revision) for revision, each in enumerate(kept, FIRST_REVISION)])


def _as_row(table: str, stored: Stored, revision: int) -> tuple[str, Row]:
    """Revisions without gaps, as if each object had been written once."""
    obj = codec.decode(stored.data)
    obj["metadata"]["resourceVersion"] = str(revision)
    return obj["metadata"]["uid"], Row(revision, table, stored.key, False, codec.encode(obj))
