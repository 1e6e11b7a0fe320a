"""What capacity is asked for."""

from typing import Any

import pytest

from fleetqueue.jobs.infos import PodSetInfo
from fleetqueue.provisioning import requests

pytestmark = pytest.mark.rule("kueue 12.2")

Json = dict[str, Any]


def pod_set(name: str, resources: Json, count: int = 1, **spec: Any) -> Json:
    containers = [{"name": "c", "resources": resources}]
    return {"name": name, "count": count, "template": {"spec": {"containers": containers, **spec}}}


def workload(*sets: Json, **assigned: int) -> Json:
    """`assigned`: counts that are not those of the spec."""
    counts = {each["name"]: each["count"] for each in sets} | assigned
    assignments = [{"name": name, "count": count} for name, count in counts.items()]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "team", "uid": "1"},
        "spec": {"podSets": list(sets)},
        "status": {"admission": {"clusterQueue": "q", "podSetAssignments": assignments}},
    }


REQUESTS = {"requests": {"cpu": "1"}}
LIMITS = {"limits": {"cpu": "1"}}
BOTH = {**REQUESTS, **LIMITS}

# fmt: off
MERGING = {  #                       first     second    templates      needs
    "equal":                         (REQUESTS, REQUESTS, ["a"],         ["a"]),
    "one is limited, too":           (REQUESTS, BOTH,     ["a", "b"],    ["a"]),
    "equal once requests are there": (LIMITS,   BOTH,     ["a", "b"],    ["a", "b"]),
}
# fmt: on


@pytest.mark.parametrize(
    ("first", "second", "templates", "needs"), MERGING.values(), ids=MERGING.keys()
)
def test_pod_sets_are_compared_as_the_workload_has_them(
    first: Json, second: Json, templates: list[str], needs: list[str]
) -> None:
    made = workload(pod_set("a", first), pod_set("b", second))

    def entries(policy: str) -> list[str]:
        return [
            each.name for each in requests.needed(made, {"spec": {"podSetMergePolicy": policy}})
        ]

    assert entries("IdenticalPodTemplates") == templates
    assert entries("IdenticalWorkloadSchedulingRequirements") == needs


def test_the_assigned_count_is_asked_for_where_there_are_pods_at_all() -> None:
    made = workload(pod_set("a", REQUESTS, 4), pod_set("b", {}, 0), pod_set("c", {}), a=2, c=0)
    assert [(each.name, each.count) for each in requests.needed(made, {})] == [("a", 2)]


def test_the_first_of_those_that_share_an_entry_gives_the_template() -> None:
    made = workload(pod_set("a", LIMITS, 2), pod_set("b", LIMITS, 3))
    config = {"spec": {"podSetMergePolicy": "IdenticalPodTemplates"}}
    infos = {name: PodSetInfo(name, node_selector={"on": name}) for name in ("a", "b")}

    [needed] = requests.needed(made, config)
    [template] = requests.templates_for(made, "w-prov-1", [needed], infos)

    assert (needed.count, needed.members) == (5, ("a", "b"))
    assert template["metadata"]["name"] == "ppt-w-prov-1-a"
    assert template["template"]["spec"]["nodeSelector"] == {"on": "a"}
    assert template["template"]["spec"]["containers"][0]["resources"] == BOTH


def test_what_an_attempt_makes_is_known_by_name() -> None:
    made = workload(pod_set("a", {}), pod_set("b", {}))
    assert requests.names_for(made, {"name": "prov", "retryCount": 1}) == {
        "w-prov-2",
        "ppt-w-prov-2-a",
        "ppt-w-prov-2-b",
    }
