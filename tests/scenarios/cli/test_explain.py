"""Why a workload waits, asked of a cluster whose queues decide."""

from random import Random

import pytest

from fleetqueue.cli.commands.explain import told
from fleetqueue.errors import ClusterError, Unreachable, UsageError, UserError
from fleetqueue.kube.client import Client
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.transport import Answer, Call, Stream
from support.kueue import Kueue, cluster_queue, flavor, local_queue, workload

pytestmark = pytest.mark.rule("kueue 11.1")


async def asked(cluster: Kueue, job: str) -> list[str]:
    return await told(cluster.client, "default", job, "kueue-system", nobody)


def nobody(access: Access) -> Client:
    raise AssertionError("there is no worker to be asked")


async def test_the_numbers_of_the_last_verdict_are_told(cluster: Kueue) -> None:
    await cluster.create(flavor(), cluster_queue(quota="3"), local_queue())
    for name in ("held", "first", "second"):
        await cluster.create(workload(name, cpu="2"))
        await cluster.fleet.passes(seconds=1)
        await cluster.fleet.settle()
    assert await asked(cluster, "workload/held") == ["workload/held is admitted in queue"]
    lines = await asked(cluster, "workload/second")
    assert lines[:3] == [
        "workload/second waits in the queue main",
        "  its ClusterQueue is queue",
        "  it is number 2 of 2 that wait in its queue",
    ]
    first = await asked(cluster, "workload/first")
    assert "1 more needed" in first[3]
    assert [line.split()[:7] for line in first[-2:]] == [
        ["POD", "SET", "FLAVOR", "RESOURCE", "NEEDED", "FREE", "BORROWABLE"],
        ["main", "(1)", "default", "cpu", "2", "1", "0"],
    ]


async def test_a_cluster_that_is_not_there_is_told_in_a_sentence() -> None:
    class Gone:
        async def request(self, call: Call) -> Answer:
            raise Unreachable(f"{call.method} {call.path}: cannot connect: Connection refused")

        async def stream(self, call: Call) -> Stream:
            raise AssertionError

        async def close(self) -> None:
            """Nothing is open."""

    with pytest.raises(ClusterError) as caught:
        await told(Client(Gone(), random=Random(1)), "default", "job/x", "kueue-system", nobody)
    assert str(caught.value) == (
        "cannot connect: Connection refused; nobody else knows what became of job/x"
    )


async def test_what_is_not_queued_is_said_to_be_so(cluster: Kueue) -> None:
    with pytest.raises(UserError, match='no Workload in namespace "default" belongs to x'):
        await asked(cluster, "x")
    with pytest.raises(UserError, match='there is no job/x in namespace "default"'):
        await asked(cluster, "job/x")


async def test_what_names_no_job_is_refused_as_that(cluster: Kueue) -> None:
    for job in ("", "job/", "/x", "a/b/c"):
        with pytest.raises(UsageError) as caught:
            await asked(cluster, job)
        assert str(caught.value) == f'"{job}" names no job'
        assert "say NAME, KIND/NAME as in job/train, or workload/NAME" in caught.value.render()


async def test_an_unknown_kind_is_told_with_those_that_are_known(cluster: Kueue) -> None:
    with pytest.raises(UserError, match='"foo" is no kind of job that is known') as caught:
        await asked(cluster, "foo/bar")
    fix = caught.value.render().splitlines()[-1]
    assert fix.startswith("  fix  say one of: appwrapper, deployment, jaxjob, job, jobset,")
    with pytest.raises(UserError, match='there is no workload/x in namespace "default"'):
        await asked(cluster, "workload/x")
    with pytest.raises(UserError, match='there is no deployment/x in namespace "default"'):
        await asked(cluster, "deployment/x")


async def test_a_namespace_that_does_not_exist_is_told(cluster: Kueue) -> None:
    for job in ("hello", "job/hello", "workload/hello"):
        with pytest.raises(UserError, match='namespace "nope" does not exist'):
            await told(cluster.client, "nope", job, "kueue-system", nobody)
