"""The shepherd's loop itself: what happens when one round brings several things at once."""

import os
import selectors
import socket
from collections.abc import Iterator

import pytest

from fleetqueue.runtime.shepherd.channel import Channel
from fleetqueue.runtime.shepherd.loop import Shepherd


@pytest.fixture
def shepherd() -> Iterator[Shepherd]:
    server, own = socket.socketpair()
    with server:
        yield Shepherd(Channel(own), {"cluster": "test", "cgroups": False})
        own.close()


def ready_pipe() -> int:
    reads, writes = os.pipe()
    os.close(writes)
    return reads


def test_what_was_closed_in_the_same_round_is_not_handled(shepherd: Shepherd) -> None:
    handled: list[str] = []
    selector, first, second = shepherd._selector, ready_pipe(), ready_pipe()

    def close_second(descriptor: int) -> None:
        selector.unregister(second)
        os.close(second)
        handled.append("first")

    selector.register(first, selectors.EVENT_READ, close_second)
    selector.register(second, selectors.EVENT_READ, lambda fd: handled.append("second"))
    keys = {key.fd: key for key, _ in selector.select(0)}
    assert set(keys) == {first, second}
    shepherd._dispatch(keys[first])
    # The number is given out again at once: the old event must not reach the new owner either.
    again = ready_pipe()
    assert again == second
    selector.register(again, selectors.EVENT_READ, lambda fd: handled.append("another"))
    shepherd._dispatch(keys[second])
    assert handled == ["first"]
    for descriptor in (first, again):
        os.close(descriptor)


def test_trouble_with_one_does_not_end_the_others(
    shepherd: Shepherd, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(descriptor: int) -> None:
        raise KeyError("trouble")

    bad = ready_pipe()
    shepherd._selector.register(bad, selectors.EVENT_READ, fail)
    [(key, _)] = shepherd._selector.select(0)
    shepherd._dispatch(key)
    assert "trouble" in capfd.readouterr().err
    assert shepherd._selector.select(0) == [], "it is not asked again and again"
    os.close(bad)
