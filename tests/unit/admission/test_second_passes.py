"""When a workload is looked at a second time: after a while, whatever the wall clock says then."""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from fleetqueue.admission.scheduler import SECOND_PASS_SECONDS, Scheduler
from fleetqueue.api.meta import Key
from fleetqueue.base.virtual_time import VirtualTimeLoop

KEY = Key("default", "w")
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.rule("kueue 8.8")
def test_a_clock_that_is_behind_keeps_nobody_waiting() -> None:
    """A timer may come a moment before its time by another clock, which may be set back, too."""

    async def story() -> None:
        waiting: Any = SimpleNamespace(key=KEY)
        ledger: Any = SimpleNamespace(
            on_work=[], on_gone=[], second_passes={KEY: waiting}, pop_heads=list
        )
        scheduler = Scheduler(ledger, SimpleNamespace(), lambda: EPOCH)  # type: ignore[arg-type]
        assert scheduler._heads() == []
        await asyncio.sleep(SECOND_PASS_SECONDS)
        await asyncio.wait_for(scheduler._wake.wait(), 1)
        assert [head.workload for head in scheduler._heads()] == [waiting]

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(story())
