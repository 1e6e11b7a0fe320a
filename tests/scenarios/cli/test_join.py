"""Clusters that people join to a manager: what is refused, and what they are told."""

import base64
from collections.abc import AsyncIterator

import pytest
from tests.support import dispatching
from tests.support.dispatching import NOBODY, TOKEN, Dispatching, server_of

from fleetqueue.api.kueue.labels import CLUSTER_UID
from fleetqueue.apiserver.keepers.legacy_tokens import LegacyTokenKeeper
from fleetqueue.apiserver.request import Request
from fleetqueue.errors import UserError
from fleetqueue.kube.resources import Object
from fleetqueue.local_fleet import joining, newcomers
from fleetqueue.local_fleet.newcomers import Joined, Newcomer
from fleetqueue.multikueue import kinds, worker_access
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet, FleetCluster, named, namespace

pytestmark = pytest.mark.rule("RBAC-1")


@pytest.fixture
async def world(fleet: Fleet) -> AsyncIterator[Dispatching]:
    """On its workers somebody else filled in the tokens: those that the links accept."""
    async with await dispatching.start(fleet) as made:
        for name, worker in made.workers.items():
            data = {"token": encoded(TOKEN + name), "ca.crt": encoded("an authority")}
            space = worker_access.NAMESPACE
            await worker.client.create(namespace(space))
            await worker.client.create(named("Secret", "v1", worker_access.TOKEN, space, data=data))
            give_authority(worker.cluster)
        yield made


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def give_authority(cluster: FleetCluster) -> None:
    """Its server fills in tokens that are asked for from now on."""
    for keeper in cluster.instance._keepers:
        if isinstance(keeper, LegacyTokenKeeper):
            keeper._authority = b"an authority"


async def join(
    world: Dispatching,
    worker: str,
    name: str = "",
    *,
    server: str = "",
    config: str = "",
    is_near: bool = True,
) -> Joined:
    manager, client = world.manager.client, world.workers[worker].client
    newcomer = Newcomer(name or worker, server or server_of(worker), client, [JOB])
    return await newcomers.join(manager, newcomer, config, world.connect, is_near=is_near)


async def secret_of(world: Dispatching, worker: str) -> Object:
    name = joining.secret_of(worker)
    return await world.manager.client.get(kinds.SECRET, name, dispatching.SYSTEM)


async def token_of(world: Dispatching, worker: str) -> str:
    client = world.workers[worker].client
    found = await client.get(kinds.SECRET, worker_access.TOKEN, worker_access.NAMESPACE)
    return base64.b64decode(found["data"]["token"]).decode()


async def status_for(world: Dispatching, worker: str, token: str) -> int:
    """What the server of the worker says to who shows that token."""
    asked = Request("GET", "/version", headers={"authorization": f"Bearer {token}"})
    return (await world.workers[worker].cluster.instance.handle(asked)).status


async def test_the_secret_says_which_cluster_it_is(world: Dispatching) -> None:
    joined = await join(world, "worker1")
    await world.passes(seconds=60)

    assert joined == Joined(notes=[])
    uid = await joining.cluster_uid(world.workers["worker1"].client)
    assert (await secret_of(world, "worker1"))["metadata"]["annotations"] == {CLUSTER_UID: uid}
    active = await world.activity("worker1")
    assert active is not None
    assert active[0] == "True"


async def test_a_cluster_may_join_again_under_its_name(world: Dispatching) -> None:
    await join(world, "worker1")

    # Its address may be another one by now.
    joined = await join(world, "worker1", server=NOBODY, is_near=False)

    assert not joined.is_new


async def test_to_join_again_renews_the_token(world: Dispatching) -> None:
    given = []
    for _ in range(3):
        await join(world, "worker1")
        given.append(await token_of(world, "worker1"))
        world.links["worker1"].token = given[-1]
        kubeconfig = base64.b64decode((await secret_of(world, "worker1"))["data"]["kubeconfig"])
        assert f"token: {given[-1]}" in kubeconfig.decode()
    await world.passes(seconds=60)

    _, before, now = given
    assert await status_for(world, "worker1", before) == 401
    assert await status_for(world, "worker1", now) == 200
    active = await world.activity("worker1")
    assert active is not None
    assert active[0] == "True"


async def test_a_token_is_not_renewed_for_an_address_that_leads_nowhere(
    world: Dispatching,
) -> None:
    await join(world, "worker1")
    before = await secret_of(world, "worker1")

    with pytest.raises(UserError):
        await join(world, "worker1", server=NOBODY)

    assert await token_of(world, "worker1") == TOKEN + "worker1"
    assert await secret_of(world, "worker1") == before


