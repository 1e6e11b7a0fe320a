"""Two thousand heads that cannot be admitted: once they were told why, nothing is written."""

from collections import Counter
from collections.abc import Sequence

import pytest

from fleetqueue.admission import kinds, parts
from fleetqueue.admission.settings import AdmissionSettings
from fleetqueue.apiserver.storage import Change
from fleetqueue.kube.manager import Manager
from fleetqueue.testing import Fleet
from support.kueue import (
    NAMESPACE,
    Kueue,
    cluster_queue,
    conditions_of,
    flavor,
    local_queue,
    workload,
)

HEADS, COHORTS = 2_000, 20
WAITS = (
    "False",
    "ExceedsMaxQuota",
    "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, "
    "previously considered podsets requests (0) + current podset request (3) > maximum capacity "
    "(2)",
)


class Writes:
    """How often objects of each kind are written; events that expire do not count."""

    def __init__(self, kueue: Kueue) -> None:
        self.counts: Counter[str] = Counter()
        kueue.cluster.instance.core.store.listen(self._see)

    def _see(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.after is not None or change.resource != "events":
                self.counts[change.resource] += 1


async def crowded(fleet: Fleet) -> Kueue:
    """All is there before the controllers start, as after a restart."""
    cluster = await fleet.add_cluster("one")
    await Kueue.prepare(fleet, cluster)
    create = cluster.client.create
    await create(flavor())
    for number in range(HEADS):
        name, cohort = f"q-{number}", f"c-{number % COHORTS}"
        limits = {"borrowingLimit": "0"}
        await create(cluster_queue(name, "2", limits=limits, cohortName=cohort))
        await create(local_queue(name, name))
        await create(workload(name, "3", queue=name))
    await create(cluster_queue("busy", "2", cohortName="c-0"))
    await create(local_queue("busy", "busy"))

    def install(manager: Manager) -> None:
        parts.install(manager, AdmissionSettings())

    fleet.run_all(install, on=cluster)
    await fleet.settle()
    await fleet.passes(minutes=1)
    await fleet.settle()
    return Kueue(fleet, cluster)


@pytest.mark.rule("kueue 4.4", "kueue 5.9")
async def test_two_thousand_heads_that_wait_cost_no_writes(fleet: Fleet) -> None:
    kueue = await crowded(fleet)
    found = (await kueue.client.list(kinds.WORKLOAD, NAMESPACE)).items
    assert len(found) == HEADS
    told = {conditions_of(each)["QuotaReserved"] for each in found}
    assert told == {WAITS}

    writes = Writes(kueue)
    await fleet.passes(hours=1)
    await fleet.settle()
    assert writes.counts == {}

    for name in ("one", "two"):
        await kueue.create(workload(name, queue="busy"))
        assert await kueue.is_admitted(name)
        await kueue.finish(name)
    # Each is created, admitted and finished; of those that wait none is written.
    assert writes.counts["workloads.kueue.x-k8s.io"] == 2 * 3
