"""The watch as a state machine: where it goes on after each thing that can happen."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from fleetqueue.api.kueue.v1beta2.local_queue import LocalQueue
from fleetqueue.kube import errors, watch
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Unreachable
from fleetqueue.kube.resources import CONFIG_MAPS
from fleetqueue.kube.watch import State, Watcher


def obj(name: str, revision: int) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "resourceVersion": str(revision)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def listed(revision: int, *objects: Any) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": str(revision)}, "items": list(objects)}


class Reader:
    """Reads a watcher's events one by one."""

    def __init__(self, batches: AsyncIterator[Any]) -> None:
        self._batches = batches
        self._events: list[Any] = []

    async def next(self) -> str:
        while not self._events:
            self._events = list(await anext(self._batches))
        return _shown(self._events.pop(0))

    async def take(self, count: int) -> list[str]:
        return [await self.next() for _ in range(count)]


def _shown(event: Any) -> str:
    name = type(event).__name__
    if hasattr(event, "object"):
        found = event.object
        return f"{name} {found['metadata']['name'] if isinstance(found, dict) else found.key.name}"
    return f"{name} {event.revision}" if hasattr(event, "revision") else name


@asynccontextmanager
async def following(client: Client, **options: Any) -> AsyncIterator[tuple[Watcher[Any], Reader]]:
    watcher: Watcher[Any] = Watcher(
        client, options.pop("kind", CONFIG_MAPS), random=Random(1), **options
    )
    batches = watcher.batches()
    try:
        yield watcher, Reader(batches)
    finally:
        await batches.aclose()


async def test_lists_then_watches_from_the_lists_revision(
    client: Client, script: Any, new_stream: Any
) -> None:
    stream = new_stream()
    script.then(listed(10, obj("a", 4), obj("b", 9)), stream)

    async with following(client, streams=False) as (watcher, reader):
        assert await reader.take(4) == ["InitBegin", "InitItem a", "InitItem b", "InitDone 10"]
        stream.send("ADDED", obj("c", 11))
        stream.send("DELETED", obj("a", 12))
        assert await reader.take(2) == ["Apply c", "Delete a"]
        assert watcher.state is State.WATCHING
        assert watcher.revision == "12"

    assert script.last.query["resourceVersion"] == ["10"]
    assert script.last.query["allowWatchBookmarks"] == ["true"]
    assert 300 <= int(script.last.query["timeoutSeconds"][0]) <= 600


async def test_streams_the_initial_state_where_the_server_offers_it(
    client: Client, script: Any, new_stream: Any
) -> None:
    stream = new_stream()
    script.then(stream)
    stream.send("ADDED", obj("a", 4))
    stream.bookmark("10", ends_initial=True)
    stream.send("MODIFIED", obj("a", 11))

    async with following(client) as (_, reader):
        assert await reader.take(4) == ["InitBegin", "InitItem a", "InitDone 10", "Apply a"]

    assert script.last.query["sendInitialEvents"] == ["true"]
    assert script.last.query["resourceVersionMatch"] == ["NotOlderThan"]


async def test_lists_where_the_server_does_not_offer_streaming(
    client: Client, script: Any, new_stream: Any, refuse: Any
) -> None:
    script.then(refuse(422, "Invalid", "sendInitialEvents"), listed(10, obj("a", 4)), new_stream())

    async with following(client) as (watcher, reader):
        assert await reader.take(4) == ["InitBegin", "InitBegin", "InitItem a", "InitDone 10"]
        assert watcher.problem is None


async def test_lists_where_the_server_never_ends_the_initial_state(
    client: Client, script: Any, new_stream: Any
) -> None:
    stream = new_stream()
    stream.send("ADDED", obj("a", 4))
    stream.end()
    script.then(stream, listed(10, obj("a", 4)), new_stream())

    async with following(client) as (_, reader):
        begun = await reader.take(2)
        assert begun == ["InitBegin", "InitItem a"]
        assert await reader.take(3) == ["InitBegin", "InitItem a", "InitDone 10"]


async def test_resumes_from_the_last_revision_when_a_watch_breaks(
    client: Client, script: Any, new_stream: Any
) -> None:
    first, second = new_stream(), new_stream()
    script.then(listed(10), first, second)
    first.send("ADDED", obj("a", 15))
    first.break_off()
    second.send("MODIFIED", obj("a", 16))

    async with following(client, streams=False) as (_, reader):
        assert await reader.take(4) == ["InitBegin", "InitDone 10", "Apply a", "Apply a"]

    assert script.last.query["resourceVersion"] == ["15"]
    assert first.is_closed


async def test_a_bookmark_moves_the_revision_to_resume_from(
    client: Client, script: Any, new_stream: Any
) -> None:
    first, second = new_stream(), new_stream()
    script.then(listed(10), first, second)
    first.bookmark("99")
    first.end()
    second.bookmark("100")

    async with following(client, streams=False) as (_, reader):
        assert await reader.take(4) == ["InitBegin", "InitDone 10", "Bookmark 99", "Bookmark 100"]

    assert script.last.query["resourceVersion"] == ["99"]


async def test_lists_again_at_once_when_the_revision_is_gone(
    client: Client, script: Any, new_stream: Any, clock: Any
) -> None:
    first, second = new_stream(), new_stream()
    script.then(listed(10, obj("a", 4)), first, listed(50, obj("b", 40)), second)
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}

    async with following(client, streams=False) as (_, reader):
        await reader.take(3)
        began_at = clock.monotonic()
        first.send("ERROR", gone)
        assert await reader.take(3) == ["InitBegin", "InitItem b", "InitDone 50"]
        assert clock.monotonic() == began_at


