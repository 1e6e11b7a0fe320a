"""A Deployment whose pods are sent one by one, made smaller and deleted: it shows its pods as if
they ran here.
"""

from typing import Any

import pytest
from tests.support import golden
from tests.support import golden_dispatch as dispatch
from tests.support.golden import Either, Maybe
from tests.support.golden_dispatch import GONE
from tests.support.golden_dispatch_pods import SHOWS_RUNNING, SUCCEEDED, SentPod

from fleetqueue.runtime.controllers import deployment, replica_set
from fleetqueue.runtime.kinds import DEPLOYMENT, POD, REPLICA_SET
from fleetqueue.testing import Fleet, named

pytestmark = [
    pytest.mark.rule("DEP-1"),
    pytest.mark.rule("DEP-2"),
    pytest.mark.rule("FLOW-60"),
    pytest.mark.rule("FLOW-61"),
]

ORPHAN = {"Finished": "True OwnerNotFound @1: The workload's owner no longer exists"}
DELETED = {"deletionTimestamp": "<t>", "generation": 2, "deletionGracePeriodSeconds": 0}
OVER = [
    # Whether the workload is found to be an orphan before it is deleted is a matter of time: the
    # garbage collector here takes none.
    Either([ORPHAN, golden.LET_GO, GONE], [DELETED, GONE])
]
COUNTED = "availableReplicas"


def sent(pod: str, replicas: str) -> SentPod:
    template_hash = replicas.removeprefix("web-")
    return SentPod(
        pod,
        "mk7",
        shown=f"{replicas}-*",
        restart="Always",
        facts={
            "labels.app": "web",
            "labels.pod-template-hash": template_hash,
            "annotations.kueue.x-k8s.io/pod-suspending-parent": "deployment",
        },
        owner={f"owner ReplicaSet {replicas}": True},
        seconds=1,
    )


def recorded(replicas: str, pods: list[str]) -> dict[str, golden.Recording]:
    """`replicas`: the name of the ReplicaSet."""
    both = [sent(pod, replicas) for pod in pods]
    return {
        "manager": golden.Recording(
            stories={
                "Deployment web": of_deployment(replicas),
                f"ReplicaSet {replicas}": of_replica_set(replicas),
                f"Pod {replicas}-*": [*both[0].pod(), SHOWS_RUNNING, DELETED, GONE],
                **{
                    f"Workload {each.workload}": [
                        each.made(),
                        *each.queued(),
                        *each.claimed("worker1"),
                        *OVER,
                    ]
                    for each in both
                },
            },
            ready={f"Workload {each.workload}": dispatch.READY for each in both},
            tracks={"Deployment web readyReplicas": [Maybe(1), 2, 1]},
            events=[
                *(event for each in both for event in each.queued_events()),
                *(event for each in both for event in each.claimed_events("worker1")),
                *of_sizes(replicas),
            ],
        ),
        "worker1": golden.Recording(
            stories={
                **{
                    f"Workload {each.workload}": [*each.runs(), Maybe(ORPHAN), GONE]
                    for each in both
                },
                **{
                    f"Pod {each.name}": [
                        *each.mirror(),
                        {**DELETED, "deletionGracePeriodSeconds": 1, "generation": 3},
                        Maybe(SUCCEEDED),
                        {"deletionGracePeriodSeconds": 0},
                        GONE,
                    ]
                    for each in both
                },
            },
            ready={f"Workload {each.workload}": dispatch.READY for each in both},
            events=[event for each in both for event in each.run_events()],
        ),
        "worker2": golden.Recording(
            stories={f"Workload {each.workload}": each.lost() for each in both},
            chance=[event for each in both for event in each.lost_events()],
        ),
    }


# The Deployment and its ReplicaSet, as Kubernetes has them


def template(where: str) -> dict[str, Any]:
    pod = f"{where}.spec"
    return {
        f"{where}.metadata.labels.app": "web",
        f"{where}.metadata.labels.kueue.x-k8s.io/managed": "true",
        f"{where}.metadata.labels.kueue.x-k8s.io/queue-name": "user-queue",
        f"{where}.metadata.annotations.kueue.x-k8s.io/pod-suspending-parent": "deployment",
        f"{pod}.containers[c].image": "busybox",
        f"{pod}.containers[c].imagePullPolicy": "Always",
        f"{pod}.containers[c].resources.requests.cpu": "1",
        f"{pod}.restartPolicy": "Always",
        f"{pod}.terminationGracePeriodSeconds": 1,
    }


