"""RayCluster (ray.io/v1, v1alpha1): a head and groups of workers.

Ray's other kinds embed its spec and status.
"""

from fleetqueue.api.foreign.core import CONDITIONS, POD_TEMPLATE, SERVICE
from fleetqueue.api.foreign.definition import Version
from fleetqueue.api.foreign.ray_options import (
    AUTHENTICATION,
    AUTOSCALER,
    AUTOSCALER_ALPHA,
    FAULT_TOLERANCE,
    HISTORY_SERVER,
    INGRESS,
    NETWORK_POLICY,
)
from fleetqueue.api.foreign.schema import (
    Schema,
    boolean,
    enum,
    immutable,
    int32,
    int64,
    list_of,
    map_of,
    obj,
    quantity,
    rule,
    string,
    string_map,
    strings,
    time,
    without,
)
from fleetqueue.api.kinds import AGE, Column, Kind

OPERATOR = "ray.io/kuberay-operator"
DISPATCHER = "kueue.x-k8s.io/multikueue"

MANAGED_BY = string(
    "The controller in charge; the Ray operator if absent.",
    rules=[
        immutable("the managedBy field is immutable"),
        rule(
            f"self == '{OPERATOR}' || self == '{DISPATCHER}'",
            f"the managedBy field value must be either '{OPERATOR}' or '{DISPATCHER}'",
        ),
    ],
)

_START = string_map("Flags of `ray start`.")

# What every version has of head and workers, and what only v1 has.
_HEAD: Schema = {
    "template!": POD_TEMPLATE,
    "serviceType": string("The type of the head's Service."),
    "headService": SERVICE,
    "enableIngress": boolean(),
}
_WORKERS: Schema = {
    "groupName!": string(),
    "replicas": int32("How many workers, before the autoscaler.", default=0),
    "minReplicas!": int32(default=0),
    "maxReplicas!": int32(default=2147483647),
    "template!": POD_TEMPLATE,
    "scaleStrategy": obj({"workersToDelete": strings("Pods to go first when scaling down.")}),
}
_RAY_RESOURCES: Schema = {
    "resources": string_map("What Ray itself shall believe the pods to have."),
    "labels": string_map("Labels of the Ray nodes."),
}

HEAD = obj(_HEAD | _RAY_RESOURCES | {"rayStartParams": _START, "ingressOptions": INGRESS})
HEAD_ALPHA = obj(_HEAD | {"rayStartParams!": _START})

WORKERS = obj(
    _WORKERS
    | _RAY_RESOURCES
    | {
        "rayStartParams": _START,
        "numOfHosts": int32("Pods per worker.", default=1),
        "suspend": boolean("Whether this group must not run now."),
        "idleTimeoutSeconds": int32(),
        "priority": int32(default=0),
    }
)
WORKERS_ALPHA = obj(_WORKERS | {"rayStartParams!": _START})

_CLUSTER: Schema = {
    "rayVersion": string(),
    "suspend": boolean("Whether the pods must not run now."),
    "enableInTreeAutoscaling": boolean(),
    "headServiceAnnotations": string_map(),
}

CLUSTER_SPEC = obj(
    _CLUSTER
    | {
        "headGroupSpec!": HEAD,
        "workerGroupSpecs": list_of(WORKERS),
        "managedBy": MANAGED_BY,
        "autoscalerOptions": AUTOSCALER,
        "gcsFaultToleranceOptions": FAULT_TOLERANCE,
        "authOptions": AUTHENTICATION,
        "networkPolicy": NETWORK_POLICY,
        "tlsOptions": obj({"enabled": boolean()}),
        "historyServerOptions": HISTORY_SERVER,
        "upgradeStrategy": obj({"type": enum("Recreate", "None")}),
    }
)

CLUSTER_SPEC_ALPHA = obj(
    _CLUSTER
    | {
        "headGroupSpec!": HEAD_ALPHA,
        "workerGroupSpecs": list_of(WORKERS_ALPHA),
        "autoscalerOptions": AUTOSCALER_ALPHA,
    }
)

HEAD_STATUS = obj(
    {"podIP": string(), "podName": string(), "serviceIP": string(), "serviceName": string()}
)

CLUSTER_STATUS = obj(
    {
        "state": string("ready, failed or suspended."),
        "reason": string(),
        "conditions": CONDITIONS,
        "desiredCPU": quantity(),
        "desiredMemory": quantity(),
        "desiredGPU": quantity(),
        "desiredTPU": quantity(),
        "desiredWorkerReplicas": int32(),
        "minWorkerReplicas": int32(),
        "maxWorkerReplicas": int32(),
        "availableWorkerReplicas": int32(),
        "readyWorkerReplicas": int32(),
        "endpoints": string_map("Ports of the head, by name."),
        "head": HEAD_STATUS,
        "lastUpdateTime": time(nullable=True),
        "stateTransitionTimes": map_of(time(), "When each state was last entered."),
        "observedGeneration": int64(),
    }
)

CLUSTER_STATUS_ALPHA = without(CLUSTER_STATUS, "conditions", "stateTransitionTimes")
CLUSTER_STATUS_ALPHA["properties"]["head"] = without(HEAD_STATUS, "podName", "serviceName")

COLUMNS = (
    Column("desired workers", ".status.desiredWorkerReplicas", "integer"),
    Column("available workers", ".status.availableWorkerReplicas", "integer"),
    Column("cpus", ".status.desiredCPU"),
    Column("memory", ".status.desiredMemory"),
    Column("gpus", ".status.desiredGPU"),
    Column("tpus", ".status.desiredTPU", priority=1),
    Column("status", ".status.state"),
    Column("age", AGE.json_path, AGE.type),
    Column("head pod IP", ".status.head.podIP", priority=1),
    Column("head service IP", ".status.head.serviceIP", priority=1),
)


def ray_kind(name: str, columns: tuple[Column, ...] = ()) -> Kind:
    """The stored version of a Ray kind."""
    return Kind(
        "ray.io",
        "v1",
        f"{name.lower()}s",
        name=name,
        categories=("all",),
        storage=True,
        columns=columns,
    )


def ray_kind_alpha(name: str, columns: tuple[Column, ...] = ()) -> Kind:
    """The older version, of which the server warns."""
    return Kind(
        "ray.io",
        "v1alpha1",
        f"{name.lower()}s",
        name=name,
        columns=columns,
        deprecated=True,
        deprecation_warning=(
            f"ray.io/v1alpha1 {name} is deprecated; use ray.io/v1 {name}. v1alpha1 receives no new"
            " fields and will be unavailable in KubeRay 1.9."
        ),
    )


RAY_CLUSTER = (
    Version(
        kind=ray_kind("RayCluster", COLUMNS),
        about="A Ray cluster: a head and groups of workers.",
        spec=CLUSTER_SPEC,
        status=CLUSTER_STATUS,
    ),
    Version(
        kind=ray_kind_alpha("RayCluster", COLUMNS),
        about="A Ray cluster, in the older version of its API.",
        spec=CLUSTER_SPEC_ALPHA,
        status=CLUSTER_STATUS_ALPHA,
    ),
)
