"""Keeps pauses short in which Python looks for garbage: nearly all that a long-running process of
ours makes stays in its caches, or goes as soon as nobody refers to it. What was looked at once is
not looked at again until an hour has passed.
"""

import asyncio
import gc

COLLECTED_MIN = 20_000
"""So much has to be new before it is looked at; more often finds nothing."""
YOUNG_MAX = 5
"""So many times as much is looked at together at most: some tens of milliseconds."""
WHOLE_SECONDS = 3600.0


def keep_pauses_short() -> None:
    """From now on; what refers to itself in a circle and was spared goes with `look_at_all`."""
    gc.set_threshold(COLLECTED_MIN, YOUNG_MAX, 1)
    if _spare not in gc.callbacks:
        gc.callbacks.append(_spare)


async def look_at_all() -> None:
    """Every hour, until it is cancelled."""
    while True:
        await asyncio.sleep(WHOLE_SECONDS)
        gc.unfreeze()
        gc.collect()


def _spare(phase: str, facts: dict[str, int]) -> None:
    if phase == "stop" and facts["generation"] > 0:
        gc.freeze()
