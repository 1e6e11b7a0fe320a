"""A workload is deleted with the job that it is of, after a question."""

import pytest

from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object, Resource
from support.ctl import Ctl, Ran
from support.kueue import Kueue, cluster_queue, flavor, local_queue, workload

pytestmark = pytest.mark.rule("kueue 11.4")
JOB = Resource("batch", "v1", "jobs", "Job")
ASKED = (
    "This operation will also delete:\n"
    "  - jobs.batch/one associated with the default/one workload\n"
    "Do you want to proceed (y/n)? "
)


def job(name: str) -> Object:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    metadata = {"name": name, "namespace": "default"}
    spec = {"suspend": True, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


async def owned(cluster: Kueue, name: str, *jobs: str) -> None:
    """A workload of these jobs."""
    made = workload(name)
    made["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "Job", "name": each, "uid": found["metadata"]["uid"]}
        for each in jobs
        for found in [await cluster.client.create(job(each))]
    ]
    await cluster.create(made)


@pytest.fixture
async def filled(cluster: Kueue) -> Kueue:
    await cluster.create(flavor(), cluster_queue(), local_queue())
    await owned(cluster, "one", "one")
    await cluster.create(workload("alone"))
    return cluster


async def is_there(cluster: Kueue, name: str, kind: Resource = JOB) -> bool:
    await cluster.fleet.settle()
    try:
        await cluster.get(kind, name)
    except NotFound:
        return False
    return True


@pytest.mark.parametrize("answer", ["y", "Y"])
async def test_the_job_goes_with_it(filled: Kueue, ctl: Ctl, answer: str) -> None:
    done = await ctl("delete", "workload", "one", typed=f"{answer}\n")
    assert done == Ran(f"{ASKED}jobs.batch/one deleted\n", "")
    assert not await is_there(filled, "one")


@pytest.mark.parametrize("answer", ["n", "", "yes", "no"])
async def test_any_other_answer_is_no(filled: Kueue, ctl: Ctl, answer: str) -> None:
    done = await ctl("delete", "kwl", "one", typed=f"{answer}\n")
    assert done == Ran(f"{ASKED}Deletion is canceled\n", "")
    assert await is_there(filled, "one")


async def test_nobody_is_asked_who_said_yes(filled: Kueue, ctl: Ctl) -> None:
    assert await ctl("delete", "workload", "one", "-y") == Ran("jobs.batch/one deleted\n", "")


async def test_one_without_a_job_goes_itself(filled: Kueue, ctl: Ctl) -> None:
    done = await ctl("delete", "workload", "alone")
    assert done == Ran("workload.kueue.x-k8s.io/alone deleted\n", "")


async def test_several_with_several_jobs(filled: Kueue, ctl: Ctl) -> None:
    await owned(filled, "two", "a", "b")
    done = await ctl("delete", "workload", "one", "gone", "two", "alone", typed="y\n")
    assert done.err == 'workloads.kueue.x-k8s.io "gone" not found\n'
    assert done.out.splitlines() == [
        "This operation will also delete:",
        "  - jobs.batch/one associated with the default/one workload",
        "  - jobs.batch/a, jobs.batch/b associated with the default/two workload",
        "Do you want to proceed (y/n)? jobs.batch/one deleted",
        "jobs.batch/a deleted",
        "jobs.batch/b deleted",
        "workload.kueue.x-k8s.io/alone deleted",
    ]


@pytest.mark.parametrize("everywhere", [(), ("-A",)])
async def test_all_of_them(filled: Kueue, ctl: Ctl, everywhere: tuple[str, ...]) -> None:
    done = await ctl("delete", "workload", "--all", *everywhere, typed="y\n")
    assert done.err == ""
    assert done.out.splitlines() == [
        "This operation will also delete the jobs associated with these workloads.",
        "Do you want to proceed (y/n)? workload.kueue.x-k8s.io/alone deleted",
        "jobs.batch/one deleted",
    ]
    assert await ctl("delete", "kwl", "--all", "-n", "kube-system") == Ran(
        "", "No resources found in kube-system namespace.\n"
    )


@pytest.mark.parametrize("how", ["client", "server"])
async def test_a_dry_run_deletes_nothing(filled: Kueue, ctl: Ctl, how: str) -> None:
    done = await ctl("delete", "workload", "one", "alone", f"--dry-run={how}")
    assert done.err == ""
    assert done.out.splitlines() == [
        f"jobs.batch/one deleted ({how} dry run)",
        f"workload.kueue.x-k8s.io/alone deleted ({how} dry run)",
    ]
    assert await is_there(filled, "one")
    await filled.workload("alone")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "requires at least 1 arg(s), only received 0"),
        (("-A",), "requires at least 1 arg(s), only received 0"),
        (("one", "--all"), "name cannot be provided when a selector is specified"),
        (("one", "-A"), "a resource cannot be retrieved by name across all namespaces"),
    ],
)
async def test_what_cannot_be_meant(ctl: Ctl, arguments: tuple[str, ...], message: str) -> None:
    assert await ctl("delete", "workload", *arguments) == Ran("", f"Error: {message}\n", 1)
