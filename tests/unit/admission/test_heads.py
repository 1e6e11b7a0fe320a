"""Which heads a cycle gets: all of few, and of many those of some trees, each tree in its turn."""

from datetime import UTC, datetime

import pytest
from tests.support.held import entries

from fleetqueue.admission.ledger import HEADS_MAX, Ledger
from fleetqueue.admission.queue_book import LocalQueue
from fleetqueue.api.meta import Key
from fleetqueue.queueing.queues import Requeue
from fleetqueue.queueing.reading import ReadingRules
from fleetqueue.queueing.settings import Settings, UsageSharing
from support.kueue import NAMESPACE, cluster_queue, flavor, workload

pytestmark = pytest.mark.rule("kueue 4.4")
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def ledger(cohorts: int, queues: int) -> Ledger:
    """One workload in each queue."""
    made = Ledger(Settings(), ReadingRules(), lambda: EPOCH)
    made.put_flavor(flavor())
    for cohort in range(cohorts):
        for number in range(queues):
            name = f"q-{cohort}-{number}"
            made.put_cluster_queue(cluster_queue(name, cohortName=f"c-{cohort}"))
            made.put_local_queue(Key(NAMESPACE, name), LocalQueue(name))
            obj = workload(f"w-{name}", queue=name)
            obj["metadata"] |= {"uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
            made.put_workload(obj)
    return made


def cohorts_of(found: Ledger) -> list[str]:
    heads = found.pop_heads()
    names = {head.cluster_queue.split("-")[1] for head in heads}
    counts = [sum(head.cluster_queue.split("-")[1] == name for head in heads) for name in names]
    assert len(set(counts)) <= 1, "a tree is taken whole"
    return sorted(names)


def test_few_heads_are_tried_together() -> None:
    found = ledger(cohorts=3, queues=4)
    heads = found.pop_heads()
    assert len(heads) == 12
    names = [head.cluster_queue for head in heads]
    assert names == sorted(names)
    assert found.pop_heads() == []


def test_many_heads_are_tried_tree_by_tree() -> None:
    found = ledger(cohorts=3, queues=HEADS_MAX - 10)
    assert [cohorts_of(found) for _ in range(3)] == [["0", "1"], ["2"], []]


def test_a_tree_that_always_has_heads_does_not_keep_others_from_their_turn() -> None:
    found = ledger(cohorts=3, queues=HEADS_MAX)
    tried = []
    for _ in range(6):
        heads = found.pop_heads()
        tried.append(heads[0].cluster_queue.split("-")[1])
        for head in heads:
            found.requeue(
                head.key,
                Requeue.FAILED_AFTER_NOMINATION,
                has_more_flavors=False,
                reason="WaitingForQuota",
                may_do_better=True,
            )
    assert tried == ["0", "1", "2", "0", "1", "2"]


def test_queues_that_went_leave_nothing_behind() -> None:
    found = Ledger(Settings(usage_sharing=UsageSharing()), ReadingRules(), lambda: EPOCH)
    found.put_flavor(flavor())
    assert found.usage is not None
    parts = (found, found._turns, found.usage)
    before = [entries(each) for each in parts]
    for name in ("one", "two"):
        local = Key(NAMESPACE, name)
        found.put_cluster_queue(cluster_queue(name))
        found.put_local_queue(local, LocalQueue(name))
        for number in range(2):
            obj = workload(f"w-{number}", queue=name)
            obj["metadata"] |= {"uid": str(number), "creationTimestamp": "2026-01-01T00:00:00Z"}
            found.put_workload(obj)
        [first] = found.pop_heads()
        found.assume(first)
        [second] = found.pop_heads()
        found.requeue(second.key, Requeue.FAILED_AFTER_NOMINATION)
        found.remove_local_queue(local)
        found.remove_cluster_queue(name)
        for number in range(2):
            found.remove_workload(Key(NAMESPACE, f"w-{number}"))
        found.due.clear()

    assert [entries(each) for each in parts] == before
    assert found.state.share_of == {}
