"""The client: what each verb sends, how answers are read, paging, retries and refusals."""

import asyncio
from typing import Any

import pytest

from fleetqueue.api.kueue.v1beta2.local_queue import LocalQueue
from fleetqueue.kube import errors, subresources
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Unreachable
from fleetqueue.kube.resources import CONFIG_MAPS, NAMESPACES, PODS, Resource
from fleetqueue.kube.transport import InProcessTransport

QUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "LocalQueue",
    "metadata": {"name": "main", "namespace": "team", "resourceVersion": "5"},
    "spec": {"clusterQueue": "research"},
}


async def test_a_wire_type_gives_typed_objects(client: Client, script: Any) -> None:
    script.then(QUEUE)

    found = await client.get(LocalQueue, "main", "team")

    assert found.spec is not None
    assert found.spec.cluster_queue == "research"
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team/localqueues/main"
    assert (script.last.method, script.last.path) == ("GET", path)


async def test_a_resource_gives_the_servers_own_object(client: Client, script: Any) -> None:
    held = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "unknown": 1}
    script.then(held)

    assert await client.get(CONFIG_MAPS, "a") is held
    assert script.last.path == "/api/v1/namespaces/default/configmaps/a"


@pytest.mark.parametrize(
    ("options", "query"),
    [
        ({}, {"fieldManager": ["tests"]}),
        ({"dry_run": True}, {"fieldManager": ["tests"], "dryRun": ["All"]}),
        ({"field_manager": "me"}, {"fieldManager": ["me"]}),
        (
            {"field_validation": "Strict"},
            {"fieldManager": ["tests"], "fieldValidation": ["Strict"]},
        ),
    ],
)
async def test_writes_carry_their_options(
    client: Client, script: Any, options: Any, query: Any
) -> None:
    script.then(QUEUE)

    await client.create(QUEUE, resource=_local_queues(), **options)

    assert script.last.query == query
    assert script.last.object is QUEUE


def _local_queues() -> Resource:
    return Resource("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue")


@pytest.mark.parametrize("kind", list(PatchType))
async def test_a_patch_says_how_it_is_meant(client: Client, script: Any, kind: PatchType) -> None:
    script.then({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})

    await client.patch(CONFIG_MAPS, "a", {"data": {}}, type=kind, subresource="status")

    assert script.last.headers["content-type"] == kind.value
    assert script.last.path.endswith("/configmaps/a/status")


async def test_apply_takes_fields_from_others_only_when_forced(client: Client, script: Any) -> None:
    script.then(QUEUE, QUEUE)

    await client.apply(QUEUE, resource=_local_queues())
    await client.apply(QUEUE, resource=_local_queues(), force=True)

    assert "force" not in script.calls[0].query
    assert script.calls[1].query["force"] == ["true"]


async def test_delete_sends_its_conditions_as_a_body(client: Client, script: Any) -> None:
    script.then({"kind": "Status", "status": "Success"})

    await client.delete(
        CONFIG_MAPS,
        "a",
        "ns",
        propagation="Foreground",
        grace_period_seconds=0,
        uid="u",
        resource_version="7",
        dry_run=True,
    )

    assert script.last.object == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": "Foreground",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "dryRun": ["All"],
    }


async def test_delete_collection_selects(client: Client, script: Any) -> None:
    script.then({"kind": "Status", "status": "Success"})

    await client.delete_collection(CONFIG_MAPS, "ns", selection={"label_selector": "a=b"})

    assert script.last.query == {"labelSelector": ["a=b"]}
    assert script.last.path == "/api/v1/namespaces/ns/configmaps"


def _page(*names: str, token: str = "", revision: str = "9") -> Any:
    items = [{"metadata": {"name": name}} for name in names]
    return {"metadata": {"resourceVersion": revision, "continue": token}, "items": items}


async def test_a_list_fetches_all_pages(client: Client, script: Any) -> None:
    script.then(_page("a", token="next"), _page("b"))

    found = await client.list(CONFIG_MAPS, label_selector="x=y")

    assert [item["metadata"]["name"] for item in found.items] == ["a", "b"]
    assert [item["kind"] for item in found.items] == ["ConfigMap", "ConfigMap"]
    assert found.resource_version == "9"
    assert script.last.query["continue"] == ["next"]
    assert script.last.query["labelSelector"] == ["x=y"]


