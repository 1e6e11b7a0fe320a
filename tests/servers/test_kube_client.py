"""Our client against every kind of server: the same questions, the same answers."""

import asyncio
from contextlib import aclosing
from random import Random
from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.base.clock import SystemClock
from fleetqueue.kube import errors, finalizers, subresources, watch
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.events import EventRecorder
from fleetqueue.kube.informer import Informer
from fleetqueue.kube.leader import LeaderElector
from fleetqueue.kube.resources import CONFIG_MAPS, EVENTS, LEASES, PODS, SECRETS, Resource

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")


def config_map(name: str, namespace: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deployment(name: str, namespace: str, replicas: int = 1) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "main", "image": "image:1"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


async def test_an_object_is_made_read_changed_and_removed(client: Client, namespace: str) -> None:
    made = await client.create(config_map("a", namespace, x="1"), resource=CONFIG_MAPS)
    found = await client.get(CONFIG_MAPS, "a", namespace)
    assert found == made

    updated = await client.update({**found, "data": {"x": "2"}}, resource=CONFIG_MAPS)
    assert updated["data"] == {"x": "2"}
    with pytest.raises(errors.Conflict):
        await client.update({**found, "data": {"x": "3"}}, resource=CONFIG_MAPS)

    answer = await client.delete(CONFIG_MAPS, "a", namespace)
    assert answer["status"] == "Success"
    with pytest.raises(errors.NotFound) as caught:
        await client.get(CONFIG_MAPS, "a", namespace)
    assert caught.value.details["name"] == "a"


async def test_a_name_can_be_taken(client: Client, namespace: str) -> None:
    await client.create(config_map("a", namespace), resource=CONFIG_MAPS)

    with pytest.raises(errors.AlreadyExists):
        await client.create(config_map("a", namespace), resource=CONFIG_MAPS)


async def test_an_invalid_object_names_its_field(client: Client, namespace: str) -> None:
    with pytest.raises(errors.Invalid) as caught:
        await client.create(config_map("A!", namespace), resource=CONFIG_MAPS)

    assert caught.value.causes[0]["field"] == "metadata.name"


async def test_a_dry_run_leaves_nothing_behind(client: Client, namespace: str) -> None:
    made = await client.create(config_map("a", namespace), resource=CONFIG_MAPS, dry_run=True)

    assert made["metadata"]["uid"]
    with pytest.raises(errors.NotFound):
        await client.get(CONFIG_MAPS, "a", namespace)


async def test_strict_validation_refuses_unknown_fields(client: Client, namespace: str) -> None:
    body = {**config_map("a", namespace), "dada": {"x": "1"}}

    with pytest.raises(errors.BadRequest, match='unknown field "dada"'):
        await client.create(body, resource=CONFIG_MAPS, field_validation="Strict")
    made = await client.create(body, resource=CONFIG_MAPS, field_validation="Ignore")
    assert "dada" not in made


async def test_warnings_reach_the_client(client: Client, namespace: str) -> None:
    heard: list[str] = []
    client._on_warning = heard.append
    body = {**config_map("a", namespace), "dada": {"x": "1"}}

    await client.create(body, resource=CONFIG_MAPS, field_validation="Warn")

    assert heard == ['unknown field "dada"']


PATCHES: dict[str, tuple[PatchType, Any]] = {
    "json": (PatchType.JSON, [{"op": "add", "path": "/data/y", "value": "2"}]),
    "merge": (PatchType.MERGE, {"data": {"y": "2"}}),
    "strategic": (PatchType.STRATEGIC, {"data": {"y": "2"}}),
}


@pytest.mark.parametrize(("kind", "patch"), PATCHES.values(), ids=PATCHES.keys())
async def test_patches_of_each_type(
    client: Client, namespace: str, kind: PatchType, patch: Any
) -> None:
    await client.create(config_map("a", namespace, x="1"), resource=CONFIG_MAPS)

    done = await client.patch(CONFIG_MAPS, "a", patch, namespace, type=kind)

    assert done["data"] == {"x": "1", "y": "2"}


async def test_a_strategic_patch_merges_lists_by_key(client: Client, namespace: str) -> None:
    await client.create(deployment("d", namespace), resource=DEPLOYMENTS)
    container = {"name": "main", "env": [{"name": "A", "value": "1"}]}
    patch = {"spec": {"template": {"spec": {"containers": [container]}}}}

    done = await client.patch(DEPLOYMENTS, "d", patch, namespace, type=PatchType.STRATEGIC)

    (merged,) = done["spec"]["template"]["spec"]["containers"]
    assert (merged["image"], merged["env"]) == ("image:1", [{"name": "A", "value": "1"}])


async def test_apply_has_owners_conflicts_and_force(client: Client, namespace: str) -> None:
    body = config_map("a", namespace, x="1")
    made = await client.apply(body, resource=CONFIG_MAPS, field_manager="one")
    (entry,) = made["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("one", "Apply")

    theirs = config_map("a", namespace, x="2")
    with pytest.raises(errors.Conflict) as caught:
        await client.apply(theirs, resource=CONFIG_MAPS, field_manager="two")
    assert caught.value.causes[0]["field"] == ".data.x"

    forced = await client.apply(theirs, resource=CONFIG_MAPS, field_manager="two", force=True)
    assert forced["data"] == {"x": "2"}


async def test_delete_honours_preconditions(client: Client, namespace: str) -> None:
    made = await client.create(config_map("a", namespace), resource=CONFIG_MAPS)

    with pytest.raises(errors.Conflict):
        await client.delete(CONFIG_MAPS, "a", namespace, uid="another")
    with pytest.raises(errors.Conflict):
        await client.delete(CONFIG_MAPS, "a", namespace, resource_version="1")
    await client.delete(
        CONFIG_MAPS,
        "a",
        namespace,
        uid=made["metadata"]["uid"],
        resource_version=made["metadata"]["resourceVersion"],
        propagation="Background",
    )


async def test_a_finalizer_holds_an_object_until_it_is_removed(
    client: Client, namespace: str
) -> None:
    made = await client.create(config_map("a", namespace), resource=CONFIG_MAPS)
    held = await finalizers.add(client, made, "example.com/mine", CONFIG_MAPS)

    answer = await client.delete(CONFIG_MAPS, "a", namespace)
    assert answer["metadata"]["deletionTimestamp"]
    with pytest.raises(errors.Conflict):
        await finalizers.remove(client, held, "example.com/mine", CONFIG_MAPS)

    await finalizers.remove(client, answer, "example.com/mine", CONFIG_MAPS)
    with pytest.raises(errors.NotFound):
        await client.get(CONFIG_MAPS, "a", namespace)


async def test_a_collection_is_deleted_by_selection(client: Client, namespace: str) -> None:
    for name in ("a", "b"):
        body = config_map(name, namespace)
        body["metadata"]["labels"] = {"name": name}
        await client.create(body, resource=CONFIG_MAPS)

    await client.delete_collection(
        CONFIG_MAPS, namespace, selection={"label_selector": "name in (a)"}
    )

    left = await client.list(CONFIG_MAPS, namespace, label_selector="name")
    assert [item["metadata"]["name"] for item in left.items] == ["b"]


async def test_lists_page_and_select(client: Client, namespace: str) -> None:
    for number in range(5):
        await client.create(config_map(f"c{number}", namespace), resource=CONFIG_MAPS)
    page = await client.list_page(CONFIG_MAPS, namespace, limit=2, field_selector="")
    assert len(page.items) == 2
    assert page.token

    sizes = [len(page.items) async for page in client.pages(CONFIG_MAPS, namespace, limit=2)]
    one = await client.list(CONFIG_MAPS, namespace, field_selector="metadata.name=c3")

    assert sum(sizes) >= 5
    assert max(sizes) == 2
    assert [item["metadata"]["name"] for item in one.items] == ["c3"]
    assert one.items[0]["kind"] == "ConfigMap"


async def test_a_token_that_no_page_belongs_to_is_refused(client: Client, namespace: str) -> None:
    with pytest.raises(errors.BadRequest):
        await client.list_page(CONFIG_MAPS, namespace, token="nonsense")


async def test_status_and_spec_are_written_apart(client: Client, namespace: str) -> None:
    made = await client.create(deployment("d", namespace), resource=DEPLOYMENTS)
    patch = {"spec": {"replicas": 7}, "status": {"replicas": 3}}

    done = await client.patch(DEPLOYMENTS, "d", patch, namespace, subresource="status")

    assert done["spec"]["replicas"] == 1
    assert done["status"]["replicas"] == 3
    assert done["metadata"]["generation"] == made["metadata"]["generation"]


async def test_scale_changes_the_wanted_number(client: Client, namespace: str) -> None:
    await client.create(deployment("d", namespace), resource=DEPLOYMENTS)

    await subresources.scale(client, DEPLOYMENTS, "d", 4, namespace)

    scale = await client.get_subresource(DEPLOYMENTS, "d", "scale", namespace)
    assert scale["spec"]["replicas"] == 4
    assert (await client.get(DEPLOYMENTS, "d", namespace))["spec"]["replicas"] == 4


def pod(name: str, namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "containers": [{"name": "main", "image": "image:1"}],
            "automountServiceAccountToken": False,
        },
    }


@pytest.fixture
async def account(client: Client, namespace: str) -> str:
    """A service account of our own: upstream's controllers, which make one, do not run."""
    body = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "robot", "namespace": namespace},
    }
    await client.create(body, resource=SERVICE_ACCOUNTS)
    return "robot"


