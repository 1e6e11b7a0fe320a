"""Writes that meet, watches that lag or look ahead, and answers before anything is durable."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fleetqueue.apiserver import continuing, feed, problems
from fleetqueue.apiserver.hooks import Hook, remote
from fleetqueue.apiserver.log import MemoryLog, StorageError
from fleetqueue.apiserver.request import Frame
from fleetqueue.base import codec

from .conftest import Api, started

Object = dict[str, Any]

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


def config_map(name: str, **metadata: Any) -> Object:
    return {"metadata": {"name": name, **metadata}}


def pod(name: str, **metadata: Any) -> Object:
    containers = [{"name": "main", "image": "busybox"}]
    return {"metadata": {"name": name, **metadata}, "spec": {"containers": containers}}


async def frames(api: Api, path: str, count: int) -> list[Frame]:
    """The first events of a watch, which is then ended."""
    response = await api.send("GET", path)
    assert response.frames is not None
    found: list[Frame] = []
    async with asyncio.timeout(30):
        while len(found) < count:
            found += await anext(response.frames)
    await response.frames.aclose()
    return found


def events(found: list[Frame]) -> list[tuple[str, str]]:
    objects = [codec.decode(frame.line)["object"] for frame in found]
    return [
        (frame.type, obj["metadata"].get("name", ""))
        for frame, obj in zip(found, objects, strict=True)
    ]


# Watches


async def test_an_object_that_leaves_a_watch_is_still_read_as_it_is(api: Api) -> None:
    first = await api.post(MAPS, config_map("x", labels={"app": "old"}))
    since = first["metadata"]["resourceVersion"]
    await api.patch(f"{MAPS}/x", {"metadata": {"labels": {"app": "new"}}})
    path = f"{MAPS}?watch=true&resourceVersion={since}&labelSelector=app%3Dold"
    (left,) = await frames(api, path, 1)
    shown = left.decode()
    assert (left.type, shown["metadata"]["labels"]) == ("DELETED", {"app": "old"})
    stored = api.instance.core.store.get("configmaps", "default/x")
    assert stored is not None
    assert api.instance.core.store.decoded(stored)["metadata"]["labels"] == {"app": "new"}
    patched = await api.patch(f"{MAPS}/x", {"data": {"a": "b"}})
    assert patched["metadata"]["labels"] == {"app": "new"}


async def test_two_groups_that_show_the_same_objects_do_not_share_their_events(api: Api) -> None:
    opened = [
        await api.send("GET", f"{group}/namespaces/default/events?watch=true")
        for group in ("/api/v1", "/apis/events.k8s.io/v1")
    ]
    loop = asyncio.get_running_loop()
    taking = [loop.create_task(anext(one.frames)) for one in opened]
    await asyncio.sleep(0)
    event = {
        "metadata": {"name": "x"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
        "reason": "Tested",
        "message": "hello",
        "type": "Normal",
    }
    await api.post("/api/v1/namespaces/default/events", event)
    lines = [codec.decode(batch[0].line)["object"] for batch in await asyncio.gather(*taking)]
    assert [obj["apiVersion"] for obj in lines] == ["v1", "events.k8s.io/v1"]
    assert [obj.get("message", obj.get("note")) for obj in lines] == ["hello", "hello"]
    for one in opened:
        assert one.frames is not None
        await one.frames.aclose()


async def test_a_client_that_was_away_for_long_gets_all_it_missed(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "QUEUE_MAX", 3)
    since = api.instance.core.store.revision
    for number in range(6):
        await api.post(MAPS, config_map(f"x-{number}"))
    found = await frames(api, f"{MAPS}?watch=true&resourceVersion={since}", 6)
    assert events(found) == [("ADDED", f"x-{number}") for number in range(6)]


async def test_a_watch_from_a_revision_to_come_shows_only_what_follows_it(api: Api) -> None:
    ahead = api.instance.core.store.revision + 2
    path = f"{MAPS}?watch=true&resourceVersion={ahead}"
    watching = asyncio.get_running_loop().create_task(frames(api, path, 1))
    await asyncio.sleep(0.1)
    for number in range(3):
        await api.post(MAPS, config_map(f"x-{number}"))
    assert events(await watching) == [("ADDED", "x-2")]


async def test_a_page_of_a_namespace_holds_nothing_of_another(api: Api) -> None:
    await api.post("/api/v1/namespaces/default/secrets", config_map("hidden"))
    await api.post("/api/v1/namespaces", config_map("zoo"))
    token = continuing.write("a", api.instance.core.store.revision)
    found = await api.get(f"/api/v1/namespaces/zoo/secrets?limit=100&continue={token}")
    assert found["items"] == []


# Writes that meet


async def test_nobody_writes_between_the_end_of_a_pod_and_its_removal(api: Api) -> None:
    await api.post(PODS, pod("p"))
    since = api.instance.core.store.revision
    hold = {"metadata": {"finalizers": ["example.org/hold"]}}
    deleting = api.delete(f"{PODS}/p?gracePeriodSeconds=0")
    holding = api.send("PATCH", f"{PODS}/p", hold, content_type="application/merge-patch+json")
    _, held = await asyncio.gather(deleting, holding)
    assert held.status == 404
    found = await frames(api, f"{PODS}?watch=true&resourceVersion={since}", 2)
    assert [frame.type for frame in found] == ["MODIFIED", "DELETED"]


async def test_a_client_that_hangs_up_leaves_no_pod_half_deleted(api: Api) -> None:
    await api.post(PODS, pod("p"))
    task = asyncio.get_running_loop().create_task(api.delete(f"{PODS}/p?gracePeriodSeconds=0"))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await api.settle()
    await api.instance.core.store.drain()
    stored = api.instance.core.store.get("pods", "default/p")
    assert stored is None or b"deletionTimestamp" not in stored.data


async def test_of_two_evictions_only_one_is_within_the_budget(api: Api) -> None:
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    for name in ("a", "b"):
        await api.post(PODS, pod(name, labels={"app": "x"}))
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await api.patch(f"{PODS}/{name}/status", {"status": ready})
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    await api.post(budgets, {**config_map("budget"), "spec": spec})
    allowed = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2}
    allowed |= {"desiredHealthy": 1, "expectedPods": 2}
    await api.patch(f"{budgets}/budget/status", {"status": allowed})
    answers = await asyncio.gather(
        *(
            api.send(
                "POST",
                f"{PODS}/{name}/eviction",
                {"apiVersion": "policy/v1", "kind": "Eviction", **config_map(name)},
            )
            for name in ("a", "b")
        )
    )
    assert sorted(answer.status for answer in answers) == [201, 429]
    left = await api.get(f"{budgets}/budget")
    assert left["status"]["disruptionsAllowed"] == 0


# Answers and what is durable


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", MAPS, config_map("new"), 409),
        ("PUT", f"{MAPS}/x", config_map("x", resourceVersion="{stale}"), 409),
        ("PUT", f"{MAPS}/x", config_map("x", labels={"a": "b"}), 200),
        ("DELETE", f"{MAPS}/going", None, 404),
    ],
)
async def test_no_answer_rests_on_a_write_that_readers_do_not_see_yet(
    api: Api, method: str, path: str, body: Object | None, status: int
) -> None:
    stale = (await api.post(MAPS, config_map("x")))["metadata"]["resourceVersion"]
    await api.post(MAPS, config_map("going"))
    if body is not None and "resourceVersion" in body["metadata"]:
        body["metadata"]["resourceVersion"] = stale
    store = api.instance.core.store
    loop = asyncio.get_running_loop()
    others = [
        loop.create_task(api.send("POST", MAPS, config_map("new"))),
        loop.create_task(api.send("PUT", f"{MAPS}/x", config_map("x", labels={"a": "b"}))),
        loop.create_task(api.send("DELETE", f"{MAPS}/going")),
    ]
    before = store.revision

    async def answered() -> tuple[int, int]:
        answer = await api.send(method, path, body)
        return answer.status, store.revision

    found, revision = await loop.create_task(answered())
    assert found == status
    assert revision == before + 3
    await asyncio.gather(*others)


class FailingLog(MemoryLog):
    fails = False

    def append(self, rows: Any, superseded: Any, compacted: int) -> None:
        if self.fails:
            raise StorageError("the disk is full")
        super().append(rows, superseded, compacted)


async def test_a_write_of_nothing_fails_with_the_write_that_it_rests_on() -> None:
    log = FailingLog()
    api = await started(log)
    await api.post(MAPS, config_map("x"))
    log.fails = True
    same = config_map("x", labels={"a": "b"})
    answers = await asyncio.gather(*(api.send("PUT", f"{MAPS}/x", same) for _ in range(2)))
    assert [answer.status for answer in answers] == [500, 500]
    log.fails = False
    assert "labels" not in (await api.get(f"{MAPS}/x"))["metadata"]
    await api.instance.stop()


async def test_keepers_begin_nothing_new_once_they_are_stopped(api: Api) -> None:
    for keeper in api.instance._keepers:
        await keeper.stop()
    await api.post("/api/v1/namespaces", config_map("late"))
    assert api.instance.is_idle


async def test_one_object_that_may_not_go_does_not_keep_the_rest_of_its_namespace(
    api: Api,
) -> None:
    await api.post("/api/v1/namespaces", config_map("home"))
    maps = "/api/v1/namespaces/home/configmaps"
    for name in ("a", "b"):
        await api.post(maps, config_map(name))
    refuse = Refusing()
    api.instance.core.hooks.add(refuse)
    await api.delete("/api/v1/namespaces/home")
    await asyncio.sleep(1)
    assert [item["metadata"]["name"] for item in (await api.get(maps))["items"]] == ["a"]
    refuse.name = ""
    await asyncio.sleep(60)
    await api.send("GET", "/api/v1/namespaces/home")
    assert api.status == 404


class Refusing(Hook):
    """Lets nobody delete one object."""

    name = "a"

    def mutate(self, operation: Any) -> None:
        if operation.verb == "DELETE" and operation.name == self.name:
            raise problems.forbidden("", "configmaps", self.name, "it stays")


# Followers and webhooks


async def test_a_watch_that_cannot_show_an_object_does_not_keep_it_from_others(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = [await api.send("GET", f"{MAPS}?watch=true") for _ in range(2)]
    first, second = (one.frames for one in opened)
    assert first is not None
    assert second is not None
    loop = asyncio.get_running_loop()
    taking = [loop.create_task(anext(one, None)) for one in (first, second)]
    await asyncio.sleep(0)
    broken, _ = api.instance.core.feed._of("configmaps")
    monkeypatch.setattr(broken.view, "frame", lambda change: 1 / 0)
    await api.post(MAPS, config_map("x"))
    nothing, batch = await asyncio.gather(*taking)
    assert nothing is None
    assert batch is not None
    assert events(batch) == [("ADDED", "x")]
    await second.aclose()


async def test_a_keeper_that_fails_does_not_keep_changes_from_others(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api.instance._keepers[0], "follow", lambda changes: 1 / 0)
    await api.post("/api/v1/namespaces", config_map("home"))
    await api.settle()
    await api.get("/api/v1/namespaces/home/serviceaccounts/default")
    assert api.status == 200


class Slow:
    """Admission webhooks that say yes when they are told to, or no."""

    def __init__(self, api: Api) -> None:
        self.may_answer = asyncio.Event()
        self.allows = True
        api.instance.core.hooks.remote.remote = self

    async def post(self, target: Any, body: bytes, seconds: float) -> tuple[int, bytes]:
        await self.may_answer.wait()
        response = {"uid": codec.decode(body)["request"]["uid"], "allowed": self.allows}
        answer = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}
        return 200, codec.encode({**answer, "response": response})

    async def close(self) -> None:
        pass


async def with_hook(api: Api, group: str = "") -> Slow:
    rule = {"operations": ["CREATE"], "apiGroups": [group], "apiVersions": ["v1"]}
    hook = {
        "name": "hook.example.org",
        "clientConfig": {"url": "https://hook.example.org/"},
        "rules": [{**rule, "resources": ["configmaps", "things"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    await api.post(path, {**config_map("hook"), "webhooks": [hook]})
    return Slow(api)


async def test_writes_that_wait_for_a_webhook_together_stay_within_a_quota(api: Api) -> None:
    quotas = "/api/v1/namespaces/default/resourcequotas"
    await api.post(quotas, {**config_map("q"), "spec": {"hard": {"count/configmaps": "1"}}})
    hook = await with_hook(api)
    loop = asyncio.get_running_loop()
    both = [loop.create_task(api.send("POST", MAPS, config_map(name))) for name in ("a", "b")]
    await asyncio.sleep(0.1)
    hook.may_answer.set()
    assert sorted(answer.status for answer in await asyncio.gather(*both)) == [201, 403]


async def test_what_a_webhook_denies_uses_no_quota(api: Api) -> None:
    quotas = "/api/v1/namespaces/default/resourcequotas"
    await api.post(quotas, {**config_map("q"), "spec": {"hard": {"count/configmaps": "1"}}})
    hook = await with_hook(api)
    hook.may_answer.set()
    hook.allows = False
    await api.send("POST", MAPS, config_map("a"))
    assert api.status in (400, 403)
    hook.allows = True
    await api.send("POST", MAPS, config_map("b"))
    assert api.status == 201


async def test_an_answer_that_comes_in_parts_is_read_to_its_end() -> None:
    class Content:
        async def iter_any(self) -> AsyncIterator[bytes]:
            for part in (b"one ", b"two ", b"three"):
                await asyncio.sleep(0)
                yield part

    assert await remote._whole(Content()) == b"one two three"
