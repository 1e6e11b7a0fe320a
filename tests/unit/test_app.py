"""A server that is given up before it answers."""

import asyncio
import logging
from pathlib import Path

import pytest

from fleetqueue.app import ServeOptions, serving


@pytest.mark.parametrize("turns", range(1, 40, 3))
async def test_a_server_that_is_stopped_in_its_start_has_nothing_to_complain_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, turns: int
) -> None:
    async def serve() -> None:
        async with serving(ServeOptions(tmp_path)):
            await asyncio.Event().wait()

    life = asyncio.create_task(serve())
    for _ in range(turns):
        await asyncio.sleep(0)
    life.cancel()
    with pytest.raises(asyncio.CancelledError):
        await life
    # Whoever would still write does so now.
    for _ in range(100):
        await asyncio.sleep(0.001)

    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR] == []
    assert not [each for each in asyncio.all_tasks() if each is not asyncio.current_task()]