async def test_a_pod_is_bound_and_evicted(client: Client, namespace: str, account: str) -> None:
    body = pod("p", namespace)
    body["spec"]["serviceAccountName"] = account
    await client.create(body, resource=PODS)

    await subresources.bind(client, "p", "node-1", namespace)
    assert (await client.get(PODS, "p", namespace))["spec"]["nodeName"] == "node-1"

    await subresources.evict(client, "p", namespace, grace_period_seconds=0)
    with pytest.raises(errors.NotFound):
        await client.get(PODS, "p", namespace)


async def test_a_service_account_gets_a_token(client: Client, namespace: str, account: str) -> None:
    token = await subresources.request_token(client, account, namespace, expiration_seconds=3600)

    assert token.count(".") == 2


async def test_kinds_are_found_by_discovery(client: Client, namespace: str) -> None:
    assert await client.discovery.resource("apps/v1", "Deployment") == DEPLOYMENTS
    assert await client.discovery.resource("v1", "Secret") == SECRETS
    assert "apps/v1" in await client.discovery.api_versions()
    with pytest.raises(errors.UnknownKind):
        await client.discovery.resource("apps/v1", "Nonsense")
    with pytest.raises(errors.UnknownKind):
        await client.discovery.resource("nonsense.io/v1", "Nonsense")