async def test_a_gone_revision_as_an_answer_counts_too(
    client: Client, script: Any, new_stream: Any, refuse: Any
) -> None:
    script.then(listed(10), refuse(410, "Gone"), listed(50), new_stream())

    async with following(client, streams=False) as (_, reader):
        assert await reader.take(4) == ["InitBegin", "InitDone 10", "InitBegin", "InitDone 50"]


async def test_a_silent_watch_counts_as_hung(
    client: Client, script: Any, new_stream: Any, clock: Any
) -> None:
    hung, second = new_stream(), new_stream()
    script.then(listed(10), hung, second)
    second.send("ADDED", obj("a", 11))

    async with following(client, streams=False) as (_, reader):
        await reader.take(2)
        began_at = clock.monotonic()
        assert await reader.next() == "Apply a"
        assert 180 <= clock.monotonic() - began_at < 185
        assert hung.is_closed


async def test_waits_longer_after_each_failure_and_says_why(
    client: Client, script: Any, clock: Any, refuse: Any
) -> None:
    script.then(*[refuse(403, "Forbidden", "may not list") for _ in range(6)])
    script.then(listed(10))
    times: list[float] = []

    async with following(client, streams=False) as (watcher, reader):
        task = asyncio.ensure_future(reader.take(8))
        while not task.done():
            before = len(script.calls)
            await asyncio.sleep(0.01)
            if len(script.calls) > before:
                times.append(clock.monotonic())
            if watcher.problem is not None:
                assert "may not list" in str(watcher.problem)
        assert watcher.problem is None

    gaps = [after - before for before, after in pairwise(times)]
    assert len(gaps) >= 5
    assert gaps == sorted(gaps)
    assert max(gaps) <= 30.1


async def test_a_watch_that_always_ends_at_once_does_not_spin(
    client: Client, script: Any, new_stream: Any, clock: Any
) -> None:
    streams = [new_stream() for _ in range(5)]
    for stream in streams:
        stream.end()
    last = new_stream()
    last.send("ADDED", obj("a", 11))
    script.then(listed(10), *streams, last)

    async with following(client, streams=False) as (_, reader):
        await reader.take(2)
        began_at = clock.monotonic()
        await reader.next()

    assert clock.monotonic() - began_at > 10


async def test_one_bad_object_does_not_hide_the_others(
    client: Client, script: Any, new_stream: Any
) -> None:
    good = {"metadata": {"name": "good"}, "spec": {"clusterQueue": "q"}}
    bad = {"metadata": {"name": "bad"}, "spec": {"clusterQueue": 7}}
    stream = new_stream()
    script.then(listed(10, bad, good), stream)
    stream.send("ADDED", bad)
    stream.send("ADDED", good)

    async with following(client, kind=LocalQueue, streams=False) as (_, reader):
        found = await reader.take(4)

    assert found == ["InitBegin", "InitItem good", "InitDone 10", "Apply good"]


async def test_the_selection_goes_with_the_list_and_the_watch(
    client: Client, script: Any, new_stream: Any
) -> None:
    stream = new_stream()
    script.then(listed(10), stream)
    stream.bookmark("11")

    async with following(
        client, streams=False, namespace="ns", selection={"label_selector": "a=b"}
    ) as (_, reader):
        await reader.take(3)

    assert [call.query["labelSelector"] for call in script.calls] == [["a=b"], ["a=b"]]
    assert {call.path for call in script.calls} == {"/api/v1/namespaces/ns/configmaps"}


# fmt: off
FAILURES = {
    "watching, broken":  (State.WATCHING, Unreachable("x"), State.LISTED),
    "watching, gone":    (State.WATCHING, errors.Gone({}), State.EMPTY),
    "listed, refused":   (State.LISTED, errors.Forbidden({}), State.LISTED),
    "listing, broken":   (State.LISTING, Unreachable("x"), State.EMPTY),
    "watching, ahead":   (State.WATCHING, errors.Timeout({"details": {"causes": [
                          {"reason": "ResourceVersionTooLarge"}]}}), State.EMPTY),
    "streaming, broken": (State.STREAMING, Unreachable("x"), State.EMPTY),
}
# fmt: on


@pytest.mark.parametrize(("state", "error", "then"), FAILURES.values(), ids=FAILURES.keys())
def test_after_a_failure(state: State, error: errors.KubeError, then: State) -> None:
    assert watch.after_failure(state, error) is then


async def test_tells_of_failures_and_that_they_are_over_but_not_of_a_watch_that_just_ended(
    client: Client, script: Any, new_stream: Any, refuse: Any
) -> None:
    ended, gone = new_stream(), refuse(410, "Expired", "too old")
    ended.send("ADDED", obj("a", 11))
    ended.end()
    script.then(listed(10), ended, gone, listed(20))
    resumed = new_stream()
    resumed.send("ADDED", obj("b", 21))
    script.then(Unreachable("broken"), resumed)
    told: list[str] = []

    def on_problem(problem: errors.KubeError | None) -> None:
        told.append(str(problem))

    async with following(client, streams=False, on_problem=on_problem) as (_, reader):
        assert await reader.take(5) == [
            "InitBegin", "InitDone 10", "Apply a", "InitBegin", "InitDone 20",
        ]  # fmt: skip
        assert told == []
        assert await reader.next() == "Apply b"

    assert told == ["broken", "None"]
