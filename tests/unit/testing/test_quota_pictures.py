"""Pictures of trees say what they look like."""

from datetime import timedelta

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.queueing.amounts import UNLIMITED
from fleetqueue.queueing.model import PreemptionRules, Quota
from fleetqueue.testing.quota_pictures import EPOCH, quota_tree, workload

PICTURE = """
    root            gpu=1  weight=2
      empty/        gpu=2
      mid
        a    cpu=4  borrow=2  lend=1  spot:gpu=unlimited  weight=0.5
        b    gpu=3  within=LowerPriority reclaim=Any while-borrowing=LowerPriority threshold=-5
    alone    gpu=9  usage-based
"""


def test_cohorts_have_something_below_or_a_slash() -> None:
    state = quota_tree(PICTURE).state
    assert set(state.cohorts) == {"root", "empty", "mid"}
    assert set(state.queues) == {"a", "b", "alone"}
    assert state.node("a").path == "/root/mid/a"
    assert state.node("alone").path == "/alone"
    assert state.cohorts["empty"].parent == "root"


def test_quotas_limits_weights_and_rules() -> None:
    state = quota_tree(PICTURE).state
    a, b = state.queues["a"], state.queues["b"]
    assert a.quotas == {
        ("default", "cpu"): Quota(4000, 2000, 1000),
        ("spot", "gpu"): Quota(UNLIMITED),
    }
    assert (a.weight, state.cohorts["root"].weight) == (0.5, 2.0)
    assert b.preemption == PreemptionRules("LowerPriority", "Any", "LowerPriority", -5)
    assert state.queues["alone"].is_usage_based
    assert set(state.flavors) == {"default", "spot"}


def test_workloads() -> None:
    about = "priority=3 boost=1 created=5 reserved=7 local=team uid=u job=j evicted"
    found = workload(f"w@a gpu=2 spot:cpu=1 {about}")
    assert found.usage() == {("default", "gpu"): 2, ("spot", "cpu"): 1000}
    assert (found.key, found.cluster_queue, found.local_queue) == (Key("default", "w"), "a", "team")
    assert (found.uid, found.job_uid, found.effective_priority) == ("u", "j", 4)
    assert found.ordered_at == found.created_at == EPOCH + timedelta(seconds=5)
    assert found.reserved_at == EPOCH + timedelta(seconds=7)
    assert found.is_evicted
    assert workload("w@a reserved=never").reserved_at is None
    assert workload("w@a", 3).reserved_at == EPOCH + timedelta(seconds=3)


def test_questions_and_answers() -> None:
    found = quota_tree("t\n  a cpu=2 reclaim=Any\n  b cpu=2").using("a=1").running("x@b cpu=3")
    assert found.ask("a=1") == "wait"
    assert found.ask("a:cpu=5") == "never"
    assert found.preempt("w@a cpu=1") == "x InCohortReclamation"
    assert found.preempt("w@b cpu=1") == "nobody"
    assert found.state.node("b").used(("default", "cpu")) == 3000


def test_an_amount_without_a_place_needs_a_tree_with_only_one() -> None:
    with pytest.raises(ValueError, match="too many values"):
        quota_tree("a cpu=1 gpu=1").ask("a=1")
