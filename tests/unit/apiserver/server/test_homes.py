"""Creations that a webhook holds up while their namespace or their definition changes or goes."""

import asyncio
from typing import Any

from fleetqueue.base import codec

from .conftest import Api
from .test_races import Slow, config_map, with_hook
from .test_reshaping import DEFINITIONS, NEW, OLD, THINGS, define, redefine, thing

Object = dict[str, Any]


async def held(api: Api, path: str, body: Object) -> tuple["asyncio.Task[Any]", Slow]:
    """A creation that waits for its webhook."""
    hook = await with_hook(api, "*")
    task = asyncio.get_running_loop().create_task(api.send("POST", path, body))
    await asyncio.sleep(0.1)
    assert not task.done()
    return task, hook


async def test_nothing_lands_in_a_namespace_that_is_gone(api: Api) -> None:
    await api.post("/api/v1/namespaces", config_map("home"))
    await api.settle()
    task, hook = await held(api, "/api/v1/namespaces/home/configmaps", config_map("a"))
    await api.delete("/api/v1/namespaces/home")
    await api.settle()
    await api.get("/api/v1/namespaces/home")
    assert api.status == 404
    hook.may_answer.set()
    answer = codec.decode((await task).encoded())
    assert (answer["code"], answer["message"]) == (404, 'namespaces "home" not found')
    assert "home/a" not in api.instance.core.store.table("configmaps").live


async def test_nothing_lands_under_a_definition_that_is_gone(api: Api) -> None:
    await define(api, OLD)
    task, hook = await held(api, THINGS, thing("a", x=1))
    await api.delete(f"{DEFINITIONS}/things.example.org")
    await api.settle()
    hook.may_answer.set()
    assert (await task).status == 404
    assert not api.instance.core.store.table("things.example.org").live


async def test_what_lands_late_is_stored_as_the_present_schema_shows_it(api: Api) -> None:
    await define(api, OLD)
    task, hook = await held(api, THINGS, thing("a", x=1, old="o"))
    await redefine(api, NEW)
    hook.may_answer.set()
    assert (await task).status == 201
    assert (await api.get(f"{THINGS}/a"))["spec"] == {"x": 1, "size": 5}
