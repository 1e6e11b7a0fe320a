"""Jobs that are sent to workers, from the queue of the manager to their end."""

from collections.abc import Callable
from typing import Any

from tests.support import dispatching
from tests.support.dispatching import Dispatching, job

from fleetqueue import kueue
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels
from fleetqueue.kube.client import Client
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.manager import Manager
from fleetqueue.kueue import KueueOptions
from fleetqueue.multikueue import parts
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet


def install(
    manager: Manager,
    options: KueueOptions,
    settings: DispatchSettings,
    connect: Callable[[Access], Client],
) -> Any:
    made = kueue.install(manager, options)
    return parts.install(
        manager, settings, connect, made.metrics, lambda kind: True, writer=made.writer
    )


async def world(fleet: Fleet, **options: Any) -> Dispatching:
    made = await dispatching.start(fleet, install=install, **options)
    await made.join()
    return made


async def test_a_job_runs_on_the_worker_that_admits_it(fleet: Fleet) -> None:
    async with await world(fleet) as made:
        await made.set_up(quota="8", worker_quota={"worker1": "0", "worker2": "4"})
        await made.manager.create(job("one", run_seconds="30"))
        await made.passes(seconds=5)

        [local] = await made.manager.workloads()
        assert local["status"]["clusterName"] == "worker2"
        assert local["status"]["admissionChecks"][0]["message"] == (
            'The workload was admitted on "worker2"'
        )
        assert status.is_admitted(local)
        assert await made.workers["worker1"].workloads() == []
        mirror = await made.workers["worker2"].get(JOB, "one")
        assert mirror["metadata"]["labels"][labels.MULTIKUEUE_ORIGIN] == "multikueue"
        assert "managedBy" not in mirror["spec"]
        here = await made.manager.get(JOB, "one")
        assert here["spec"]["suspend"] is False
        assert here["status"]["active"] == 1

        await made.passes(seconds=40)
        here = await made.manager.get(JOB, "one")
        assert here["status"]["succeeded"] == 1
        [local] = await made.manager.workloads()
        assert status.is_finished(local)
        assert await made.workers["worker2"].workloads() == []
        assert await made.workers["worker2"].all(JOB) == []
