"""Input that makes no sense, told once for every door: it is refused or says what is wrong with it,
and another queue goes on admitting.
"""

from collections.abc import Callable
from typing import Any

from live.queues import cluster_queue, named, offer
from support.kueue_doors import Door
from support.kueue_stories import Story, finishes, is_suspended, job, starts, waits

Object = dict[str, Any]


def with_another(door: Door) -> Callable[[], None]:
    """Another queue; call what is returned to see that it is not disturbed."""
    queue = offer(door, "fine", "1")

    def is_undisturbed() -> None:
        door.create(job("undisturbed", queue))
        starts(door, "undisturbed")
        assert active(door, "ClusterQueue", f"{door.namespace}-fine")[0] == "True"
        finishes(door, "undisturbed")

    return is_undisturbed


def active(door: Door, kind: str, name: str) -> tuple[str, str, str]:
    conditions = (door.get(kind, name).get("status") or {}).get("conditions") or ()
    found = [each for each in conditions if each["type"] == "Active"]
    return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else ("", "", "")


def cohorts_in_a_cycle(door: Door) -> None:
    is_undisturbed = with_another(door)
    a, b = f"{door.namespace}-a", f"{door.namespace}-b"
    door.create(named("Cohort", a, parentName=b))
    door.create(named("Cohort", b, parentName=a))
    queue = offer(door, "looped", "1", cohortName=a)
    door.create(job("stuck", queue))
    message = waits(door, "stuck", "QuotaReserved", "Suspended")
    assert message == f"ClusterQueue {door.namespace}-looped is inactive"
    is_undisturbed()
    assert is_suspended(door, "stuck")
    door.patch("Cohort", b, {"spec": {"parentName": None}})
    starts(door, "stuck")


def a_flavor_that_is_missing(door: Door) -> None:
    is_undisturbed = with_another(door)
    name, flavor = f"{door.namespace}-poor", f"{door.namespace}-missing"
    made = cluster_queue(name, "1")
    made["spec"]["resourceGroups"][0]["flavors"][0]["name"] = flavor
    door.create(made)
    door.create(named("LocalQueue", "poor", clusterQueue=name))
    door.create(job("stuck", "poor"))
    door.until("it says so", lambda: active(door, "ClusterQueue", name) == (
        "False", "FlavorNotFound",
        f"Can't admit new workloads: references missing ResourceFlavor(s): {flavor}.",
    ))  # fmt: skip
    is_undisturbed()
    assert is_suspended(door, "stuck")
    door.create(named("ResourceFlavor", flavor))
    starts(door, "stuck")


def a_local_queue_to_nowhere(door: Door) -> None:
    is_undisturbed = with_another(door)
    nowhere = f"{door.namespace}-nowhere"
    door.create(named("LocalQueue", "lost", clusterQueue=nowhere))
    door.create(job("stuck", "lost"))
    door.until(
        "it says so",
        lambda: active(door, "LocalQueue", "lost")[:2] == ("False", "ClusterQueueDoesNotExist"),
    )
    message = waits(door, "stuck", "QuotaReserved", "Misconfigured")
    assert message == f"ClusterQueue {nowhere} doesn't exist"
    is_undisturbed()
    assert is_suspended(door, "stuck")
    door.create(cluster_queue(nowhere, "1"))
    starts(door, "stuck")


def quota_below_zero(door: Door) -> None:
    is_undisturbed = with_another(door)
    queue = f"{door.namespace}-fine"
    patch = cluster_queue(queue, "-1")["spec"]
    for method, path, kind in (
        ("POST", door.path("ClusterQueue"), ""),
        ("PATCH", door.path("ClusterQueue", queue), "application/merge-patch+json"),
    ):
        body = cluster_queue(f"{queue}-2", "-1") if method == "POST" else {"spec": patch}
        status, answer = door.send(method, path, body, kind)
        assert (status, answer["message"]) == (
            403,
            'admission webhook "vclusterqueue.kb.io" denied the request: '
            "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Invalid value: "
            '"-1": must be greater than or equal to 0',
        )
    is_undisturbed()


def pods_of_many_kinds(door: Door) -> None:
    """Nine pod sets are fine; nineteen are too many for a Workload."""
    is_undisturbed = with_another(door)
    queue = offer(door, "many", "1")
    for name, count in (("nine", 9), ("nineteen", 19)):
        for number in range(count):
            door.create(member(queue, name, number, count))
    door.until("nine may run", lambda: not gated(door, "nine-0"))
    sets = door.get("Workload", "nine")["spec"]["podSets"]
    assert len(sets) == 9
    door.until(
        "it says so",
        lambda: "pod group can't include more than 18 roles" in events(door, "nineteen"),
    )
    is_undisturbed()
    assert gated(door, "nineteen-0")


def member(queue: str, group: str, number: int, total: int) -> Object:
    """Each pod of the group asks for something else."""
    requests = {"requests": {"cpu": f"{number + 1}m"}}
    container = {"name": "c", "image": "i", "resources": requests}
    labels = {"kueue.x-k8s.io/queue-name": queue, "kueue.x-k8s.io/pod-group-name": group}
    notes = {"kueue.x-k8s.io/pod-group-total-count": str(total)}
    metadata = {"name": f"{group}-{number}", "labels": labels, "annotations": notes}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def gated(door: Door, pod: str) -> bool:
    return bool(door.get("Pod", pod)["spec"].get("schedulingGates"))


def events(door: Door, prefix: str) -> str:
    about = [
        each for each in door.all("Event") if each["involvedObject"]["name"].startswith(prefix)
    ]
    return "\n".join(str(each.get("message")) for each in about)


BAD_INPUT: dict[Story, tuple[str, ...]] = {
    cohorts_in_a_cycle: ("kueue 1.3", "kueue 4.6"),
    a_flavor_that_is_missing: ("kueue 4.6",),
    a_local_queue_to_nowhere: ("kueue 4.7", "kueue 1.2"),
    quota_below_zero: ("kueue 1.1",),
    pods_of_many_kinds: ("kueue 1.5", "jobs A.12"),
}
"""Each with the rules that it shows."""
