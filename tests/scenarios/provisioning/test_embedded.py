"""The check on a server of ours, whose users define the autoscaler's kind when they like."""

from pathlib import Path

import pytest
from tests.support.embedded import prepared
from tests.support.kueue import cluster_queue, conditions_of, flavor, local_queue
from tests.support.provisioned import CHECK, DEFINITION, check, checked, config

from fleetqueue.admission.kinds import CLUSTER_QUEUE, WORKLOAD
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.embedded.live import Live
from fleetqueue.kube.resources import CRDS, Object
from fleetqueue.provisioning.kinds import ADMISSION_CHECK, REQUEST
from fleetqueue.testing import Fleet, named

pytestmark = pytest.mark.rule("kueue 12.1", "kueue 12.2")

OTHERS = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations:
  frameworks: [batch/job]
  externalFrameworks: [Thing.v1.example.com]
multiKueue:
  externalFrameworks: [{name: Ox.v1.example.com}]
"""
"""Kinds that nobody has defined either."""
NAME = str(DEFINITION["metadata"]["name"])


async def furnish(fleet: Fleet, live: Live) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    pods = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    job = named("Job", "batch/v1", "job", "default", spec={"template": pods})
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "main"}
    queue = cluster_queue(**checked())
    for obj in (flavor(), config(), check(), queue, local_queue(), job):
        await live.client.create(obj)
    await fleet.passes(seconds=10)


async def requests(live: Live) -> list[Object]:
    return [dict(each) for each in (await live.client.list(REQUEST)).items]


async def is_asked(live: Live) -> bool:
    """Whether the one job has asked for capacity."""
    [workload] = (await live.client.list(WORKLOAD)).items
    told = conditions_of(dict(await live.client.get(ADMISSION_CHECK, CHECK)))
    assert told["Active"] == ("True", "Active", "The admission check is active")
    names = [each["metadata"]["name"] for each in await requests(live)]
    return names == [f"{workload['metadata']['name']}-{CHECK}-1"]


async def test_a_check_works_where_the_kind_is_there_from_the_start(
    fleet: Fleet, tmp_path: Path
) -> None:
    async with prepared(fleet, tmp_path) as live:
        await live.client.create(DEFINITION)
        await live.start_controllers()
        await furnish(fleet, live)
        assert await is_asked(live)


@pytest.mark.parametrize("config", [None, OTHERS], ids=["alone", "with others"])
async def test_a_check_works_as_soon_as_the_kind_comes(
    fleet: Fleet, tmp_path: Path, config: str | None
) -> None:
    async with prepared(fleet, tmp_path, config) as live:
        await live.start_controllers()
        await furnish(fleet, live)
        assert "status" not in await live.client.get(ADMISSION_CHECK, CHECK)
        queue = conditions_of(dict(await live.client.get(CLUSTER_QUEUE, "queue")))
        assert queue["Active"][:2] == ("False", "AdmissionCheckInactive")

        await live.client.create(DEFINITION)
        await fleet.passes(seconds=10)
        assert await is_asked(live)
        [workload] = (await live.client.list(WORKLOAD)).items
        assert status.has_quota(workload)
        assert not status.is_admitted(workload)


async def test_a_check_waits_while_the_kind_is_gone(fleet: Fleet, tmp_path: Path) -> None:
    async with prepared(fleet, tmp_path) as live:
        await live.client.create(DEFINITION)
        await live.start_controllers()
        await furnish(fleet, live)
        await live.client.delete(CRDS, NAME)
        await fleet.passes(seconds=30)
        assert live.cluster.is_held(REQUEST)
        assert live.cluster.problems() == []

        await live.client.create(DEFINITION)
        await fleet.passes(minutes=10)
        assert await is_asked(live)
