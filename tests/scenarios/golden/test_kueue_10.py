"""A plain Pod, and a group of three whose last one comes late: gates, finalizers, workloads."""

from typing import Any

import pytest
from tests.support import golden, whole
from tests.support.golden import Maybe
from tests.support.kueue import cluster_queue, flavor, local_queue

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.stages import RUN_SECONDS
from fleetqueue.testing import Fleet, pod

pytestmark = [pytest.mark.rule("kueue 2.3"), pytest.mark.rule("jobs A.12")]

ROLE = "4b0469f7"
"""The hash of a pod's shape; that of all pods here."""
GROUP, TOTAL = "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"
GATES = ("admission", "topology")
IN_GROUP = {f"labels.{GROUP}": "grp", f"annotations.{TOTAL}": "3"}


def pod_story(workload: str, pod_set: str, **facts: Any) -> list[golden.Told]:
    gates = {f"spec.schedulingGates[kueue.x-k8s.io/{gate}]": {} for gate in GATES}
    made = {
        "PodScheduled": "False SchedulingGated: "
        "Scheduling is blocked due to non-empty scheduling gates",
        "annotations.kueue.x-k8s.io/role-hash": ROLE,
        "finalizers": ["kueue.x-k8s.io/managed"],
        "generation": 1,
        "labels.kueue.x-k8s.io/managed": "true",
        f"labels.{golden.QUEUE_NAME}": "user-queue",
        "phase": "Pending",
        **gates,
        **facts,
    }
    ungated = {
        "annotations.kueue.x-k8s.io/workload": workload,
        "generation": 2,
        "labels.kueue.x-k8s.io/cluster-queue-name": "b10-cq",
        "labels.kueue.x-k8s.io/local-queue-name": "user-queue",
        "labels.kueue.x-k8s.io/podset": pod_set,
        **dict.fromkeys(gates),
    }
    return [made, ungated, *golden.RUNS, *golden.SUCCEEDS]


