"""What the ledger read before is used again, and never where it would be wrong."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.queue_book import LocalQueue
from fleetqueue.api.meta import Key
from fleetqueue.queueing.reading import ReadingRules
from fleetqueue.queueing.settings import Settings
from fleetqueue.queueing.workload import Workload
from support.kueue import NAMESPACE, cluster_queue, pod_set, workload

pytestmark = pytest.mark.rule("kueue 6.7")


EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def ledger() -> Ledger:
    return Ledger(Settings(), ReadingRules(boosts_priority=True), lambda: EPOCH)


def stored(cpu: str = "1", status: Any = None, notes: Any = None, **spec: Any) -> dict[str, Any]:
    made = workload("w", cpu, **spec)
    made["metadata"] |= {"creationTimestamp": "2026-01-01T00:00:00Z", "annotations": notes or {}}
    return {**made, "status": status or {}}


def needs(found: Workload) -> dict[str, int]:
    return dict(found.pod_sets[0].requests)


def test_the_same_object_is_read_once() -> None:
    known, obj = ledger(), stored()
    assert known.read(obj) is known.read(obj)


def test_a_change_of_the_status_keeps_the_pod_sets() -> None:
    known = ledger()
    before = known.read(stored())
    after = known.read(stored(status={"requeueState": {"requeueAt": "2026-01-01T01:00:00Z"}}))
    assert after.pod_sets is before.pod_sets
    assert after.hash == before.hash
    assert (before.waits_until, after.waits_until) == (None, datetime(2026, 1, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    "changed",
    [
        stored("2"),
        stored(priority=7),
        stored(notes={"kueue.x-k8s.io/priority-boost": "7"}),
        stored(status={"reclaimablePods": [{"name": "main", "count": 1}]}),
    ],
    ids=["requests", "priority", "boost", "reclaimable pods"],
)
def test_what_decides_is_read_anew(changed: dict[str, Any]) -> None:
    known = ledger()
    before = known.read(stored())
    after = known.read(changed)
    fresh = ledger().read(changed)
    assert (after.hash, needs(after)) == (fresh.hash, needs(fresh))
    assert after.pod_sets[0].count == fresh.pod_sets[0].count
    assert after.hash != before.hash


@pytest.mark.rule("kueue 8.11")
def test_a_slice_of_an_elastic_job_is_not_like_others() -> None:
    other, each = (
        ledger().read(stored(notes=notes))
        for notes in ({}, {"kueue.x-k8s.io/workload-slice-name": "w"})
    )
    assert (other.is_slice, each.is_slice) == (False, True)
    assert other.hash != each.hash


def test_what_the_namespace_adds_is_read_anew() -> None:
    known = ledger()
    obj = workload("w", sets=[{"name": "main", "count": 1, "template": {"spec": BARE}}])
    obj["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    assert needs(known.read(obj)) == {}
    limits = [{"type": "Container", "defaultRequest": {"cpu": "3"}}]
    known.namespaces.put_limits(Key(NAMESPACE, "limits"), {"spec": {"limits": limits}})
    assert needs(known.read(obj)) == {"cpu": 3000}


@pytest.mark.rule("kueue 6.6")
@pytest.mark.parametrize(
    ("said", "count", "cpu"),
    [
        ({"count": 4, "resourceUsage": {"cpu": "4"}}, 4, 3000),
        ({"resourceUsage": {"cpu": "4"}}, 4, 3000),
        ({}, 4, 0),
    ],
    ids=["all is said", "no count", "neither count nor usage"],
)
def test_what_an_assignment_does_not_say(said: dict[str, Any], count: int, cpu: int) -> None:
    reserved = {
        "type": "QuotaReserved",
        "status": "True",
        "reason": "x",
        "message": "x",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    held = {"name": "main", "flavors": {"cpu": "default"}, **said}
    status = {
        "conditions": [reserved],
        "admission": {"clusterQueue": "queue", "podSetAssignments": [held]},
        "reclaimablePods": [{"name": "main", "count": 1}],
    }
    found = ledger().read(stored(status=status, sets=[pod_set(count=4, cpu="1")]))
    assert found.assignments[0].count == count
    assert found.usage().get(("default", "cpu"), 0) == cpu


BARE = {"containers": [{"name": "c", "image": "i"}]}


@pytest.mark.rule("kueue 9.10")
@pytest.mark.parametrize(
    ("is_on", "marks", "owner", "expected"),
    [
        (True, {}, None, (False, True)),
        (True, {}, "Workload", (True, False)),
        (False, {}, None, (True, False)),
        (False, {"kueue.x-k8s.io/concurrent-admission-parent": "true"}, None, (False, True)),
    ],
    ids=["to be marked", "a variant", "gate off", "marked"],
)
def test_a_workload_with_variants_is_never_queued(
    is_on: bool, marks: dict[str, str], owner: str | None, expected: tuple[bool, bool]
) -> None:
    known = Ledger(Settings(admits_concurrently=is_on), ReadingRules(), lambda: EPOCH)
    policy = {"migration": {"mode": "RetainFirstAdmission"}}
    known.put_cluster_queue(cluster_queue(concurrentAdmissionPolicy=policy))
    known.put_local_queue(Key(NAMESPACE, "main"), LocalQueue("queue"))
    obj = stored()
    obj["metadata"]["labels"] = marks
    if owner:
        told = {"kind": owner, "name": "p", "uid": "1", "controller": True}
        obj["metadata"]["ownerReferences"] = [told]
    known.put_workload(obj)
    assert (known.counts("queue").pending == 1, known.is_parent(obj)) == expected


@pytest.mark.rule("kueue 9.10")
def test_what_a_workload_with_variants_holds_is_not_counted() -> None:
    known = Ledger(Settings(admits_concurrently=True), ReadingRules(), lambda: EPOCH)
    known.put_cluster_queue(cluster_queue())
    told = {"type": "QuotaReserved", "status": "True", "reason": "x", "message": "x"}
    held = {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "1"}}
    status = {
        "conditions": [{**told, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "admission": {"clusterQueue": "queue", "podSetAssignments": [held]},
    }
    obj = stored(status=status)
    known.put_workload(obj)
    assert len(list(known.holders("queue"))) == 1
    obj["metadata"]["labels"] = {"kueue.x-k8s.io/concurrent-admission-parent": "true"}
    known.put_workload(obj)
    assert list(known.holders("queue")) == []
