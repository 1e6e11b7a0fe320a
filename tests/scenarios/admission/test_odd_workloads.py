"""Workloads as nobody would write them: they are told what is wrong, or get what they ask for, and
do no harm to others.
"""

from typing import Any

import pytest

from fleetqueue.admission import kinds
from fleetqueue.api.meta import Key
from fleetqueue.queueing import nomination
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import Workload
from fleetqueue.testing import Fleet
from support.kueue import (
    NAMESPACE,
    Kueue,
    cluster_queue,
    flavor,
    local_queue,
    pod_set,
    workload,
)
from support.scheduled import start

BAD = Key(NAMESPACE, "bad")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def choosy(name: str, queue: str = "main") -> Any:
    """It wants a number greater than nothing."""
    term = {"matchExpressions": [{"key": "generation", "operator": "Gt"}]}
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}
    return workload(name, queue=queue, sets=[pod_set(pod={"affinity": affinity}, cpu="1")])


async def with_labels(fleet: Fleet, **queue: Any) -> Kueue:
    kueue = await Kueue.start(fleet)
    await kueue.create(
        flavor(nodeLabels={"generation": "7"}),
        cluster_queue(**queue),
        cluster_queue("other"),
        local_queue(),
        local_queue("other", "other"),
    )
    return kueue


@pytest.mark.rule("kueue 5.9", "kueue 5.3")
async def test_a_malformed_affinity_is_told_and_others_are_admitted(fleet: Fleet) -> None:
    kueue = await with_labels(fleet)
    await kueue.create(choosy("bad"), workload("next"), workload("beside", queue="other"))
    told = await kueue.conditions("bad")
    assert told["QuotaReserved"] == (
        "False",
        "NoMatchingFlavor",
        "failed to assign flavors to pod set main: values: Invalid value: []: "
        "for 'Gt', 'Lt' operators, exactly one value is required",
    )
    assert await kueue.admitted() == ["beside", "next"]

    await kueue.restart()
    await kueue.create(workload("later"))
    assert await kueue.admitted() == ["beside", "later", "next"]


@pytest.mark.rule("kueue 5.7")
@pytest.mark.parametrize("strategy", ["BestEffortFIFO", "StrictFIFO"])
async def test_one_that_nobody_can_decide_about_stops_at_most_its_own_queue(
    fleet: Fleet, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    normal = nomination.attempt

    def attempt(state: State, workload: Workload, **said: Any) -> Any:
        if workload.key.name == "bad":
            raise KeyError("nobody thought of this")
        return normal(state, workload, **said)

    monkeypatch.setattr(nomination, "attempt", attempt)
    kueue = await with_labels(fleet, queueingStrategy=strategy)
    bad = workload("bad", priority=1)
    await kueue.create(bad, workload("next"), workload("beside", queue="other"))

    told = await kueue.conditions("bad")
    assert told["QuotaReserved"] == (
        "False",
        "PendingEvaluation",
        "The workload could not be evaluated: KeyError: 'nobody thought of this'",
    )
    assert "beside" in await kueue.admitted()
    assert ("next" in await kueue.admitted()) is (strategy == "BestEffortFIFO")

    monkeypatch.setattr(nomination, "attempt", normal)
    changed = {"spec": {"preemption": {"withinClusterQueue": "LowerPriority"}}}
    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", changed)
    assert await kueue.admitted() == ["bad", "beside", "next"]


@pytest.mark.rule("kueue 5.7")
async def test_a_decision_that_cannot_be_carried_out_stops_nobody_else(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    kueue = await with_labels(fleet)
    assert kueue.admission is not None
    ledger, normal = kueue.admission.ledger, kueue.admission.ledger.read

    def read(obj: Any) -> Workload:
        if obj["metadata"]["name"] == "bad" and ledger.pending["queue"].is_trying(BAD):
            raise ValueError("it changed")
        return normal(obj)

    monkeypatch.setattr(ledger, "read", read)
    await kueue.create(workload("bad", "9"), workload("next"), workload("beside", queue="other"))
    assert await kueue.admitted() == ["beside", "next"]

    monkeypatch.undo()
    await kueue.patch(kinds.WORKLOAD, "bad", {"metadata": {"labels": {"a": "b"}}})
    assert (await kueue.conditions("bad"))["QuotaReserved"][1] == "ExceedsMaxQuota"


@pytest.mark.rule("kueue 5.2")
async def test_what_cannot_be_checked_is_told(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    kueue = await with_labels(fleet)
    assert kueue.admission is not None

    def problem(_: Workload) -> None:
        raise TypeError("no such thing")

    monkeypatch.setattr(kueue.admission.scheduler, "_problem", problem)
    await kueue.create(workload("one"))
    told = await kueue.conditions("one")
    assert told["QuotaReserved"][1:] == (
        "PendingEvaluation",
        "The workload could not be evaluated: TypeError: no such thing",
    )
    monkeypatch.undo()
    await kueue.create(workload("two"))
    assert await kueue.admitted() == ["two"]


@pytest.mark.rule("kueue 6.7", "kueue 5.3")
async def test_none_of_a_covered_resource_has_a_flavor(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue())
    sets = [pod_set(count=2, **{"cpu": "0", "example.com/gpu": "0"})]
    await kueue.create(workload("idle", sets=sets))
    found = await kueue.workload("idle")
    assert found["status"]["admission"]["podSetAssignments"] == [
        {
            "name": "main",
            "count": 2,
            "flavors": {"cpu": "default"},
            "resourceUsage": {"cpu": "0"},
        }
    ]
    [used] = (await kueue.queue())["status"]["flavorsReservation"]
    assert used["resources"] == [{"name": "cpu", "total": "0", "borrowed": "0"}]
