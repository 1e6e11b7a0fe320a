"""Events go by themselves, an hour after they were last written."""

import asyncio
from typing import Any

from .conftest import Api

EVENTS = "/api/v1/namespaces/default/events"


def event(name: str) -> dict[str, Any]:
    involved = {"kind": "Pod", "namespace": "default", "name": "p"}
    return {"metadata": {"name": name}, "involvedObject": involved, "reason": "Tested"}


async def names(api: Api) -> list[str]:
    return [item["metadata"]["name"] for item in (await api.get(EVENTS))["items"]]


async def test_an_event_goes_an_hour_after_it_was_last_written(api: Api) -> None:
    await api.post(EVENTS, event("once"))
    await api.post(EVENTS, event("again"))
    await asyncio.sleep(1800)
    await api.patch(f"{EVENTS}/again", {"count": 2})
    await asyncio.sleep(1700)
    assert await names(api) == ["again", "once"]
    await asyncio.sleep(200)
    assert await names(api) == ["again"]
    await asyncio.sleep(1800)
    assert await names(api) == []


async def test_a_waiting_event_does_not_make_the_server_busy(api: Api) -> None:
    await api.post(EVENTS, event("once"))
    await api.settle()
    assert await names(api) == ["once"]
