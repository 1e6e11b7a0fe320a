"""The informer: a store that follows the server, takes our own writes, and never goes back."""

import asyncio
from random import Random
from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.base.virtual_time import idle
from fleetqueue.kube import informer as informers
from fleetqueue.kube import watch
from fleetqueue.kube.client import Client
from fleetqueue.kube.informer import Informer, Store
from fleetqueue.kube.resources import CONFIG_MAPS

A = Key("ns", "a")
PATH = "/api/v1/namespaces/ns/configmaps"


def obj(revision: int, *, name: str = "a", uid: str = "u", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "resourceVersion": str(revision), "uid": uid}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata, **more}}


@pytest.fixture
async def informer(client: Client) -> Informer[Any]:
    return Informer(client, CONFIG_MAPS, random=Random(1))


@pytest.fixture
def heard(informer: Informer[Any]) -> list[str]:
    told: list[str] = []

    def listen(old: Any, new: Any) -> None:
        told.append(f"{_revision(old)} -> {_revision(new)}")

    informer.listen(listen)
    return told


def _revision(found: Any) -> str:
    return "-" if found is None else str(found["metadata"]["resourceVersion"])


def _init(informer: Informer[Any], revision: int, *objects: Any) -> None:
    informer.handle(watch.InitBegin())
    for each in objects:
        informer.handle(watch.InitItem(each))
    informer.handle(watch.InitDone(str(revision)))


async def test_the_answer_to_the_write_that_removed_an_object_does_not_bring_it_back(
    informer: Informer[Any], heard: list[str]
) -> None:
    """As when the last finalizer goes: the answer shows the object once more."""
    _init(informer, 5, obj(3))
    informer.handle(watch.Delete(obj(8)))
    informer.accept(obj(8))

    assert informer.store.get(A) is None
    assert heard == ["- -> 3", "3 -> -"]


