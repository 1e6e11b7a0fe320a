"""Whether this member has joined the fleet, shared by the agent, which decides that, and the
applier, which works only while it is so.
"""

from collections.abc import Awaitable, Callable


class Membership:
    """One for each member agent; not joined until the agent says so."""

    def __init__(self) -> None:
        self.is_joined = False
        self._joiners: list[Callable[[], None]] = []
        self._leavers: list[Callable[[], Awaitable[None]]] = []

    def on_join(self, wake: Callable[[], None]) -> None:
        """To be called each time that the member joins, after `is_joined` became true."""
        self._joiners.append(wake)

    def on_leave(self, leave: Callable[[], Awaitable[None]]) -> None:
        """To be awaited each time that the member leaves, after `is_joined` became false: it lets
        go of everything on the hub, and may raise, then the member has not left yet.
        """
        self._leavers.append(leave)

    def join(self) -> None:
        if self.is_joined:
            return
        self.is_joined = True
        for wake in self._joiners:
            wake()

    async def leave(self) -> None:
        """Nothing new begins; returns when everybody has let go. Safe to repeat."""
        self.is_joined = False
        for leave in self._leavers:
            await leave()
