"""Jobs and CronJobs on a whole server in virtual time; the test moves their pods."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.recorder import owned

from fleetqueue.api.times import format_time, parse_time
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import cron_job, job, ttl_after_finished
from fleetqueue.runtime.controllers.job_backoff import Backoff
from fleetqueue.runtime.kinds import CRON_JOB, JOB, POD
from fleetqueue.testing import Fleet
from fleetqueue.testing.faults import CALM, STORM
from fleetqueue.testing.fleet import FleetCluster

pytestmark = pytest.mark.rule("jobs B.1")


class World:
    """A cluster with the batch controllers."""

    def __init__(self, fleet: Fleet, cluster: FleetCluster) -> None:
        self.fleet = fleet
        self.client = cluster.client
        self.cluster = cluster
        self.restarts = [
            fleet.run(controller_of(operator), on=cluster)
            for operator in (
                job.job_operator(Backoff()),
                job.ORPHANS,
                ttl_after_finished.OPERATOR,
                cron_job.OPERATOR,
            )
        ]

    async def start(self, **spec: Any) -> None:
        await self.client.create(
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "work", "namespace": "default"},
                "spec": job_spec(**spec),
            }
        )
        await self.fleet.settle()

    async def edit(self, **spec: Any) -> None:
        await self.client.patch(JOB, "work", {"spec": spec}, "default")
        await self.fleet.settle()

    async def pods(self, phase: str = "") -> list[Object]:
        found = (await self.client.list(POD, "default")).items
        return [pod for pod in found if phase in ("", pod["status"]["phase"])]

    async def finish(self, pod: Object, phase: str, code: int = 0) -> None:
        now = format_time(self.fleet.clock.now())
        ended = {"exitCode": code, "startedAt": now, "finishedAt": now}
        told = {
            "name": "main",
            "image": "example",
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": ended},
        }
        status = {"status": {"phase": phase, "containerStatuses": [told]}}
        await self.client.patch(
            POD, pod["metadata"]["name"], status, "default", subresource="status"
        )

    async def status(self) -> Object:
        found: Object = (await self.client.get(JOB, "work", "default"))["status"]
        return found

    async def conditions(self) -> list[tuple[str, str, str]]:
        return [
            (each["type"], each["status"], each["reason"])
            for each in (await self.status()).get("conditions", ())
        ]


@pytest.fixture
async def world(fleet: Fleet) -> World:
    made = World(fleet, await fleet.add_cluster("one"))
    await fleet.settle()
    return made


def job_spec(**spec: Any) -> Object:
    containers = [{"name": "main", "image": "example"}]
    template = {"spec": {"restartPolicy": "Never", "containers": containers}}
    return {"template": template, **spec}


async def test_a_failed_pod_is_replaced_after_ten_seconds_then_twenty_then_forty(
    world: World,
) -> None:
    await world.start(backoffLimit=3)
    waits = []
    for _ in range(3):
        (pod,) = await world.pods("Pending")
        await world.finish(pod, "Failed", 1)
        since = world.fleet.clock.now()
        while not await world.pods("Pending"):
            await world.fleet.passes(seconds=0.5)
        waits.append((world.fleet.clock.now() - since).total_seconds())
    assert waits == pytest.approx([10, 20, 40], abs=1.5)
    (pod,) = await world.pods("Pending")
    await world.finish(pod, "Failed", 1)
    await world.fleet.settle()
    assert await world.conditions() == [
        ("FailureTarget", "True", "BackoffLimitExceeded"),
        ("Failed", "True", "BackoffLimitExceeded"),
    ]
    assert (await world.status())["failed"] == 4


async def test_a_restart_of_the_controller_does_not_shorten_the_wait(world: World) -> None:
    await world.start(backoffLimit=5)
    for _ in range(2):
        (pod,) = await world.pods("Pending")
        await world.finish(pod, "Failed", 1)
        await world.fleet.passes(seconds=25)
    (pod,) = await world.pods("Pending")
    await world.finish(pod, "Failed", 1)
    await world.restarts[0]()
    await world.fleet.passes(seconds=35)
    assert await world.pods("Pending") == []
    await world.fleet.passes(seconds=10)
    assert len(await world.pods("Pending")) == 1


async def test_a_resumed_job_has_its_whole_deadline_again(world: World) -> None:
    await world.start(activeDeadlineSeconds=60)
    started = (await world.status())["startTime"]
    await world.fleet.passes(seconds=50)
    await world.edit(suspend=True)
    assert await world.pods() == []
    assert (await world.status())["startTime"] == started
    assert await world.conditions() == [("Suspended", "True", "JobSuspended")]
    await world.fleet.passes(hours=1)
    await world.edit(suspend=False)
    assert parse_time((await world.status())["startTime"]) > parse_time(started)
    await world.fleet.passes(seconds=50)
    assert await world.conditions() == [("Suspended", "False", "JobResumed")]
    await world.fleet.passes(seconds=15)
    assert await world.conditions() == [
        ("Suspended", "False", "JobResumed"),
        ("FailureTarget", "True", "DeadlineExceeded"),
        ("Failed", "True", "DeadlineExceeded"),
    ]


async def test_a_finished_job_and_its_pods_go_when_their_time_is_over(world: World) -> None:
    await world.start(ttlSecondsAfterFinished=60)
    (pod,) = await world.pods()
    await world.finish(pod, "Succeeded")
    await world.fleet.passes(seconds=55)
    assert await world.conditions() == [
        ("SuccessCriteriaMet", "True", "CompletionsReached"),
        ("Complete", "True", "CompletionsReached"),
    ]
    await world.fleet.passes(seconds=10)
    with pytest.raises(NotFound):
        await world.status()
    assert await world.pods() == []


async def test_pods_of_a_deleted_job_are_not_kept_by_their_finalizer(world: World) -> None:
    await world.start(parallelism=3, completions=3)
    await world.client.delete(JOB, "work", "default", propagation="Background")
    await world.fleet.passes(minutes=1)
    assert await world.pods() == []


@pytest.mark.parametrize("mode", ["NonIndexed", "Indexed"])
async def test_every_pod_counts_once_whatever_the_weather(world: World, mode: str) -> None:
    await world.start(completions=12, parallelism=4, completionMode=mode, backoffLimit=1000)
    world.cluster.set_weather(STORM)
    finished = 0
    for turn in range(400):
        if turn % 40 == 17:
            await world.restarts[0]()
        for number, pod in enumerate(await world.pods("Pending")):
            if not pod["metadata"].get("deletionTimestamp"):
                fails = (turn + number) % 5 == 0
                await world.finish(pod, "Failed" if fails else "Succeeded", int(fails))
        await world.fleet.passes(seconds=30)
        status = await world.status()
        finished = status.get("succeeded", 0)
        assert finished <= 12
        if any(each["type"] == "Complete" for each in status.get("conditions", ())):
            break
    world.cluster.set_weather(CALM)
    await world.fleet.passes(minutes=20)
    pods = await world.pods()
    status = await world.status()
    assert status["succeeded"] == 12
    assert status["failed"] == sum(pod["status"]["phase"] == "Failed" for pod in pods)
    assert not [pod for pod in pods if pod["metadata"].get("finalizers")]


async def test_a_cron_job_starts_a_job_every_minute_and_keeps_three(world: World) -> None:
    await world.client.create(
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": "tick", "namespace": "default"},
            "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job_spec()}},
        }
    )
    await world.fleet.passes(seconds=1)
    for _ in range(5):
        await world.fleet.passes(minutes=1)
        for pod in await world.pods("Pending"):
            await world.finish(pod, "Succeeded")
        await world.fleet.settle()
    await world.fleet.passes(seconds=1)
    jobs = (await world.client.list(JOB, "default")).items
    assert len(jobs) == 3
    status = (await world.client.get(CRON_JOB, "tick", "default"))["status"]
    last = parse_time(status["lastScheduleTime"])
    assert last.second == 0
    assert (world.fleet.clock.now() - last).total_seconds() < 65
    assert "active" not in status
    assert parse_time(status["lastSuccessfulTime"]) > datetime(2026, 1, 1, tzinfo=UTC)
    names = [f"tick-{int(last.timestamp()) // 60 - back}" for back in (2, 1, 0)]
    assert [each["metadata"]["name"] for each in jobs] == names


async def test_all_is_written_in_the_name_of_the_controller_manager(world: World) -> None:
    template = {"spec": job_spec(parallelism=2, completions=2)}
    await world.client.create(
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": "tick", "namespace": "default"},
            "spec": {"schedule": "* * * * *", "jobTemplate": template},
        }
    )
    await world.fleet.passes(seconds=61)
    pods = await world.pods()
    for pod in pods:
        await world.finish(pod, "Succeeded")
    await world.fleet.settle()
    [made] = (await world.client.list(JOB, "default")).items
    assert made["status"]["succeeded"] == len(pods) == 2
    ours = "kube-controller-manager"
    assert {by[0] for by in owned(made)} == {ours}
    for pod in await world.pods():
        assert {by[0] for by in owned(pod) if by[2] != "status"} == {ours}
    found = owned(await world.client.get(CRON_JOB, "tick", "default"))
    assert "status.lastScheduleTime" in found[ours, "Update", "status"]
