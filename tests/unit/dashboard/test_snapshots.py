"""Whole snapshots, made of objects that informers were given."""

from random import Random
from typing import Any

import pytest

from fleetqueue.admission.kinds import (
    CLUSTER_QUEUE,
    COHORT,
    LOCAL_QUEUE,
    RESOURCE_FLAVOR,
    WORKLOAD,
)
from fleetqueue.base import codec
from fleetqueue.dashboard import workload_views
from fleetqueue.dashboard.sight import VIEWS, Sight, hold
from fleetqueue.dashboard.snapshots import LONGEST_WAITING, Beside, snapshot
from fleetqueue.dashboard.topics import PAGES, Topic
from fleetqueue.kube import watch
from fleetqueue.kube.resources import Object, Resource
from support import kueue

pytestmark = pytest.mark.rule("kueue 11.5")
MARKUP = "<script>alert(1)</script>"


class Seen:
    """What a dashboard sees, told by the test."""

    def __init__(self) -> None:
        nobody: Any = None
        self.sight = Sight(nobody, Random(1))
        self._revision = 0
        for informer in self.sight.informers.values():
            informer.handle(watch.InitBegin())
            informer.handle(watch.InitDone("1"))

    def put(self, kind: Resource, obj: Object, **status: Any) -> None:
        self._revision += 1
        metadata = {
            "creationTimestamp": f"2026-01-01T00:00:{self._revision % 60:02}Z",
            "uid": f"{kind}/{obj['metadata']['name']}",
            "resourceVersion": str(self._revision),
            **obj["metadata"],
        }
        made = {**obj, "metadata": metadata, "status": status}
        informer = self.sight.informers[kind]
        informer.handle(watch.Apply(hold(VIEWS[kind], made)))

    def told(self, page: str, namespace: str = "", name: str = "", **beside: Any) -> Any:
        return codec.decode(snapshot(self.sight, Topic(page, namespace, name), Beside(**beside)))


