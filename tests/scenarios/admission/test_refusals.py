"""What is refused, with the code, the reason and the text that a client sees."""

from collections.abc import Iterable

import pytest

from fleetqueue import kueue
from fleetqueue.admission import kinds
from fleetqueue.api.crds import all_crds
from fleetqueue.embedded.webhooks import DeclaredHook
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Refused
from fleetqueue.testing import Fleet, job
from support import job_sets, queued
from support.kueue import (
    Kueue,
    cluster_queue,
    cohort,
    conditions_of,
    flavor,
    local_queue,
    workload,
)
from support.kueue_job_refusals import JOBS
from support.kueue_refusals import FLAVORS, QUEUES, Refusal
from support.kueue_workload_refusals import WORKLOADS

Answer = tuple[int, str, str]


async def guarded(fleet: Fleet) -> Client:
    """A cluster with Kueue's kinds and webhooks, and nobody who works."""
    cluster = await fleet.add_cluster("one")
    for crd in all_crds():
        names = crd["spec"]["names"]["kind"]
        if crd["spec"]["group"] == "kueue.x-k8s.io" or names == "JAXJob":
            await cluster.client.create(crd)
    await fleet.settle()
    core = cluster.instance.core
    for webhook in kueue.webhooks(kueue.read_options()):
        core.hooks.add(DeclaredHook(webhook, core, cluster.instance.gate))
    return cluster.client


async def answered(client: Client, refusal: Refusal) -> Answer:
    obj = {**refusal.obj, "metadata": {**refusal.obj["metadata"], "namespace": "default"}}
    kind = await client.discovery.resource(obj["apiVersion"], obj["kind"])
    if not kind.namespaced:
        del obj["metadata"]["namespace"]
    try:
        made = await client.create(obj)
        if refusal.patch is None:
            return (201, "", "")
        place = (made["metadata"]["name"], made["metadata"].get("namespace") or "")
        for before in refusal.before:
            await client.patch(kind, place[0], before.patch, place[1],
                               subresource=before.subresource)  # fmt: skip
        await client.patch(kind, place[0], refusal.patch, place[1], subresource=refusal.subresource)
    except Refused as error:
        return error.code, error.reason, str(error)
    return (200, "", "")


async def differences(client: Client, refusals: Iterable[Refusal]) -> str:
    """What was answered otherwise, line by line."""
    lines = []
    for each in refusals:
        found, expected = await answered(client, each), (*each.answer, each.message)
        if found != expected:
            lines.append(f"{each.title}: {found}, expected {expected}")
    return "\n".join(lines)


@pytest.mark.rule("kueue 1.0", "kueue 1.1", "kueue 1.3")
async def test_queues_and_cohorts(fleet: Fleet) -> None:
    assert await differences(await guarded(fleet), QUEUES) == ""


@pytest.mark.rule("kueue 1.0", "kueue 1.2", "kueue 1.4", "kueue 1.6")
async def test_flavors_and_what_is_around_them(fleet: Fleet) -> None:
    assert await differences(await guarded(fleet), FLAVORS) == ""


@pytest.mark.rule("kueue 1.5")
async def test_workloads(fleet: Fleet) -> None:
    assert await differences(await guarded(fleet), WORKLOADS) == ""


@pytest.mark.rule("kueue 9.6", "jobs A.7", "kueue 2.4")
async def test_jobs(fleet: Fleet) -> None:
    assert await differences(await guarded(fleet), JOBS) == ""


