"""How things stand is read off the ledger, in the units that people count in."""

from datetime import UTC, datetime
from math import inf, isnan
from typing import Any

import pytest

from fleetqueue.admission.gauges import Gauges, LocalFacts, Tallies
from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.metric_settings import MetricSettings
from fleetqueue.admission.queue_book import LocalQueue
from fleetqueue.api.meta import Key
from fleetqueue.queueing.reading import ReadingRules
from fleetqueue.queueing.settings import FairSharing, Settings, UsageSharing

pytestmark = pytest.mark.rule("kueue 11.2")
Json = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FAIR = FairSharing(("LessThanOrEqualToFinalShare",))
HOME = Key("team", "main")


class Told:
    """The gauges of a ledger."""

    def __init__(self, **settings: Any) -> None:
        self.ledger = Ledger(Settings(**settings), ReadingRules(), lambda: NOW)
        self.tallies = Tallies()
        wanted = MetricSettings(tells_quota=True)
        self._gauges = Gauges(self.ledger, self.tallies, wanted)

    def of(self, name: str) -> dict[tuple[str, ...], float]:
        found = [each for each in self._gauges.readings() if each[0] == name]
        made = {labels: value for _, labels, value in found}
        assert len(made) == len(found), "each series is told once"
        return made


def queue(name: str = "queue", *, cohort: str = "", weight: str = "1", **quotas: Json) -> Json:
    resources = [{"name": each, **quota} for each, quota in quotas.items()]
    flavors = [{"name": "default", "resources": resources}]
    group = {"coveredResources": list(quotas), "flavors": flavors}
    spec: Json = {"resourceGroups": [group], "fairSharing": {"weight": weight}}
    if cohort:
        spec["cohortName"] = cohort
    return {"metadata": {"name": name}, "spec": spec}


def holder(name: str, queue: str, cpu: str) -> Json:
    assigned = {
        "name": "main",
        "count": 1,
        "flavors": {"cpu": "default"},
        "resourceUsage": {"cpu": cpu},
    }
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    template = {"spec": {"containers": [container]}}
    at = "2026-01-01T00:00:00Z"
    return {
        "metadata": {"name": name, "namespace": "team", "uid": name, "creationTimestamp": at},
        "spec": {
            "queueName": "main",
            "podSets": [{"name": "main", "count": 1, "template": template}],
        },
        "status": {
            "admission": {"clusterQueue": queue, "podSetAssignments": [assigned]},
            "conditions": [
                {"type": "QuotaReserved", "status": "True", "reason": "x", "message": "",
                 "lastTransitionTime": at},
            ],
        },
    }  # fmt: skip


def test_amounts_are_in_base_units_and_no_limit_is_infinite() -> None:
    told = Told()
    cpu = {"nominalQuota": "1500m", "borrowingLimit": "500m", "lendingLimit": "1"}
    told.ledger.put_cluster_queue(queue(cpu=cpu, memory={"nominalQuota": "1Gi"}))
    told.ledger.put_workload(holder("w", "queue", "250m"))

    at = ("", "queue", "default")
    memory = float(2**30)
    nominal = told.of("cluster_queue_nominal_quota")
    assert nominal == {(*at, "cpu"): 1.5, (*at, "memory"): memory}
    borrowing = told.of("cluster_queue_borrowing_limit")
    assert borrowing == {(*at, "cpu"): 0.5, (*at, "memory"): inf}
    assert told.of("cluster_queue_lending_limit")[(*at, "cpu")] == 1
    reserved = told.of("cluster_queue_resource_reservation")
    assert reserved == {(*at, "cpu"): 0.25, (*at, "memory"): 0}
    # It holds quota, but is not admitted.
    assert told.of("cluster_queue_resource_usage")[(*at, "cpu")] == 0
    pending = told.of("cluster_queue_resource_pending")
    assert pending == {("queue", "cpu"): 0, ("queue", "memory"): 0}
    assert told.of("reserving_active_workloads") == {("queue",): 1}
    assert told.of("admitted_active_workloads") == {("queue",): 0}


@pytest.mark.rule("kueue 7.6")
def test_shares_are_told_with_fair_sharing_and_those_of_deleted_queues_stay() -> None:
    told = Told(fair_sharing=FAIR)
    half = {"nominalQuota": "2"}
    told.ledger.put_cluster_queue(queue("left", cohort="all", cpu=half))
    told.ledger.put_cluster_queue(queue("right", cohort="all", weight="0", cpu=half))
    told.ledger.put_workload(holder("w", "left", "3"))
    assert told.of("cluster_queue_weighted_share") == {("left", "all"): 250, ("right", "all"): 0}
    assert told.of("cohort_weighted_share") == {("all",): 0}

    told.ledger.remove_cluster_queue("left")
    assert told.of("cluster_queue_weighted_share")["left", "all"] == 250
    assert ("left",) not in told.of("reserving_active_workloads")


@pytest.mark.rule("kueue 7.6")
def test_the_share_of_a_borrower_without_weight_is_no_number() -> None:
    told = Told(fair_sharing=FAIR)
    half = {"nominalQuota": "2"}
    told.ledger.put_cluster_queue(queue("left", cohort="all", weight="0", cpu=half))
    told.ledger.put_cluster_queue(queue("right", cohort="all", cpu=half))
    told.ledger.put_workload(holder("w", "left", "3"))

    assert isnan(told.of("cluster_queue_weighted_share")["left", "all"])


def test_without_fair_sharing_there_are_no_shares() -> None:
    told = Told()
    told.ledger.put_cluster_queue(queue(cohort="all", cpu={"nominalQuota": "2"}))

    assert told.of("cluster_queue_weighted_share") == {}
    assert told.of("cohort_weighted_share") == {}


@pytest.mark.parametrize("settings", [{}, {"usage_sharing": UsageSharing()}])
@pytest.mark.rule("kueue 4.10")
def test_past_usage_is_told_where_it_counts(settings: Json) -> None:
    told = Told(**settings)
    told.ledger.put_local_queue(HOME, LocalQueue("queue"))
    told.tallies.locals[HOME] = LocalFacts()
    told.ledger.state.share_of[HOME] = 2.5

    usage = told.of("local_queue_admission_fair_sharing_usage")
    assert usage == ({("main", "team", "queue"): 2.5} if settings else {})


def test_a_queue_that_is_being_deleted_is_terminating() -> None:
    told = Told()
    going = queue(cpu={"nominalQuota": "2"})
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    told.ledger.put_cluster_queue(going)

    assert told.of("cluster_queue_status") == {
        ("queue", "pending"): 0,
        ("queue", "active"): 0,
        ("queue", "terminating"): 1,
    }


def test_cohorts_that_go_in_circles_do_no_harm() -> None:
    told = Told()
    for name, parent in (("one", "two"), ("two", "one")):
        told.ledger.put_cohort({"metadata": {"name": name}, "spec": {"parentName": parent}})
    told.ledger.put_cluster_queue(queue(cohort="one", cpu={"nominalQuota": "2"}))

    assert set(told.of("cohort_info")) == {("one", "", "one"), ("two", "", "two")}