async def test_a_watch_starts_after_a_revision_and_brings_what_follows(
    client: Client, namespace: str
) -> None:
    listed = await client.list(CONFIG_MAPS, namespace)
    made = await client.create(config_map("a", namespace, x="1"), resource=CONFIG_MAPS)
    await client.patch(CONFIG_MAPS, "a", {"data": {"x": "2"}}, namespace)
    await client.delete(CONFIG_MAPS, "a", namespace)

    events = []
    watching = client.watch(
        CONFIG_MAPS,
        namespace,
        resource_version=listed.resource_version,
        field_selector="metadata.name=a",
        timeout_seconds=10,
    )
    async with aclosing(watching):
        async for event in watching:
            events.append(event)
            if event.type == "DELETED":
                break

    assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert events[0].object["metadata"]["uid"] == made["metadata"]["uid"]


async def test_a_watch_ends_when_its_time_is_over(client: Client, namespace: str) -> None:
    listed = await client.list(CONFIG_MAPS, namespace)

    watching = client.watch(
        CONFIG_MAPS,
        namespace,
        resource_version=listed.resource_version,
        field_selector="metadata.name=nobody-makes-this",  # a cluster adds kube-root-ca.crt itself
        timeout_seconds=1,
    )
    events = [event.type async for event in watching]

    assert set(events) <= {"BOOKMARK"}