@pytest.mark.rule("jobs A.7")
async def test_a_job_must_stay_in_a_queue_where_there_is_a_default_one(fleet: Fleet) -> None:
    client = await guarded(fleet)
    await client.create(local_queue("default", "any"))
    made = await client.create(job("refused", labels=queued.QUEUE))
    with pytest.raises(Refused) as refused:
        await client.patch(
            queued.JOB,
            "refused",
            {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": None}}},
            "default",
        )
    assert made["spec"]["suspend"] is True
    assert str(refused.value) == (
        'admission webhook "vjob.kb.io" denied the request: '
        'metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "": queue-name must not be '
        "empty in namespace with default queue"
    )


# What is taken in, though it makes no sense: it is told so, and nobody else is disturbed


async def with_a_good_queue(fleet: Fleet) -> Kueue:
    kueue = await Kueue.start(fleet)
    await kueue.create(flavor(), cluster_queue("good"), local_queue("good", "good"))
    return kueue


async def assert_undisturbed(kueue: Kueue) -> None:
    """Another queue goes on: work that fits is admitted, and ends."""
    await kueue.create(workload("fine", queue="good"))
    assert await kueue.is_admitted("fine")
    assert conditions_of(await kueue.queue("good"))["Active"][0] == "True"
    await kueue.finish("fine")
    assert (await kueue.queue("good"))["status"]["admittedWorkloads"] == 0


@pytest.mark.rule("kueue 1.3", "kueue 4.6")
async def test_queues_in_a_cycle_of_cohorts_wait_until_it_is_broken(fleet: Fleet) -> None:
    kueue = await with_a_good_queue(fleet)
    await kueue.create(
        cohort("a", parent="b"),
        cohort("b", parent="a"),
        cluster_queue("looped", cohortName="a"),
        local_queue("looped", "looped"),
        workload("stuck", queue="looped"),
    )
    assert not await kueue.is_admitted("stuck")
    told = await kueue.conditions("stuck")
    assert told["QuotaReserved"][2] == "ClusterQueue looped is inactive"
    await assert_undisturbed(kueue)
    await kueue.patch(kinds.COHORT, "b", {"spec": {"parentName": None}})
    assert await kueue.is_admitted("stuck")


@pytest.mark.rule("kueue 4.6")
async def test_a_queue_whose_flavor_is_missing_says_so_and_goes_on_when_it_comes(
    fleet: Fleet,
) -> None:
    kueue = await with_a_good_queue(fleet)
    await kueue.create(
        cluster_queue("poor", {"missing": {"cpu": "4"}}),
        local_queue("poor", "poor"),
        workload("stuck", queue="poor"),
    )
    assert not await kueue.is_admitted("stuck")
    assert conditions_of(await kueue.queue("poor"))["Active"] == (
        "False",
        "FlavorNotFound",
        "Can't admit new workloads: references missing ResourceFlavor(s): missing.",
    )
    await assert_undisturbed(kueue)
    await kueue.create(flavor("missing"))
    assert await kueue.is_admitted("stuck")


@pytest.mark.rule("kueue 4.7", "kueue 1.2")
async def test_a_local_queue_to_nowhere_says_so(fleet: Fleet) -> None:
    kueue = await with_a_good_queue(fleet)
    await kueue.create(local_queue("lost", "nowhere"), workload("stuck", queue="lost"))
    found = conditions_of(await kueue.get(kinds.LOCAL_QUEUE, "lost"))
    assert found["Active"][:2] == ("False", "ClusterQueueDoesNotExist")
    told = await kueue.conditions("stuck")
    assert told["QuotaReserved"] == (
        "False",
        "Misconfigured",
        "ClusterQueue nowhere doesn't exist",
    )
    await assert_undisturbed(kueue)
    await kueue.create(cluster_queue("nowhere"))
    assert await kueue.is_admitted("stuck")


@pytest.mark.rule("kueue 1.5")
async def test_a_workload_without_a_local_queue_waits_for_it(fleet: Fleet) -> None:
    kueue = await with_a_good_queue(fleet)
    await kueue.create(workload("stuck", queue="none"))
    told = await kueue.conditions("stuck")
    assert told["QuotaReserved"][2] == "LocalQueue none doesn't exist"
    await assert_undisturbed(kueue)
    await kueue.create(local_queue("none", "good"))
    assert await kueue.is_admitted("stuck")


@pytest.mark.rule("kueue 1.5", "jobs A.1")
async def test_a_job_of_nineteen_pod_sets_stays_suspended_and_says_why(fleet: Fleet) -> None:
    here = await queued.start(fleet, groups=[job_sets.GROUP])
    made = job_sets.job_set(*(job_sets.replicated(f"r{n}") for n in range(19)))
    metadata = {"name": "many", "namespace": "default", "labels": queued.QUEUE}
    held = await here.create({**made, "metadata": metadata})
    assert held["spec"]["suspend"] is True
    assert await here.workloads() == []
    message = "a job can't have more than 18 pod sets, this one has 19"
    assert await here.events("JobSet") == [("ErrWorkloadCompose", message)]
    await here.create(job("fine", labels=queued.QUEUE))
    assert (await here.workload())["metadata"]["name"].startswith("job-fine-")
