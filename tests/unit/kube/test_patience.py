"""Servers that take calls and never answer, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest

from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import NoAnswer
from fleetqueue.kube.patience import PatientTransport
from fleetqueue.kube.resources import PODS
from fleetqueue.kube.transport import Answer, Call, Stream

SECONDS = 10.0


class Stopped:
    """Takes a minute for everything."""

    async def request(self, call: Call) -> Answer:
        await asyncio.sleep(60)
        raise AssertionError("it was waited for")

    async def stream(self, call: Call) -> Stream:
        await asyncio.sleep(60)
        raise AssertionError("it was waited for")

    async def upgrade(self, call: Call) -> Any:
        await asyncio.sleep(60)
        raise AssertionError("it was waited for")

    async def close(self) -> None:
        """There is nothing to close."""


@pytest.fixture
def transport() -> PatientTransport:
    return PatientTransport(Stopped(), SECONDS, '"manager" (https://127.0.0.1:6443)')


async def seconds_of(asking: Callable[[], Awaitable[Any]], error: type[BaseException]) -> float:
    loop = asyncio.get_running_loop()
    began_at = loop.time()
    with pytest.raises(error):
        await asking()
    return loop.time() - began_at


async def test_a_server_that_is_silent_is_named_and_not_asked_again(
    transport: PatientTransport,
) -> None:
    client = Client(transport, random=Random(1))
    loop = asyncio.get_running_loop()
    began_at = loop.time()
    with pytest.raises(NoAnswer) as found:
        await client.get(PODS, "p", "default")
    assert loop.time() - began_at == SECONDS
    assert str(found.value).startswith(
        '"manager" (https://127.0.0.1:6443) does not answer: nothing came from it for 10 s;'
    )


async def test_streams_and_upgrades_have_the_same_limit(transport: PatientTransport) -> None:
    call = Call("GET", "/api")
    assert await seconds_of(lambda: transport.stream(call), NoAnswer) == SECONDS
    assert await seconds_of(lambda: transport.upgrade(call), NoAnswer) == SECONDS


async def test_what_changes_something_or_names_its_time_is_waited_for(
    transport: PatientTransport,
) -> None:
    change, own = Call("POST", "/api"), Call("GET", "/api", timeout_seconds=1000)
    assert await seconds_of(lambda: transport.request(change), AssertionError) == 60
    assert await seconds_of(lambda: transport.stream(own), AssertionError) == 60
