"""A deep queue of workloads that want what is not there, and others that come behind them."""

import pytest

from fleetqueue.admission import kinds
from fleetqueue.queueing.plan import Plan
from fleetqueue.testing import Fleet
from support.kueue import NAMESPACE, Kueue, cluster_queue, flavor, local_queue, pod_set, workload

pytestmark = pytest.mark.rule("kueue 4.4", "kueue 4.5")

GPU = "nvidia.com/gpu"
BLOCKED, SHAPES, READY, AT_ONCE = 200, 10, 24, 4
WITHIN_SECONDS = 0.1 + SHAPES * 0.010 + 0.05
"""What a change costs: a wait for further changes, and a try of each shape that waits."""


async def deep(fleet: Fleet) -> Kueue:
    """All who wait for a GPU are older and more important."""
    kueue = await Kueue.start(fleet)
    quota = {"default": {"cpu": str(AT_ONCE), GPU: "0"}}
    await kueue.create(flavor(), cluster_queue(quota=quota), local_queue())
    for number in range(BLOCKED):
        sets = [pod_set(**{"cpu": f"{number % SHAPES + 1}m", GPU: "1"})]
        await kueue.client.create(workload(f"gpu-{number}", sets=sets, priority=100))
    await fleet.settle()
    return kueue


async def versions(kueue: Kueue) -> dict[str, str]:
    found = (await kueue.client.list(kinds.WORKLOAD, NAMESPACE)).items
    named = {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in found}
    return {name: version for name, version in named.items() if name.startswith("gpu")}


async def test_who_fits_is_admitted_past_all_who_do_not_whenever_there_is_room(
    fleet: Fleet,
) -> None:
    kueue = await deep(fleet)
    for number in range(READY):
        await kueue.client.create(workload(f"cpu-{number:02}"))
    await fleet.settle()
    known: list[dict[str, str]] = []
    for left in range(READY, 0, -1):
        admitted = await kueue.admitted()
        assert len(admitted) == min(left, AT_ONCE)
        await kueue.finish(admitted[0])
        await fleet.passes(seconds=WITHIN_SECONDS)
        known.append(await versions(kueue))
    # The first of each shape speaks for all of them; after that nobody has anything new to say.
    assert known[0] == known[-1]


async def test_equal_ones_are_tried_once_for_all(fleet: Fleet) -> None:
    kueue = await deep(fleet)
    assert kueue.admission is not None
    tried: list[str] = []

    def note(plan: Plan) -> None:
        tried.extend(each.workload.key.name for each in plan.decisions)

    kueue.admission.scheduler.on_cycle.append(note)
    await kueue.create(workload("cpu-0"), workload("cpu-1"))
    assert tried == ["cpu-0", "cpu-1"]
    tried.clear()
    await kueue.finish("cpu-0")
    await fleet.passes(seconds=1)
    assert len(tried) == SHAPES