@pytest.mark.parametrize("streams", [True, False], ids=["streaming", "listing"])
async def test_a_watcher_follows_from_the_whole_state_on(
    client: Client, namespace: str, streams: bool
) -> None:
    await client.create(config_map("a", namespace), resource=CONFIG_MAPS)
    selection = {"field_selector": "metadata.name!=kube-root-ca.crt"}
    watcher: watch.Watcher[Any] = watch.Watcher(
        client, CONFIG_MAPS, namespace, random=Random(1), streams=streams, selection=selection
    )
    seen: list[str] = []

    async def follow() -> None:
        async with aclosing(watcher.batches()) as batches:
            async for batch in batches:
                for event in batch:
                    seen.append(type(event).__name__)
                    if isinstance(event, watch.InitDone):
                        await client.create(config_map("b", namespace), resource=CONFIG_MAPS)
                        await client.delete(CONFIG_MAPS, "a", namespace)
                    if isinstance(event, watch.Delete):
                        return

    async with asyncio.timeout(20):
        await follow()

    told = [name for name in seen if name != "Bookmark"]
    assert told == ["InitBegin", "InitItem", "InitDone", "Apply", "Delete"]
    assert watcher.problem is None


async def test_an_informer_holds_what_the_server_holds(client: Client, namespace: str) -> None:
    informer: Informer[Any] = Informer(client, CONFIG_MAPS, namespace, random=Random(1))
    running = asyncio.ensure_future(informer.run())
    try:
        async with asyncio.timeout(20):
            await informer.wait_synced()
            made = await client.create(config_map("a", namespace), resource=CONFIG_MAPS)
            await _until_held(informer, namespace)
            informer.accept_deleted(Key(namespace, "a"), made["metadata"]["uid"])
            await client.delete(CONFIG_MAPS, "a", namespace)
            await client.create(config_map("a", namespace, again="yes"), resource=CONFIG_MAPS)
            held = await _until_held(informer, namespace)
            assert held["data"] == {"again": "yes"}
    finally:
        running.cancel()


async def _until_held(informer: Informer[Any], namespace: str) -> Any:
    while True:
        held = informer.get("a", namespace)
        if held is not None:
            return held
        await asyncio.sleep(0.01)


async def test_own_writes_are_in_the_cache_at_once(client: Client, namespace: str) -> None:
    cluster = Cluster(client, clock=SystemClock(), random=Random(1), component="tests")
    cluster.informer(CONFIG_MAPS, namespace)
    cluster.start()
    try:
        async with asyncio.timeout(20):
            await cluster.wait_synced()
        await cluster.create(config_map("a", namespace))
        assert cluster.cached(CONFIG_MAPS, "a", namespace) is not None
        await cluster.patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, namespace)
        found = cluster.cached(CONFIG_MAPS, "a", namespace)
        assert found is not None
        assert found["data"] == {"x": "1"}
        await cluster.delete(CONFIG_MAPS, "a", namespace)
        assert cluster.cached(CONFIG_MAPS, "a", namespace) is None
    finally:
        await cluster.stop()


async def test_a_status_is_applied_once(client: Client, namespace: str) -> None:
    cluster = Cluster(client, clock=SystemClock(), random=Random(1), component="tests")
    made = await client.create(deployment("d", namespace), resource=DEPLOYMENTS)

    first = await cluster.apply_status(made, {"replicas": 2}, field_manager="counter")
    again = await cluster.apply_status(first, {"replicas": 2}, field_manager="counter")

    assert first["status"]["replicas"] == 2
    assert again is first


async def test_a_lease_elects_one_leader_at_a_time(client: Client, namespace: str) -> None:
    def candidate(identity: str) -> LeaderElector:
        lease = Key(namespace, "lock")
        return LeaderElector(client, lease, identity, clock=SystemClock(), random=Random(1))

    one, two = candidate("one"), candidate("two")
    await one.acquire()
    assert not await two._try()
    await one.release()
    async with asyncio.timeout(10):
        await two.acquire()

    lease = await client.get(LEASES, "lock", namespace)
    assert lease["spec"]["holderIdentity"] == "two"
    assert lease["spec"]["leaseTransitions"] == 1


async def test_events_are_recorded_and_counted(client: Client, namespace: str) -> None:
    recorder = EventRecorder(client, "tests", clock=SystemClock(), random=Random(1))
    made = await client.create(config_map("a", namespace), resource=CONFIG_MAPS)
    recorder.start()
    for _ in range(3):
        recorder.normal(made, "Noticed", "it is there")
    await recorder.stop()

    (event,) = (await client.list(EVENTS, namespace)).items
    assert (event["count"], event["reason"]) == (3, "Noticed")
    assert event["involvedObject"]["uid"] == made["metadata"]["uid"]
    assert recorder.dropped == 0