async def test_a_name_of_another_cluster_is_refused(world: Dispatching) -> None:
    await join(world, "worker1", "mine")
    before = await secret_of(world, "mine")

    with pytest.raises(UserError) as refused:
        await join(world, "worker2", "mine")

    assert str(refused.value) == (
        '"mine" is already the worker at https://worker1:6443, which is another cluster: choose'
        " another name with --name, or `fleetqueue leave mine` first"
    )
    assert await secret_of(world, "mine") == before


@pytest.mark.parametrize("is_same", [True, False])
async def test_an_older_secret_is_known_by_its_server(world: Dispatching, is_same: bool) -> None:
    await world.join("worker1")
    if is_same:
        assert not (await join(world, "worker1")).is_new
        assert (await secret_of(world, "worker1"))["metadata"]["annotations"]
        return
    with pytest.raises(UserError, match="already the worker at https://worker1:6443"):
        await join(world, "worker2", "worker1")


@pytest.mark.parametrize("is_older", [True, False])
async def test_a_second_name_is_refused(world: Dispatching, is_older: bool) -> None:
    await (world.join("worker1") if is_older else join(world, "worker1"))

    with pytest.raises(UserError) as refused:
        await join(world, "worker1", "other")

    assert str(refused.value) == (
        'this cluster is already the worker "worker1": join it again with --name worker1, or'
        " `fleetqueue leave worker1` first"
    )
    assert await world.manager.find(kinds.CLUSTER, "other") is None


async def test_a_name_whose_kubeconfig_is_in_a_file_is_refused(world: Dispatching) -> None:
    await world.manager.create(dispatching.cluster("mine", location="/some/file", type="Path"))

    with pytest.raises(UserError, match='"mine" is already a worker whose kubeconfig is in no'):
        await join(world, "worker1", "mine")


async def test_the_secret_that_a_cluster_names_is_the_one_that_is_renewed(
    world: Dispatching,
) -> None:
    await world.manager.create(dispatching.cluster("worker1", location="elsewhere"))

    await join(world, "worker1")

    found = await world.manager.client.get(kinds.SECRET, "elsewhere", dispatching.SYSTEM)
    assert CLUSTER_UID in found["metadata"]["annotations"]


LEADS_NOWHERE = [
    (NOBODY, "", "https://127.0.0.1:1 does not let the manager in (GET"),
    (server_of("worker2"), "", "https://worker2:6443 does not let the manager in (Unauthorized)"),
    (server_of("worker2"), "worker1", "https://worker2:6443 is another cluster than that of"),
]


@pytest.mark.parametrize(("server", "let_in", "sentence"), LEADS_NOWHERE)
async def test_an_address_that_does_not_lead_there_is_refused(
    world: Dispatching, server: str, let_in: str, sentence: str
) -> None:
    world.links["worker2"].token = TOKEN + (let_in or "worker2")

    with pytest.raises(UserError) as refused:
        await join(world, "worker1", server=server, config="some")

    assert str(refused.value).startswith(sentence)
    assert "--server" in str(refused.value)
    assert await world.manager.all(kinds.CLUSTER) == []
    assert await world.manager.all(kinds.CONFIG) == []
    secrets = await world.manager.client.list(kinds.SECRET, dispatching.SYSTEM)
    assert joining.secret_of("worker1") not in {each["metadata"]["name"] for each in secrets.items}


async def test_an_address_that_never_answers_is_refused_in_time(world: Dispatching) -> None:
    world.hang("worker2")
    began = world.fleet.clock.monotonic()

    with pytest.raises(UserError, match="https://worker2:6443 does not answer"):
        await join(world, "worker1", server=server_of("worker2"))

    assert world.fleet.clock.monotonic() - began < 15


async def test_of_a_manager_elsewhere_it_is_only_a_warning(world: Dispatching) -> None:
    joined = await join(world, "worker1", server=NOBODY, is_near=False)

    assert joined.warning.startswith("https://127.0.0.1:1 does not let the manager in")
    assert await world.manager.find(kinds.CLUSTER, "worker1") is not None


async def test_a_config_that_no_check_uses_is_told_of(world: Dispatching) -> None:
    await world.manager.create(dispatching.admission_check(config="used"))

    unused = await join(world, "worker1", config="unused")
    used = await join(world, "worker2", config="used")
    again = await join(world, "worker2", config="used")

    assert unused.notes == [
        "created: MultiKueueConfig/unused",
        "no AdmissionCheck uses it, so no job comes this way: name it in the parameters of one",
    ]
    assert used.notes == ["created: MultiKueueConfig/used"]
    assert again.notes == []
