"""What holds for the client runtime whatever happens: stores never go back, queues lose nothing."""

import asyncio
from collections.abc import AsyncIterator
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api.meta import Key
from fleetqueue.api.patches import apply_json_patch
from fleetqueue.base import codec, virtual_time
from fleetqueue.kube import watch
from fleetqueue.kube.client import Client
from fleetqueue.kube.informer import Informer
from fleetqueue.kube.resources import CONFIG_MAPS
from fleetqueue.kube.reviews import create_json_patch
from fleetqueue.kube.transport import InProcessTransport, frames_of
from fleetqueue.kube.workqueue import ShutDown, WorkQueue

NAMES = ("a", "b", "c")
History = list[tuple[str, str, dict[str, Any]]]


class Truth:
    """A server's history of a few names: made, changed, removed, made again."""

    def __init__(self, steps: list[tuple[str, bool]]) -> None:
        self.history: History = []
        self.states: list[dict[str, dict[str, Any]]] = [{}]
        held: dict[str, dict[str, Any]] = {}
        for number, (name, removes) in enumerate(steps, start=1):
            old = held.get(name)
            if removes and old is not None:
                gone = _object(name, number, old["metadata"]["uid"])
                self.history.append(("DELETED", name, gone))
                held = {key: value for key, value in held.items() if key != name}
            else:
                uid = old["metadata"]["uid"] if old else f"{name}-{number}"
                held = {**held, name: _object(name, number, uid)}
                self.history.append(("MODIFIED" if old else "ADDED", name, held[name]))
            self.states.append(held)


def _object(name: str, revision: int, uid: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(revision), "uid": uid}}


def _informer() -> Informer[Any]:
    async def nobody(request: Any) -> Any:
        raise AssertionError("nothing is asked")

    client = Client(InProcessTransport(nobody), random=Random(1))
    return Informer(client, CONFIG_MAPS, random=Random(1))


steps = st.lists(st.tuples(st.sampled_from(NAMES), st.booleans()), max_size=20)


@given(steps, st.data())
def test_an_informer_never_goes_back_and_ends_with_the_truth(
    taken: list[tuple[str, bool]], data: st.DataObject
) -> None:
    """Own writes arrive early, lists overlap with them: the store must still end up right."""

    async def follow() -> None:
        truth = Truth(taken)
        informer = _informer()
        seen: dict[str, int] = dict.fromkeys(NAMES, 0)
        position = written = 0
        _relist(informer, truth, 0, [])
        while position < len(truth.history):
            written = data.draw(st.integers(max(written, position), len(truth.history) - 1))
            _accept(informer, truth.history[written])
            _check(informer, seen)
            if data.draw(st.booleans()):
                position = data.draw(st.integers(written + 1, len(truth.history)))
                later = data.draw(st.integers(position, len(truth.history)))
                _relist(informer, truth, position, truth.history[position:later])
                written = max(written, later - 1)
            else:
                type, _, obj = truth.history[position]
                informer.handle(watch.Delete(obj) if type == "DELETED" else watch.Apply(obj))
                position += 1
            _check(informer, seen)
        held = {key.name: informer.store.get(key) for key in informer.store.all_keys()}
        assert held == truth.states[-1]

    virtual_time.run(follow())


def _relist(informer: Informer[Any], truth: Truth, position: int, meanwhile: History) -> None:
    """A list as of `position`, and our own writes that happen before it arrives."""
    informer.handle(watch.InitBegin())
    for event in meanwhile:
        _accept(informer, event)
    for obj in truth.states[position].values():
        informer.handle(watch.InitItem(obj))
    informer.handle(watch.InitDone(str(position)))


def _accept(informer: Informer[Any], event: tuple[str, str, dict[str, Any]]) -> None:
    type, name, obj = event
    if type == "DELETED":
        informer.accept_deleted(Key("", name), obj["metadata"]["uid"])
    else:
        informer.accept(obj)


def _check(informer: Informer[Any], seen: dict[str, int]) -> None:
    for key in informer.store.all_keys():
        held = informer.store.get(key)
        assert held is not None
        revision = int(held["metadata"]["resourceVersion"])
        assert revision >= seen[key.name]
        seen[key.name] = revision


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 3)), max_size=30), st.integers(1, 4)
)
def test_every_key_is_worked_on_after_its_last_addition(
    added: list[tuple[str, int]], workers: int
) -> None:
    async def drive() -> None:
        queue: WorkQueue[str] = WorkQueue(random=Random(1))
        last_added: dict[str, float] = {}
        last_begun: dict[str, float] = {}
        at_work: set[str] = set()
        loop = asyncio.get_running_loop()

        async def work() -> None:
            while True:
                try:
                    key = await queue.get()
                except ShutDown:
                    return
                assert key not in at_work
                at_work.add(key)
                last_begun[key] = loop.time()
                await asyncio.sleep(1.5)
                at_work.remove(key)
                queue.done(key)

        running = [asyncio.ensure_future(work()) for _ in range(workers)]
        for key, wait in added:
            queue.add(key, priority=wait)
            last_added[key] = loop.time()
            await asyncio.sleep(wait)
        await queue.drain()
        queue.shut_down()
        await asyncio.gather(*running)
        assert set(last_begun) == set(last_added)
        assert all(last_begun[key] >= last_added[key] for key in last_added)

    virtual_time.run(drive())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("a/~b", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("a/~b", max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)
objects = st.dictionaries(st.text("a/~b", max_size=3), json_values, max_size=5)


@given(objects, objects)
def test_a_created_json_patch_leads_from_one_object_to_the_other(old: Any, new: Any) -> None:
    patched = apply_json_patch(codec.copy(old), create_json_patch(old, new))

    assert codec.encode(_sorted(patched)) == codec.encode(_sorted(new))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


@given(st.lists(json_values, max_size=6), st.data())
def test_a_watch_can_be_cut_anywhere(sent: list[Any], data: st.DataObject) -> None:
    lines = [codec.encode({"type": "ADDED", "object": value}) + b"\n" for value in sent]
    whole = b"".join(lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))

    async def chunks() -> AsyncIterator[bytes]:
        for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
            yield whole[begin:end]

    async def read() -> list[Any]:
        return [f.payload.decoded() async for batch in frames_of(chunks()) for f in batch]

    assert virtual_time.run(read()) == sent
