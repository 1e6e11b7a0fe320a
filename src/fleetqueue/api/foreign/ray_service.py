"""RayService (ray.io/v1, v1alpha1): applications that a Ray cluster serves without interruption."""

from fleetqueue.api.foreign.core import CONDITIONS, SERVICE
from fleetqueue.api.foreign.definition import Version
from fleetqueue.api.foreign.ray_cluster import (
    CLUSTER_SPEC,
    CLUSTER_SPEC_ALPHA,
    CLUSTER_STATUS,
    CLUSTER_STATUS_ALPHA,
    MANAGED_BY,
    ray_kind,
    ray_kind_alpha,
)
from fleetqueue.api.foreign.schema import (
    Schema,
    boolean,
    int32,
    int64,
    map_of,
    obj,
    string,
    time,
)
from fleetqueue.api.kinds import Column

_SERVICE: Schema = {
    "serveConfigV2": string("The applications, in Ray's own YAML."),
    "serveService": SERVICE,
    "serviceUnhealthySecondThreshold": int32(),
    "deploymentUnhealthySecondThreshold": int32(),
}

UPGRADE_STRATEGY = obj(
    {
        "type": string("NewCluster, NewClusterWithIncrementalUpgrade or None."),
        "clusterUpgradeOptions": obj(
            {
                "gatewayClassName!": string(),
                "intervalSeconds!": int32(),
                "stepSizePercent!": int32("How much traffic moves at a time."),
                "maxSurgePercent": int32(default=100),
            }
        ),
    },
    "How a changed cluster replaces the running one.",
)

SPEC = obj(
    _SERVICE
    | {
        "rayClusterConfig!": CLUSTER_SPEC,
        "rayClusterDeletionDelaySeconds": int32(minimum=0),
        "excludeHeadPodFromServeSvc": boolean(),
        "upgradeStrategy": UPGRADE_STRATEGY,
        "suspend": boolean("Whether the cluster must not run now."),
        "managedBy": MANAGED_BY,
    }
)

SPEC_ALPHA = obj(_SERVICE | {"rayClusterConfig": CLUSTER_SPEC_ALPHA})


def _applications(seen: Schema) -> Schema:
    """The health of applications and of the deployments in them."""
    health: Schema = {"status": string(), "message": string()} | seen
    return map_of(obj(health | {"serveDeploymentStatuses": map_of(obj(health))}))


CLUSTER_HEALTH = obj(
    {
        "rayClusterName": string(),
        "rayClusterStatus": CLUSTER_STATUS,
        "applicationStatuses": _applications({}),
        "targetCapacity": int32(),
        "trafficRoutedPercent": int32(),
        "lastTrafficMigratedTime": time(),
    }
)

CLUSTER_HEALTH_ALPHA = obj(
    {
        "rayClusterName": string(),
        "rayClusterStatus": CLUSTER_STATUS_ALPHA,
        "applicationStatuses": _applications({"healthLastUpdateTime": time()}),
    }
)

_STATUS: Schema = {
    "serviceStatus": string(),
    "lastUpdateTime": time(),
    "observedGeneration": int64(),
}

STATUS = obj(
    _STATUS
    | {
        "conditions": CONDITIONS,
        "numServeEndpoints": int32(),
        "activeServiceStatus": CLUSTER_HEALTH,
        "pendingServiceStatus": CLUSTER_HEALTH,
    }
)

STATUS_ALPHA = obj(
    _STATUS
    | {
        "activeServiceStatus": CLUSTER_HEALTH_ALPHA,
        "pendingServiceStatus": CLUSTER_HEALTH_ALPHA,
    }
)

RAY_SERVICE = (
    Version(
        kind=ray_kind(
            "RayService",
            (
                Column("service status", ".status.serviceStatus"),
                Column("num serve endpoints", ".status.numServeEndpoints"),
            ),
        ),
        about="Applications served by a Ray cluster that is replaced without interruption.",
        spec=SPEC,
        status=STATUS,
    ),
    Version(
        kind=ray_kind_alpha("RayService"),
        about="Applications served by a Ray cluster, in the older version of its API.",
        spec=SPEC_ALPHA,
        status=STATUS_ALPHA,
    ),
)