async def test_a_continue_token_goes_without_a_revision(client: Client, script: Any) -> None:
    script.then(_page("a", token="next"), _page("b"))

    await client.list(CONFIG_MAPS, resource_version="5", resource_version_match="NotOlderThan")

    assert script.calls[0].query["resourceVersion"] == ["5"]
    assert "resourceVersion" not in script.calls[1].query
    assert "resourceVersionMatch" not in script.calls[1].query


async def test_a_list_whose_pages_expire_starts_over_in_one_go(
    client: Client, script: Any, refuse: Any
) -> None:
    script.then(_page("a", token="next"), refuse(410, "Expired"), _page("a", "b", revision="12"))

    found = await client.list(CONFIG_MAPS)

    assert [item["metadata"]["name"] for item in found.items] == ["a", "b"]
    assert found.resource_version == "12"
    assert "limit" not in script.last.query


async def test_pages_come_one_by_one(client: Client, script: Any) -> None:
    script.then(_page("a", token="next"), _page("b"))

    pages = [page async for page in client.pages(CONFIG_MAPS, limit=1)]

    assert [len(page.items) for page in pages] == [1, 1]
    assert script.calls[0].query["limit"] == ["1"]


# fmt: off
REFUSALS = {
    "not found":             (404, "NotFound", errors.NotFound),
    "conflict":              (409, "Conflict", errors.Conflict),
    "already exists":        (409, "AlreadyExists", errors.AlreadyExists),
    "gone":                  (410, "Gone", errors.Gone),
    "expired":               (410, "Expired", errors.Expired),
    "invalid":               (422, "Invalid", errors.Invalid),
    "forbidden":             (403, "Forbidden", errors.Forbidden),
    "unauthorized":          (401, "Unauthorized", errors.Unauthorized),
    "too large":             (413, "RequestEntityTooLarge", errors.TooLarge),
    "no reason, known code": (503, "", errors.Unavailable),
    "unknown server error":  (599, "", errors.ServerError),
    "unknown reason":        (418, "Teapot", errors.Refused),
}
# fmt: on


