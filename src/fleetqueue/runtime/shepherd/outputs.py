"""Copies what containers write: into their logs, and to everybody who attached to them."""

import os
import selectors

from fleetqueue.runtime.shepherd.flock import Member
from fleetqueue.runtime.shepherd.outlets import Outlet

_READ_MAX = 64 * 1024


class Outputs:
    """Reads the outputs of members as the selector says that there is something to read."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector

    def watch(self, member: Member) -> None:
        for descriptor in member.outputs:
            self._selector.register(
                descriptor, selectors.EVENT_READ, lambda fd: self._copy(member, fd)
            )

    def attach(self, member: Member, roles: dict[str, int]) -> None:
        for stream, descriptor in roles.items():
            member.outlets.append(Outlet(stream, descriptor))

    def drain(self, member: Member) -> None:
        """Takes all that is there, of a process that ended."""
        for descriptor in list(member.outputs):
            while self._copy(member, descriptor):
                pass

    def close(self, member: Member) -> None:
        for descriptor in list(member.outputs):
            self._forget(member, descriptor)
        for outlet in list(member.outlets):
            outlet.is_ending = True
            self._drop_when_done(member, outlet)
        if member.log:
            member.log.close()
            member.log = None

    def _copy(self, member: Member, descriptor: int) -> bool:
        """Takes one piece of output; whether there may be more."""
        try:
            data = os.read(descriptor, _READ_MAX)
        except BlockingIOError:
            return False
        except OSError:
            # A terminal that nobody has open any more.
            data = b""
        if not data:
            self._forget(member, descriptor)
            return False
        stream = member.outputs[descriptor]
        if member.log:
            member.log.feed(stream, data)
        for outlet in member.outlets:
            if outlet.stream == stream:
                self._feed(member, outlet, data)
        return True

    def _forget(self, member: Member, descriptor: int) -> None:
        del member.outputs[descriptor]
        self._selector.unregister(descriptor)
        os.close(descriptor)

    def _feed(self, member: Member, outlet: Outlet, data: bytes) -> None:
        was_waiting = outlet.is_waiting
        outlet.feed(data)
        if outlet.is_waiting and not was_waiting:
            self._selector.register(
                outlet.descriptor, selectors.EVENT_WRITE, lambda fd: self._flush(member, outlet)
            )
        elif was_waiting and not outlet.is_waiting:
            self._selector.unregister(outlet.descriptor)
        self._drop_when_done(member, outlet)

    def _flush(self, member: Member, outlet: Outlet) -> None:
        outlet.flush()
        if not outlet.is_waiting:
            self._selector.unregister(outlet.descriptor)
        self._drop_when_done(member, outlet)

    def _drop_when_done(self, member: Member, outlet: Outlet) -> None:
        if outlet.is_done:
            member.outlets = [other for other in member.outlets if other is not outlet]
            outlet.close()