async def test_others_have_their_turn_while_a_large_state_is_taken_in(
    informer: Informer[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what they write meanwhile stays, whether or not its turn has come."""
    monkeypatch.setattr(informers, "SLICE", 2)
    names = "abcdef"
    _init(informer, 5, *(obj(3, name=each, uid=each) for each in names))
    informer.handle(watch.InitBegin())
    for each in names:
        informer.handle(watch.InitItem(obj(6, name=each, uid=each)))
    pauses = 0
    for _ in informer._replacing():
        pauses += 1
        if pauses == 1:
            informer.accept(obj(9, name="f", uid="f"))
            informer.accept_deleted(Key("ns", "e"), "e")

    assert pauses == 6
    found = {each["metadata"]["name"]: _revision(each) for each in informer.store.all()}
    assert found == {"a": "6", "b": "6", "c": "6", "d": "6", "f": "9"}


async def test_what_was_known_counts_until_the_new_state_is_complete(
    informer: Informer[Any], heard: list[str]
) -> None:
    _init(informer, 5, obj(3), obj(4, name="b"))
    informer.handle(watch.InitBegin())
    informer.handle(watch.InitItem(obj(7)))

    assert len(informer.store) == 2
    assert heard == ["- -> 3", "- -> 4"]

    informer.handle(watch.InitDone("8"))

    assert informer.store.all_keys() == [A]
    assert heard[2:] == ["4 -> -", "3 -> 7"]


async def test_a_relist_tells_only_what_differs(informer: Informer[Any], heard: list[str]) -> None:
    _init(informer, 5, obj(3))
    _init(informer, 9, obj(3))

    assert heard == ["- -> 3"]


async def test_an_own_write_is_seen_at_once_and_not_told_twice(
    informer: Informer[Any], heard: list[str]
) -> None:
    _init(informer, 5, obj(3))
    informer.accept(obj(8))

    assert _revision(informer.store.get(A)) == "8"

    informer.handle(watch.Apply(obj(6)))
    informer.handle(watch.Apply(obj(8)))

    assert heard == ["- -> 3", "3 -> 8"]


async def test_a_list_that_was_asked_for_before_our_write_does_not_undo_it(
    informer: Informer[Any], heard: list[str]
) -> None:
    _init(informer, 5, obj(3), obj(4, name="doomed", uid="d"))
    informer.handle(watch.InitBegin())
    informer.accept(obj(8))
    informer.accept(obj(9, name="new", uid="n"))
    informer.accept_deleted(Key("ns", "doomed"), "d")
    informer.handle(watch.InitItem(obj(3)))
    informer.handle(watch.InitItem(obj(4, name="doomed", uid="d")))

    informer.handle(watch.InitDone("7"))

    assert _revision(informer.store.get(A)) == "8"
    assert informer.get("new", "ns") is not None
    assert informer.get("doomed", "ns") is None


async def test_own_writes_are_kept_in_mind_only_while_a_list_is_under_way(
    informer: Informer[Any],
) -> None:
    informer.accept(obj(2, name="early"))
    assert not informer._own
    informer.handle(watch.InitBegin())
    informer.accept(obj(8))
    informer.accept_deleted(Key("ns", "early"), "u")
    assert informer._own == {A, Key("ns", "early")}
    informer.handle(watch.InitDone("7"))
    assert not informer._own

    informer.accept(obj(9))
    informer.accept_deleted(A, "u")

    assert not informer._own


async def test_a_list_of_a_restored_server_is_the_truth(
    informer: Informer[Any], heard: list[str]
) -> None:
    _init(informer, 50, obj(30), obj(40, name="lost"))
    informer.accept(obj(60))

    _init(informer, 20, obj(10))

    assert informer.store.all_keys() == [A]
    assert heard[-2:] == ["40 -> -", "60 -> 10"]


async def test_an_own_delete_is_seen_at_once_and_events_from_before_do_not_undo_it(
    informer: Informer[Any], heard: list[str]
) -> None:
    _init(informer, 5, obj(3))
    informer.accept_deleted(A, "u")

    informer.handle(watch.Apply(obj(4)))
    assert informer.store.get(A) is None

    informer.handle(watch.Delete(obj(6)))
    informer.handle(watch.Apply(obj(7, uid="another")))
    assert _revision(informer.store.get(A)) == "7"
    assert heard == ["- -> 3", "3 -> -", "- -> 7"]


async def test_what_came_before_an_object_that_we_removed_does_not_come_back(
    informer: Informer[Any],
) -> None:
    _init(informer, 5, obj(3, uid="first"))
    informer.accept(obj(9, uid="second"))
    informer.accept_deleted(A, "second")

    informer.handle(watch.Apply(obj(6, uid="first")))

    assert informer.store.get(A) is None


async def test_a_delete_of_the_former_does_not_remove_its_successor(
    informer: Informer[Any],
) -> None:
    _init(informer, 5, obj(3, uid="old"))
    informer.accept(obj(9, uid="new"))

    informer.handle(watch.Delete(obj(8, uid="old")))

    assert informer.store.get(A) is not None


async def test_a_successor_is_told_as_a_removal_and_an_arrival(
    informer: Informer[Any], heard: list[str]
) -> None:
    _init(informer, 5, obj(3, uid="old"))
    _init(informer, 9, obj(8, uid="new"))

    assert heard == ["- -> 3", "3 -> -", "- -> 8"]


async def test_a_late_listener_hears_what_is_there(informer: Informer[Any]) -> None:
    _init(informer, 5, obj(3))
    told: list[Any] = []

    informer.listen(lambda old, new: told.append((old, new["metadata"]["name"])))

    assert told == [(None, "a")]


async def test_a_failing_listener_does_not_cut_off_the_others(
    informer: Informer[Any], heard: list[str]
) -> None:
    def fail(old: Any, new: Any) -> None:
        raise ValueError("a bug")

    informer.listen(fail)
    late: list[Any] = []
    informer.listen(lambda old, new: late.append(new))

    _init(informer, 5, obj(3))

    assert len(late) == len(heard) == 1


async def test_an_informer_of_a_part_leaves_new_objects_to_the_watch(client: Client) -> None:
    part: Informer[Any] = Informer(
        client, CONFIG_MAPS, random=Random(1), selection={"label_selector": "a=b"}
    )
    _init(part, 5, obj(3))

    part.accept(obj(8, name="stranger"))
    part.accept(obj(9))

    assert part.store.all_keys() == [A]
    assert _revision(part.store.get(A)) == "9"


async def test_an_informer_of_a_part_takes_in_a_creation_that_is_known_to_belong_to_it(
    client: Client,
) -> None:
    part: Informer[Any] = Informer(
        client, CONFIG_MAPS, random=Random(1), selection={"label_selector": "a=b"}
    )
    _init(part, 5)
    part.handle(watch.InitBegin())
    part.accept(obj(8), belongs=True)
    part.handle(watch.InitDone("7"))

    assert _revision(part.store.get(A)) == "8"

    part.handle(watch.Delete(obj(9)))
    part.accept(obj(8), belongs=True)

    assert part.store.get(A) is None

    part.accept(obj(10, uid="next"), belongs=True)

    assert _revision(part.store.get(A)) == "10"


async def test_follows_a_server(memory: Any, memory_client: Client) -> None:
    memory.put(f"{PATH}/a", {"metadata": {"name": "a", "namespace": "ns"}})
    informer: Informer[Any] = Informer(memory_client, CONFIG_MAPS, random=Random(1))
    running = asyncio.ensure_future(informer.run())
    await informer.wait_synced()
    assert informer.get("a", "ns") is not None

    memory.put(f"{PATH}/b", {"metadata": {"name": "b", "namespace": "ns"}})
    memory.remove(f"{PATH}/a")
    await idle()

    assert informer.store.all_keys() == [Key("ns", "b")]
    running.cancel()


def test_an_index_follows_its_objects() -> None:
    store: Store[dict[str, Any]] = Store({"color": lambda o: o["colors"]})
    store.put(A, {"colors": ["red", "blue"]})
    store.put(Key("", "b"), {"colors": ["red"]})

    assert len(store.by_index("color", "red")) == 2
    store.put(A, {"colors": ["green"]})
    assert store.by_index("color", "blue") == []
    assert store.by_index("color", "green") == [{"colors": ["green"]}]
    store.remove(Key("", "b"))
    assert store.by_index("color", "red") == []

    store.add_index("count", lambda o: [len(o["colors"])])
    assert len(store.by_index("count", 1)) == 1


def test_the_objects_of_a_namespace_are_found_by_it_in_the_order_in_which_they_came() -> None:
    store: Store[str] = Store()
    keys = [Key("ns", "b"), Key("other", "b"), Key("ns", "a"), Key("", "a"), Key("ns", "c")]
    for key in keys:
        store.put(key, f"{key.namespace}/{key.name}")
    assert store.all("ns") == ["ns/b", "ns/a", "ns/c"]

    store.put(Key("ns", "b"), "changed")
    store.remove(Key("ns", "a"))
    store.put(Key("ns", "a"), "back")
    assert store.all("ns") == ["changed", "ns/c", "back"]
    assert store.all() == ["changed", "other/b", "/a", "ns/c", "back"]

    for key in keys:
        store.remove(key)
    assert store.all("ns") == []
    assert store._spaces == {}, "a namespace of which nothing is left"


# fmt: off
ANSWERS = {
    "a status": ({"kind": "Status", "details": {"uid": "u"}}, "u"),
    "an object that waits for finalizers": (obj(3, deletionTimestamp="t", finalizers=["f"]), ""),
    "an object with a grace period": (
        obj(3, deletionTimestamp="t", deletionGracePeriodSeconds=30), ""),
    "a namespace that is being emptied": (
        obj(3, deletionTimestamp="t") | {"kind": "Namespace", "spec": {"finalizers": ["f"]}}, ""),
    "an object that is gone": (obj(3), "u"),
    "a pod killed at once": (obj(3, deletionTimestamp="t", deletionGracePeriodSeconds=0), "u"),
}
# fmt: on


@pytest.mark.parametrize(("answer", "uid"), ANSWERS.values(), ids=ANSWERS.keys())
def test_which_object_a_delete_removed(answer: Any, uid: str) -> None:
    assert informers.deleted_uid(answer) == uid


@pytest.mark.parametrize(
    ("event", "has_changed"),
    [
        (watch.Apply(obj(4)), True),
        (watch.Delete(obj(4)), True),
        (watch.Apply(obj(4, name="b")), False),
        (watch.Apply(obj(2)), False),
    ],
    ids=["newer", "gone", "another one", "older"],
)
async def test_one_may_wait_for_the_next_version_of_an_object(
    informer: Informer[Any], event: Any, has_changed: bool
) -> None:
    _init(informer, 5, obj(3))
    waiting = asyncio.ensure_future(informer.wait_changed(A, "3", 1.0))
    await idle()
    assert not waiting.done()
    informer.handle(event)

    assert await waiting is has_changed
    assert await informer.wait_changed(A, "1", 1.0)