@pytest.mark.parametrize(("code", "reason", "kind"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_refusals_have_their_own_classes(
    client: Client, script: Any, refuse: Any, code: int, reason: str, kind: type[errors.Refused]
) -> None:
    script.then(refuse(code, reason, "because", name="a"))

    with pytest.raises(errors.Refused, match="because") as caught:
        await client.get(CONFIG_MAPS, "a")

    assert type(caught.value) is kind
    assert (caught.value.code, caught.value.reason) == (code, reason)
    assert caught.value.details == {"name": "a"}
    assert caught.value.who_acts


async def test_an_error_that_is_no_status_is_still_a_refusal(
    client: Client, script: Any, respond: Any
) -> None:
    script.then(respond(502, body=b"<html>bad gateway</html>"))

    with pytest.raises(errors.ServerError, match="bad gateway"):
        await client.get(CONFIG_MAPS, "a")


async def test_a_busy_server_is_asked_again_when_it_says(
    client: Client, script: Any, refuse: Any, clock: Any
) -> None:
    busy = refuse(429, "TooManyRequests", retryAfterSeconds=7)
    script.then(busy, busy, QUEUE)
    began_at = clock.monotonic()

    await client.create(QUEUE, resource=_local_queues())

    assert clock.monotonic() - began_at == 14
    assert len(script.calls) == 3


async def test_patience_with_a_busy_server_ends(client: Client, script: Any, refuse: Any) -> None:
    script.then(*[refuse(429, "TooManyRequests", retryAfterSeconds=1) for _ in range(30)])

    with pytest.raises(errors.TooManyRequests):
        await client.get(CONFIG_MAPS, "a")

    assert len(script.calls) == 11


# fmt: off
BROKEN = {
    "a read that was sent":        ("GET", True, True),
    "a write that was sent":       ("POST", True, False),
    "a write that was never sent": ("POST", False, True),
}
# fmt: on


@pytest.mark.parametrize(("method", "sent", "again"), BROKEN.values(), ids=BROKEN.keys())
async def test_broken_connections(
    client: Client, script: Any, method: str, sent: bool, again: bool
) -> None:
    script.then(Unreachable("reset", sent=sent), QUEUE)
    doing = (
        client.get(_local_queues(), "main")
        if method == "GET"
        else client.create(QUEUE, resource=_local_queues())
    )

    if again:
        assert await doing == QUEUE
    else:
        with pytest.raises(Unreachable):
            await doing


async def test_warnings_are_passed_on(script: Any, respond: Any, random: Any) -> None:
    heard: list[str] = []
    transport = InProcessTransport(script.handle)
    client = Client(transport, random=random, on_warning=heard.append)
    script.then(respond(object=QUEUE, warnings=["deprecated"]))

    await client.get(_local_queues(), "main")

    assert heard == ["deprecated"]


async def test_the_kind_of_a_raw_object_is_looked_up_once(client: Client, script: Any) -> None:
    served = {
        "resources": [
            {"name": "widgets", "kind": "Widget", "namespaced": False},
            {"name": "widgets/status", "kind": "Widget", "namespaced": False},
        ]
    }
    widget = {"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "w"}}
    script.then(served, widget, widget)

    await client.create(widget)
    await client.create(widget)

    assert [call.path for call in script.calls] == [
        "/apis/x.io/v1",
        "/apis/x.io/v1/widgets",
        "/apis/x.io/v1/widgets",
    ]


async def test_a_kind_that_is_not_served_is_named(client: Client, script: Any) -> None:
    script.then({"resources": []})

    with pytest.raises(errors.UnknownKind, match=r'"Widget" in version "x\.io/v1"'):
        await client.create({"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {}})


async def test_a_watch_yields_typed_events_until_it_ends(
    client: Client, script: Any, new_stream: Any
) -> None:
    stream = new_stream()
    script.then(stream)
    stream.send("ADDED", QUEUE)
    stream.bookmark("8")
    stream.end()

    events = [event async for event in client.watch(LocalQueue, "team", resource_version="4")]

    assert [event.type for event in events] == ["ADDED", "BOOKMARK"]
    assert events[0].object.metadata.name == "main"
    assert script.last.query["resourceVersion"] == ["4"]
    assert stream.is_closed


async def test_an_error_in_a_watch_is_raised(client: Client, script: Any, new_stream: Any) -> None:
    stream = new_stream()
    script.then(stream)
    stream.send("ADDED", QUEUE)
    stream.send("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "old"})
    watching = client.watch(LocalQueue, "team")

    assert (await anext(watching)).type == "ADDED"
    with pytest.raises(errors.Expired):
        await anext(watching)


async def test_names_that_need_it_are_escaped(client: Client, script: Any) -> None:
    script.then({"kind": "Namespace", "apiVersion": "v1"})

    await client.get(NAMESPACES, "a/../b")

    assert script.last.path == "/api/v1/namespaces/a%2F..%2Fb"


async def test_eviction_binding_scale_and_token_speak_of_their_object(
    client: Client, script: Any
) -> None:
    script.then(
        {"kind": "Status"},
        {"kind": "Status"},
        {"kind": "Scale", "status": {"replicas": 2}},
        {"status": {"token": "secret"}},
    )

    await subresources.evict(client, "p", "ns", grace_period_seconds=3)
    await subresources.bind(client, "p", "node-1", "ns")
    replicas = await subresources.scale(client, PODS, "p", 5, "ns")
    token = await subresources.request_token(client, "robot", "ns", audiences=["a"])

    assert script.calls[0].object["deleteOptions"] == {"gracePeriodSeconds": 3}
    assert script.calls[1].object["target"]["name"] == "node-1"
    assert (replicas, token) == (2, "secret")
    assert [call.path.rpartition("/")[2] for call in script.calls] == [
        "eviction",
        "binding",
        "scale",
        "token",
    ]


async def test_logs_come_as_they_are_written(client: Client, script: Any, respond: Any) -> None:
    async def lines() -> Any:
        for number in range(2):
            await asyncio.sleep(1)
            yield b"line %d\n" % number

    script.then(respond(chunks=lines()))

    found = [chunk async for chunk in subresources.logs(client, "p", follow=True, tail_lines=5)]

    assert found == [b"line 0\n", b"line 1\n"]
    assert script.last.query == {"follow": ["true"], "tailLines": ["5"]}
