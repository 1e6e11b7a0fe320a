"""The addresses of the specification, the rights they take, and what a change concerns."""

from typing import Any

import pytest

from fleetqueue.admission.kinds import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE, WORKLOAD
from fleetqueue.api.meta import Key
from fleetqueue.dashboard.access import wishes_of
from fleetqueue.dashboard.assets import UI_ROUTES
from fleetqueue.dashboard.kinds import readable
from fleetqueue.dashboard.sight import Held, HeldMetadata
from fleetqueue.dashboard.topics import PAGES, Topic, woken
from fleetqueue.kube.resources import Resource

pytestmark = pytest.mark.rule("kueue 11.5")


def test_the_backend_has_the_routes_of_the_specification() -> None:
    assert {page.path for page in PAGES.values()} == {
        "/ws/namespaces",
        "/ws/workloads",
        "/ws/workloads/dashboard",
        "/ws/workload/{namespace}/{name}",
        "/ws/workload/{namespace}/{name}/events",
        "/ws/local-queues",
        "/ws/local-queue/{namespace}/{name}",
        "/ws/local-queue/{namespace}/{name}/workloads",
        "/ws/cluster-queues",
        "/ws/cluster-queue/{name}",
        "/ws/cohorts",
        "/ws/cohort/{name}",
        "/ws/resource-flavors",
        "/ws/resource-flavor/{name}",
    }


def test_the_page_has_the_routes_of_the_specification() -> None:
    assert set(UI_ROUTES) == {
        "/",
        "/workloads",
        "/workload/{namespace}/{name}",
        "/local-queues",
        "/local-queue/{namespace}/{name}",
        "/cluster-queues",
        "/cluster-queue/{name}",
        "/cohorts",
        "/cohort/{name}",
        "/resource-flavors",
        "/resource-flavor/{name}",
        "/login",
    }


@pytest.mark.parametrize("name", ["workload", "local-queues", "clusterqueue", "Cohort"])
def test_kinds_are_found_by_their_names(name: str) -> None:
    assert readable(name) is not None


@pytest.mark.parametrize("name", ["secret", "secrets", "configmaps", "pods", "nodes", ""])
def test_nothing_else_is_readable(name: str) -> None:
    assert readable(name) is None


def held(key: Key, **row: Any) -> Held:
    return Held(key, HeldMetadata("u", "1"), row, b"{}")


A = held(Key("team", "a"), queue="main", reservedIn="")
B = held(Key("team", "a"), queue="main", reservedIn="queue")
LOCAL = held(Key("team", "main"), clusterQueue="queue")
QUEUE = held(Key("", "queue"), cohort="lab", flavors=["spot"])
CHILD = held(Key("", "child"), parent="lab")
CASES: dict[str, tuple[Resource, Held | None, Held | None, set[Topic]]] = {
    "a workload comes": (
        WORKLOAD,
        None,
        A,
        {
            Topic("workloads"),
            Topic("workloads", "team"),
            Topic("dashboard"),
            Topic("workload", "team", "a"),
            Topic("workload", "team", "a", is_explained=True),
            Topic("local-queue-workloads", "team", "main"),
        },
    ),
    "a workload gives its quota back": (
        WORKLOAD,
        B,
        A,
        {
            Topic("workloads"),
            Topic("workloads", "team"),
            Topic("dashboard"),
            Topic("workload", "team", "a"),
            Topic("workload", "team", "a", is_explained=True),
            Topic("local-queue-workloads", "team", "main"),
            Topic("cluster-queue", "", "queue"),
        },
    ),
    "a local queue goes": (
        LOCAL_QUEUE,
        LOCAL,
        None,
        {
            Topic("namespaces"),
            Topic("local-queues"),
            Topic("local-queues", "team"),
            Topic("local-queue", "team", "main"),
            Topic("local-queue-workloads", "team", "main"),
            Topic("cluster-queue", "", "queue"),
            Topic("workloads"),
            Topic("workloads", "team"),
            Topic("dashboard"),
        },
    ),
    "a cluster queue comes": (
        CLUSTER_QUEUE,
        None,
        QUEUE,
        {
            Topic("cluster-queues"),
            Topic("cluster-queue", "", "queue"),
            Topic("dashboard"),
            Topic("cohorts"),
            Topic("cohort", "", "lab"),
            Topic("resource-flavors"),
            Topic("resource-flavor", "", "spot"),
        },
    ),
    "a cohort comes": (
        COHORT,
        None,
        CHILD,
        {
            Topic("cohorts"),
            Topic("cohort", "", "child"),
            Topic("cohort", "", "lab"),
            Topic("dashboard"),
        },
    ),
}


@pytest.mark.parametrize(("kind", "old", "new", "expected"), CASES.values(), ids=CASES.keys())
def test_a_change_wakes_what_it_concerns(
    kind: Resource, old: Held | None, new: Held | None, expected: set[Topic]
) -> None:
    assert set(woken(kind, old, new)) == expected


def test_rights_are_of_the_object_or_of_its_namespace() -> None:
    wanted = [each.review()["resourceAttributes"] for each in wishes_of(Topic("events", "ns", "a"))]
    assert wanted == [
        {
            "verb": "get",
            "group": "kueue.x-k8s.io",
            "resource": "workloads",
            "namespace": "ns",
            "name": "a",
        },
        {"verb": "list", "resource": "events", "namespace": "ns"},
    ]
    [right] = [each.review()["resourceAttributes"] for each in wishes_of(Topic("workloads"))]
    assert right == {"verb": "list", "group": "kueue.x-k8s.io", "resource": "workloads"}