def of_deployment(replicas: str) -> list[golden.Told]:
    revision = {"annotations.deployment.kubernetes.io/revision": "1"}
    made = {
        "Progressing": f'True NewReplicaSetCreated: Created new replica set "{replicas}"',
    }
    waits = {
        "Available": "False MinimumReplicasUnavailable: "
        "Deployment does not have minimum availability.",
        "observedGeneration": 1,
        "unavailableReplicas": 2,
    }
    return [
        {
            "generation": 1,
            f"labels.{golden.QUEUE_NAME}": "user-queue",
            "spec.progressDeadlineSeconds": 600,
            "spec.replicas": 2,
            "spec.revisionHistoryLimit": 10,
            "spec.selector.matchLabels.app": "web",
            "spec.strategy.rollingUpdate.maxSurge": "25%",
            "spec.strategy.rollingUpdate.maxUnavailable": "25%",
            "spec.strategy.type": "RollingUpdate",
            **template("spec.template"),
        },
        Either([revision | made, waits], [revision, made | waits]),
        {
            "Progressing": f'True ReplicaSetUpdated: ReplicaSet "{replicas}" is progressing.',
            "replicas": 2,
            "updatedReplicas": 2,
        },
        Maybe({COUNTED: 1, "unavailableReplicas": 1}),
        {
            "Available": "True MinimumReplicasAvailable: Deployment has minimum availability.",
            "Progressing": f'True NewReplicaSetAvailable: ReplicaSet "{replicas}" '
            "has successfully progressed.",
            COUNTED: 2,
            "unavailableReplicas": None,
        },
        {"generation": 2, "spec.replicas": 1},
        {"observedGeneration": 2},
        {COUNTED: 1, "replicas": 1, "updatedReplicas": 1},
        GONE,
    ]


def of_replica_set(name: str) -> list[golden.Told]:
    template_hash, notes = name.removeprefix("web-"), "annotations.deployment.kubernetes.io"
    hashed = "labels.pod-template-hash"
    return [
        {
            "generation": 1,
            "labels.app": "web",
            "labels.kueue.x-k8s.io/managed": "true",
            "labels.kueue.x-k8s.io/queue-name": "user-queue",
            hashed: template_hash,
            f"{notes}/desired-replicas": "2",
            f"{notes}/max-replicas": "3",
            f"{notes}/revision": "1",
            "owner Deployment web": True,
            "replicas": 0,
            "spec.replicas": 2,
            "spec.selector.matchLabels.app": "web",
            "spec.selector.matchLabels.pod-template-hash": template_hash,
            **template("spec.template"),
            f"spec.template.metadata.{hashed}": template_hash,
        },
        {"observedGeneration": 1},
        {"fullyLabeledReplicas": 2, "replicas": 2},
        Maybe({COUNTED: 1}),
        {COUNTED: 2},
        {
            "generation": 2,
            "spec.replicas": 1,
            f"{notes}/desired-replicas": "1",
            f"{notes}/max-replicas": "2",
        },
        {"observedGeneration": 2},
        {COUNTED: 1, "fullyLabeledReplicas": 1, "replicas": 1},
        GONE,
    ]


def of_sizes(name: str) -> list[golden.Event]:
    scaled = ("Deployment web", "Normal", "ScalingReplicaSet")
    by, of = "deployment-controller", (f"ReplicaSet {name}", "Normal")
    return [
        (*scaled, f"Scaled up replica set {name} from 0 to 2", by, ""),
        (*scaled, f"Scaled down replica set {name} from 2 to 1", by, ""),
        (*of, "SuccessfulCreate", f"Created pod: {name}-*", "replicaset-controller", ""),
        (*of, "SuccessfulDelete", f"Deleted pod: {name}-*", "replicaset-controller", ""),
    ]


async def test_a_deployment_runs_elsewhere_and_shows_it_here(fleet: Fleet) -> None:
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    pod = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": pod}
    labels = {golden.QUEUE_NAME: "user-queue"}
    async with await dispatch.start(
        fleet,
        "mk7",
        frameworks=("batch/job", "pod", "deployment"),
        operators=(deployment.OPERATOR, replica_set.OPERATOR),
        seen=(DEPLOYMENT, REPLICA_SET),
    ) as world:
        here = world.manager
        await here.create(named("Deployment", "apps/v1", "web", "mk7", labels=labels, spec=spec))
        await world.passes(seconds=2)
        [replicas], pods = await here.names(REPLICA_SET), await here.names(POD)
        await here.patch(DEPLOYMENT, "web", {"spec": {"replicas": 1}})
        await world.passes(seconds=5)
        await here.delete(DEPLOYMENT, "web")
        await world.passes(seconds=5)

    dispatch.compare(world, recorded(replicas, pods))
