"""Many that wait: those that cannot be admitted delay nobody, and are written once."""

import pytest

from fleetqueue.admission import kinds
from fleetqueue.testing import Fleet
from support.kueue import NAMESPACE, Kueue, cluster_queue, flavor, local_queue, pod_set, workload

pytestmark = pytest.mark.rule("kueue 4.4", "kueue 5.9")

GPU = "nvidia.com/gpu"
BLOCKED, READY, QUEUES = 40, 8, 12


async def test_blocked_gpu_workloads_do_not_delay_cpu_ones(fleet: Fleet) -> None:
    kueue = await Kueue.start(fleet)
    quota = {"default": {"cpu": "100", GPU: "0"}}
    await kueue.create(flavor(), cluster_queue(quota=quota), local_queue())
    for number in range(BLOCKED):
        sets = [pod_set(**{"cpu": f"{number + 1}m", GPU: "1"})]
        await kueue.client.create(workload(f"gpu-{number}", sets=sets, priority=100))
    await fleet.settle()
    began = fleet.clock.now()
    for number in range(READY):
        await kueue.client.create(workload(f"cpu-{number}"))
    await fleet.settle()
    assert await kueue.admitted() == [f"cpu-{number}" for number in range(READY)]
    assert (fleet.clock.now() - began).total_seconds() <= 1


async def test_heads_that_cannot_be_admitted_are_written_once(fleet: Fleet) -> None:
    """Whatever else goes on in their cohort, as long as they wait for the same."""
    kueue = await Kueue.start(fleet)
    await kueue.create(flavor())
    for number in range(QUEUES):
        limits = {"borrowingLimit": "0"}
        name = f"q-{number}"
        await kueue.client.create(cluster_queue(name, "2", limits=limits, cohortName="all"))
        await kueue.client.create(local_queue(name, name))
        await kueue.client.create(workload(f"blocked-{number}", "3", queue=name))
    await kueue.create(cluster_queue("busy", "2", cohortName="all"), local_queue("busy", "busy"))
    before = await versions(kueue)
    for number in range(5):
        await kueue.create(workload(f"w-{number}", queue="busy"))
        assert await kueue.is_admitted(f"w-{number}")
        await kueue.finish(f"w-{number}")
    await fleet.passes(minutes=10)
    await fleet.settle()
    assert await versions(kueue) == before


async def versions(kueue: Kueue) -> dict[str, str]:
    found = (await kueue.client.list(kinds.WORKLOAD, NAMESPACE)).items
    named = {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in found}
    return {name: version for name, version in named.items() if name.startswith("blocked")}


@pytest.mark.rule("kueue 4.4")
async def test_a_head_that_blocks_its_queue_is_not_tried_in_a_loop(fleet: Fleet) -> None:
    kueue = await Kueue.start(fleet)
    queue = cluster_queue(quota="4", queueingStrategy="StrictFIFO")
    await kueue.create(flavor(), queue, local_queue(), workload("running", cpu="4"))
    await kueue.create(workload("large", cpu="3", priority=9), workload("small", cpu="1"))
    assert kueue.admission is not None
    scheduler = kueue.admission.scheduler
    await fleet.passes(seconds=1)
    before = scheduler.cycles

    await fleet.passes(minutes=10)

    assert scheduler.cycles == before
    await kueue.finish("running")
    assert await kueue.admitted() == ["large", "small"]
