"""Of one workload there is one write at a time, whoever asks for it."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from fleetqueue.admission.writing import Writer
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.base import virtual_time

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
WORKLOAD: dict[str, Any] = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "w", "namespace": "ns", "uid": "u"},
    "spec": {"podSets": []},
}


class Paper:
    """A cluster that takes a second for a write."""

    def __init__(self) -> None:
        self.under_way = self.most_under_way = 0
        self.writer = Writer(self, None, status.EXPLICIT, lambda: EPOCH)  # type: ignore[arg-type]

    async def apply(self, body: Any, **options: Any) -> None:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(1.0)
        self.under_way -= 1

    async def write(self, times: int = 1) -> None:
        for _ in range(times):
            assert await self.writer.write(WORKLOAD)


def test_who_writes_again_waits_for_those_who_waited() -> None:
    async def story() -> None:
        paper = Paper()
        await asyncio.gather(paper.write(times=2), paper.write(), paper.write())
        assert paper.most_under_way == 1

    virtual_time.run(story())
