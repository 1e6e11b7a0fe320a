"""The event loop that long-running processes use."""

import asyncio


def new_runner() -> asyncio.Runner:
    """On uvloop, where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
