"""LeaderWorkerSet (leaderworkerset.x-k8s.io/v1): replicas of a leader and its workers."""

from fleetqueue.api.foreign.core import CONDITIONS, POD_TEMPLATE, VOLUME_CLAIM
from fleetqueue.api.foreign.definition import Version
from fleetqueue.api.foreign.schema import (
    enum,
    int32,
    int64,
    int_or_string,
    list_of,
    obj,
    string,
)
from fleetqueue.api.kinds import AGE, Column, Kind, Scale

RESTART_POLICIES = (
    "Default",
    "RecreateGroupOnPodRestart",
    "RecreateGroupAfterStart",
    "None",
)

TEMPLATE = obj(
    {
        "leaderTemplate": POD_TEMPLATE,
        "workerTemplate!": POD_TEMPLATE,
        "size": int32("Pods in a group, the leader included.", default=1),
        "restartPolicy": enum(*RESTART_POLICIES, default="RecreateGroupOnPodRestart"),
        "subGroupPolicy": obj(
            {
                "subGroupPolicyType": enum(
                    "LeaderWorker", "LeaderExcluded", default="LeaderWorker"
                ),
                "subGroupSize": int32("Pods in a subgroup; it must divide the group."),
            },
            "How a group is split over topology domains.",
        ),
        "volumeClaimTemplates": list_of(VOLUME_CLAIM, "Claims that each pod gets."),
        "persistentVolumeClaimRetentionPolicy": obj(
            {"whenDeleted": string(), "whenScaled": string()},
            "What becomes of the claims when groups go.",
        ),
    },
    "What a group is made of.",
)

ROLLOUT = obj(
    {
        "type!": enum("RollingUpdate", default="RollingUpdate"),
        "rollingUpdateConfiguration": obj(
            {
                "partition": int32("Groups below this index are not updated.", default=0),
                "maxUnavailable": int_or_string(default=1),
                "maxSurge": int_or_string(default=0),
            }
        ),
    },
    "How a new template reaches the groups.",
)

SPEC = obj(
    {
        "replicas": int32("How many groups.", default=1, minimum=0, maximum=1000000),
        "leaderWorkerTemplate!": TEMPLATE,
        "rolloutStrategy": ROLLOUT,
        "startupPolicy": enum(
            "LeaderCreated",
            "LeaderReady",
            about="What the workers of a group wait for.",
            default="LeaderCreated",
        ),
        "networkConfig": obj({"subdomainPolicy!": enum("Shared", "UniquePerReplica")}),
    }
)

STATUS = obj(
    {
        "conditions": CONDITIONS,
        "replicas": int32(),
        "readyReplicas": int32(),
        "updatedReplicas": int32(),
        "hpaPodSelector": string("Selects the leaders, for an autoscaler."),
        "observedGeneration": int64(),
    }
)

LEADER_WORKER_SET = Version(
    kind=Kind(
        "leaderworkerset.x-k8s.io",
        "v1",
        "leaderworkersets",
        name="LeaderWorkerSet",
        short_names=("lws",),
        storage=True,
        scale=Scale(".spec.replicas", ".status.replicas", ".status.hpaPodSelector"),
        columns=(
            Column("Ready", ".status.readyReplicas", "integer"),
            Column("Desired", ".spec.replicas", "integer"),
            Column("Up-to-date", ".status.updatedReplicas", "integer"),
            AGE,
        ),
    ),
    about="Replicas of a group of pods: one leader and its workers.",
    spec=SPEC,
    status=STATUS,
)
