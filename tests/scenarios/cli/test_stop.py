"""Queues are held and resumed by their stop policy, workloads by being active."""

import pytest

from fleetqueue.cli.kueuectl import kinds
from fleetqueue.kube.resources import Resource
from support.ctl import Ctl, Ran
from support.kueue import Kueue, cluster_queue, flavor, local_queue, workload

pytestmark = pytest.mark.rule("kueue 11.4", "kueue 13.9")
QUEUES = [("clusterqueue", "cq", kinds.CLUSTER_QUEUE), ("localqueue", "lq", kinds.LOCAL_QUEUE)]


async def policy(cluster: Kueue, kind: Resource) -> str:
    return str((await cluster.get(kind, "one"))["spec"]["stopPolicy"])


@pytest.fixture
async def filled(cluster: Kueue) -> Kueue:
    await cluster.create(
        flavor(), cluster_queue("one"), local_queue("one", "one"), workload("one", queue="one")
    )
    return cluster


@pytest.mark.parametrize(("name", "alias", "kind"), QUEUES)
async def test_k_3_queues_are_stopped_and_resumed(
    filled: Kueue, ctl: Ctl, name: str, alias: str, kind: Resource
) -> None:
    told = Ran(f"{name}.kueue.x-k8s.io/one\n", "")
    assert await ctl("stop", name, "one") == told
    assert await policy(filled, kind) == "HoldAndDrain"
    assert await ctl("resume", alias, "one") == told
    assert await policy(filled, kind) == "None"
    assert await ctl("stop", alias, "one", "--keep-already-running") == told
    assert await policy(filled, kind) == "Hold"


@pytest.mark.parametrize("alias", ["workload", "kwl", "kueueworkload", "kueueworkloads"])
async def test_k_3_workloads_are_stopped_and_resumed(filled: Kueue, ctl: Ctl, alias: str) -> None:
    name = "workload.kueue.x-k8s.io/one"
    assert await ctl("stop", alias, "one") == Ran(f"{name} stopped\n", "")
    assert (await filled.workload("one"))["spec"]["active"] is False
    assert await ctl("resume", alias, "one") == Ran(f"{name} resumed\n", "")
    assert (await filled.workload("one"))["spec"]["active"] is True


@pytest.mark.parametrize("how", ["client", "server"])
async def test_k_3_a_dry_run_changes_nothing(filled: Kueue, ctl: Ctl, how: str) -> None:
    for name, _, kind in QUEUES:
        before = await filled.get(kind, "one")
        told = f"{name}.kueue.x-k8s.io/one ({how} dry run)\n"
        assert await ctl("stop", name, "one", "--dry-run", how) == Ran(told, "")
        assert await filled.get(kind, "one") == before
        shown = await ctl("stop", name, "one", "--dry-run", how, "-o", "jsonpath={.spec}")
        assert '"stopPolicy":"HoldAndDrain"' in shown.out
    told = f"workload.kueue.x-k8s.io/one stopped ({how} dry run)\n"
    assert await ctl("stop", "workload", "one", f"--dry-run={how}") == Ran(told, "")
    assert (await filled.workload("one"))["spec"].get("active") is True


async def test_exactly_one_is_stopped_and_it_must_be_there(filled: Kueue, ctl: Ctl) -> None:
    for verb in ("stop", "resume"):
        for kind in ("cq", "lq", "workload"):
            done = await ctl(verb, kind)
            assert done == Ran("", "Error: accepts 1 arg(s), received 0\n", 1)
            done = await ctl(verb, kind, "one", "two")
            assert done == Ran("", "Error: accepts 1 arg(s), received 2\n", 1)
    missing = 'Error: localqueues.kueue.x-k8s.io "two" not found\n'
    assert await ctl("stop", "lq", "two") == Ran("", missing, 1)
    missing = 'Error: clusterqueues.kueue.x-k8s.io "two" not found\n'
    assert await ctl("resume", "cq", "two", "--dry-run=client") == Ran("", missing, 1)