def workload_made(pod_set: str, count: int, **facts: Any) -> Object:
    main, spec = f"spec.podSets[{pod_set}]", f"spec.podSets[{pod_set}].template.spec"
    missing = [
        {
            "key": f"node.kubernetes.io/{key}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        }
        for key in ("not-ready", "unreachable")
    ]
    return {
        **golden.IN_USE,
        "generation": 1,
        "spec.active": True,
        f"{main}.count": count,
        f"{main}.template.metadata": {},
        f"{spec}.containers[c].image": "busybox",
        f"{spec}.containers[c].imagePullPolicy": "Always",
        f"{spec}.containers[c].resources.requests.cpu": "1",
        f"{spec}.enableServiceLinks": True,
        f"{spec}.preemptionPolicy": "PreemptLowerPriority",
        f"{spec}.priority": 0,
        f"{spec}.restartPolicy": "Never",
        **{f"{spec}.schedulingGates[kueue.x-k8s.io/{gate}]": {} for gate in GATES},
        f"{spec}.serviceAccount": "default",
        f"{spec}.serviceAccountName": "default",
        f"{spec}.terminationGracePeriodSeconds": 1,
        f"{spec}.tolerations": missing,
        f"{main}.topologyRequest.podIndexLabel": "kueue.x-k8s.io/pod-group-pod-index",
        "spec.priority": 0,
        "spec.queueName": "user-queue",
        **facts,
    }


def admitted(pod_set: str, count: int) -> Object:
    found = golden.admitted("b10-cq", str(count), count=count)
    return {key.replace("[main]", f"[{pod_set}]"): value for key, value in found.items()}


def on_pod(name: str, reason: str, message: str, type: str = "Normal") -> golden.Event:
    return f"Pod {name}", type, reason, message, "pod-kueue-controller", reason


def on_workload(name: str) -> list[golden.Event]:
    kept = "Quota reserved in ClusterQueue b10-cq, wait time since queued was <d>"
    since = "Admitted by ClusterQueue b10-cq, wait time since reservation was <d>"
    said = (("QuotaReserved", kept), ("Admitted", since))
    return [
        (f"Workload {name}", "Normal", reason, message, "kueue-admission", reason)
        for reason, message in said
    ]


def whole_life(first: str, workload: str) -> list[golden.Event]:
    return [
        on_pod(first, "CreatedWorkload", f"Created Workload: b10/{workload}"),
        on_pod(first, "FinishedWorkload", f"Workload 'b10/{workload}' is declared finished"),
        *on_workload(workload),
    ]


def started(name: str) -> list[golden.Event]:
    bound = f"Successfully assigned b10/{name} to <node>"
    return [
        on_pod(name, "Started", "Admitted by clusterQueue b10-cq"),
        (f"Pod {name}", "Normal", "Scheduled", bound, "default-scheduler", "Binding"),
    ]


NOTHING = "0 wait, 0 hold 0, 0 admitted 0"
COUNTS = [
    NOTHING,
    "0 wait, 1 hold 1, 1 admitted 1",
    Maybe(NOTHING),
    "0 wait, 1 hold 3, 1 admitted 3",
    Maybe("0 wait, 1 hold 2, 1 admitted 2"),
    NOTHING,
]
RECORDED = golden.Recording(
    stories={
        "ClusterQueue b10-cq": [golden.queue(), golden.admits()],
        "LocalQueue user-queue": [
            golden.local("b10-cq"),
            Maybe(golden.submits_not()),
            golden.submits(),
        ],
        "Pod single": pod_story("pod-single-*", "main"),
        **{f"Pod g-{number}": pod_story("grp", ROLE, **IN_GROUP) for number in (1, 2, 3)},
        "Workload pod-single-*": [
            workload_made(
                "main",
                1,
                **{"labels.kueue.x-k8s.io/job-uid": "<uid>", "owner Pod single": True},
            ),
            admitted("main", 1),
            {"Finished": "True Succeeded @1"},
            golden.LET_GO,
        ],
        "Workload grp": [
            workload_made(
                ROLE,
                3,
                **{"annotations.kueue.x-k8s.io/is-group-workload": "true"},
                **{f"owner Pod g-{number}": False for number in (1, 2, 3)},
            ),
            admitted(ROLE, 3),
            {f"reclaimablePods[{ROLE}].count": 1},
            {"Finished": "True Succeeded @1: Pods succeeded: 3/3."},
            golden.LET_GO,
        ],
    },
    counts={"ClusterQueue b10-cq": COUNTS, "LocalQueue user-queue": COUNTS},
    ready={
        "Workload pod-single-*": [golden.not_started(), golden.all_ready()],
        "Workload grp": [golden.not_started(), golden.all_ready()],
    },
    events=[
        *whole_life("single", "pod-single-*"),
        *whole_life("g-1", "grp"),
        *(event for name in ("single", "g-1", "g-2", "g-3") for event in started(name)),
        on_pod(
            "g-1",
            "ErrWorkloadCompose",
            "'grp' group has fewer runnable pods than expected",
            "Warning",
        ),
    ],
)


def a_pod(name: str, runs: str, *, in_group: bool = False) -> Object:
    labels = {golden.QUEUE_NAME: "user-queue", **({GROUP: "grp"} if in_group else {})}
    notes = {RUN_SECONDS: runs, **({TOTAL: "3"} if in_group else {})}
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    spec = {
        "containers": [container],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
    }
    return pod(name, namespace="b10", labels=labels, annotations=notes, spec=spec)


async def test_pods_and_their_groups_are_admitted(fleet: Fleet) -> None:
    here = await whole.start(fleet, "b10", frameworks=("batch/job", "pod"))
    await here.create(flavor())
    async with here:
        await here.create(cluster_queue("b10-cq"), local_queue("user-queue", "b10-cq"))
        await here.create(a_pod("single", "2"))
        await here.passes(seconds=4)
        await here.create(a_pod("g-1", "3", in_group=True), a_pod("g-2", "4", in_group=True))
        await here.passes(seconds=2)
        await here.create(a_pod("g-3", "4", in_group=True))
        await here.passes(seconds=8)

    RECORDED.compare(here.seen)