def reserved(queue: str) -> dict[str, Any]:
    condition = {
        "type": "QuotaReserved",
        "status": "True",
        "reason": "QuotaReserved",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    return {"conditions": [condition], "admission": {"clusterQueue": queue}}


@pytest.fixture
def seen() -> Seen:
    made = Seen()
    made.put(RESOURCE_FLAVOR, kueue.flavor())
    made.put(COHORT, kueue.cohort("lab", parent="root"))
    made.put(CLUSTER_QUEUE, kueue.cluster_queue("queue", cohortName="lab"))
    made.put(CLUSTER_QUEUE, kueue.cluster_queue("other", cohortName="unwritten"))
    made.put(LOCAL_QUEUE, kueue.local_queue("main", "queue"))
    made.put(WORKLOAD, kueue.workload("waits"))
    made.put(WORKLOAD, kueue.workload("holds"), **reserved("queue"))
    return made


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [row["name"] for row in rows]


def test_every_page_has_a_snapshot(seen: Seen) -> None:
    for page in PAGES:
        assert isinstance(seen.told(page, "default", "main"), dict)


def test_lists(seen: Seen) -> None:
    assert seen.told("namespaces") == {"namespaces": ["default"]}
    assert names(seen.told("workloads")["items"]) == ["waits", "holds"]
    assert seen.told("workloads", "elsewhere") == {"items": []}
    assert names(seen.told("local-queues")["items"]) == ["main"]
    assert names(seen.told("cluster-queues")["items"]) == ["other", "queue"]
    assert names(seen.told("resource-flavors")["items"]) == ["default"]
    assert names(seen.told("local-queue-workloads", "default", "main")["items"]) == [
        "waits",
        "holds",
    ]


def test_a_workload_that_waits_is_shown_with_the_queue_that_it_waits_for(seen: Seen) -> None:
    rows = {row["name"]: row for row in seen.told("workloads")["items"]}
    assert (rows["waits"]["reservedIn"], rows["waits"]["clusterQueue"]) == ("", "queue")
    assert (rows["holds"]["reservedIn"], rows["holds"]["clusterQueue"]) == ("queue", "queue")

    seen.put(LOCAL_QUEUE, kueue.local_queue("main", "other"))

    rows = {row["name"]: row for row in seen.told("workloads")["items"]}
    assert (rows["waits"]["clusterQueue"], rows["holds"]["clusterQueue"]) == ("other", "queue")


def test_the_overview_counts_and_names_who_waits_the_longest(seen: Seen) -> None:
    told = seen.told("dashboard")
    assert told["counts"] == {
        "workloads": {"PENDING": 1, "QUOTARESERVED": 1, "ADMITTED": 0, "FINISHED": 0},
        "localQueues": 1,
        "clusterQueues": 2,
        "cohorts": 3,
        "resourceFlavors": 1,
    }
    assert names(told["clusterQueues"]) == ["other", "queue"]
    assert names(told["waiting"]) == ["waits"]

    seen.put(WORKLOAD, kueue.workload("waits"), **reserved("queue"))
    assert seen.told("dashboard")["counts"]["workloads"]["QUOTARESERVED"] == 2
    assert seen.told("dashboard")["waiting"] == []


def test_the_overview_stays_short(seen: Seen) -> None:
    for number in range(LONGEST_WAITING + 5):
        seen.put(WORKLOAD, kueue.workload(f"many-{number}"))
    told = seen.told("dashboard")
    assert len(told["waiting"]) == LONGEST_WAITING
    assert told["counts"]["workloads"]["PENDING"] == LONGEST_WAITING + 6


def test_a_workload_has_all_of_itself_its_preemption_and_why_it_waits(seen: Seen) -> None:
    told = seen.told("workload", "default", "waits", explanation={"decision": "Wait"})
    assert told["workload"]["spec"]["queueName"] == "main"
    assert told["row"]["clusterQueue"] == "queue"
    assert told["preemption"]["isPreempted"] is False
    assert told["explanation"] == {"decision": "Wait"}


def test_details_have_what_belongs_to_them(seen: Seen) -> None:
    queue = seen.told("cluster-queue", "", "queue")
    assert queue["clusterQueue"]["spec"]["cohortName"] == "lab"
    assert (names(queue["localQueues"]), names(queue["workloads"])) == (["main"], ["holds"])
    local = seen.told("local-queue", "default", "main")
    assert local["localQueue"]["spec"] == {"clusterQueue": "queue"}
    flavor = seen.told("resource-flavor", "", "default")
    assert names(flavor["clusterQueues"]) == ["other", "queue"]
    assert flavor["row"]["clusterQueues"] == ["other", "queue"]


def test_cohorts_are_there_when_something_names_them(seen: Seen) -> None:
    rows = {row["name"]: row for row in seen.told("cohorts")["items"]}
    assert {name: row["exists"] for name, row in rows.items()} == {
        "lab": True,
        "root": False,
        "unwritten": False,
    }
    assert (rows["lab"]["parent"], rows["root"]["children"]) == ("root", ["lab"])
    assert rows["unwritten"]["clusterQueues"] == ["other"]
    root = seen.told("cohort", "", "root")
    assert (root["cohort"], names(root["children"])) == (None, ["lab"])
    assert names(seen.told("cohort", "", "lab")["clusterQueues"]) == ["queue"]


@pytest.mark.parametrize(
    ("page", "namespace", "text"),
    [
        ("workload", "default", 'there is no Workload "default/none"'),
        ("local-queue", "default", 'there is no LocalQueue "default/none"'),
        ("cluster-queue", "", 'there is no ClusterQueue "none"'),
        ("cohort", "", 'there is no Cohort "none"'),
        ("resource-flavor", "", 'there is no ResourceFlavor "none"'),
    ],
)
def test_what_is_not_there_is_said(seen: Seen, page: str, namespace: str, text: str) -> None:
    assert seen.told(page, namespace, "none") == {"error": text}


def test_nothing_is_claimed_before_the_cluster_has_answered() -> None:
    nobody: Any = None
    found = codec.decode(snapshot(Sight(nobody, Random(1)), Topic("workloads")))
    assert found == {"error": "the cluster has not answered yet"}


def test_events_come_newest_first(seen: Seen) -> None:
    def event(name: str, at: str) -> Any:
        made = {"metadata": {"name": name, "uid": name}, "reason": name, "lastTimestamp": at}
        return hold(workload_views.event, made)

    events = [event("old", "2026-01-01T00:00:00Z"), event("new", "2026-01-01T00:05:00Z")]
    told = seen.told("events", "default", "waits", events=events, problem="events are forbidden")
    assert [each["reason"] for each in told["items"]] == ["new", "old"]
    assert told["problem"] == "events are forbidden"


def test_markup_stays_text(seen: Seen) -> None:
    made = kueue.workload("marked", queue="main")
    made["metadata"]["annotations"] = {"note": MARKUP}
    seen.put(WORKLOAD, made)
    told = seen.told("workload", "default", "marked")
    assert told["workload"]["metadata"]["annotations"]["note"] == MARKUP


def test_what_goes_is_forgotten(seen: Seen) -> None:
    gone = seen.sight.get(WORKLOAD, "waits", "default")
    assert gone is not None
    seen.sight.informers[WORKLOAD].handle(watch.Delete(gone))
    assert names(seen.told("workloads")["items"]) == ["holds"]
    assert seen.told("dashboard")["counts"]["workloads"]["PENDING"] == 0
    assert seen.sight.get(WORKLOAD, "waits", "default") is None
