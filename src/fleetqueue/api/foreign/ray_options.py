"""The rarely used options of a RayCluster: autoscaler, fault tolerance, network policy, ingress."""

from fleetqueue.api.core_schemas import inlined
from fleetqueue.api.foreign.core import ENV_VAR, RESOURCES, SECURITY_CONTEXT, VOLUME_MOUNT
from fleetqueue.api.foreign.schema import (
    Schema,
    boolean,
    enum,
    immutable,
    int32,
    list_map,
    list_of,
    obj,
    quantity,
    string,
    strings,
    without,
)

_NETWORKING = "io.k8s.api.networking.v1"

AUTOSCALER = obj(
    {
        "resources": RESOURCES,
        "image": string(),
        "imagePullPolicy": string(),
        "securityContext": SECURITY_CONTEXT,
        "idleTimeoutSeconds": int32("How long a worker may idle before it goes."),
        "upscalingMode": enum("Default", "Aggressive", "Conservative"),
        "version": enum("v1", "v2"),
        "env": list_of(ENV_VAR),
        "envFrom": list_of(inlined("io.k8s.api.core.v1.EnvFromSource")),
        "volumeMounts": list_of(VOLUME_MOUNT),
        "command": strings(),
        "args": strings(),
    }
)
AUTOSCALER_ALPHA = without(AUTOSCALER, "version", "command", "args")

CREDENTIAL = obj({"value": string(), "valueFrom": inlined("io.k8s.api.core.v1.EnvVarSource")})

FAULT_TOLERANCE = obj(
    {
        "backend": enum(
            "redis",
            "rocksdb",
            rules=[immutable("gcsFaultToleranceOptions.backend is immutable")],
        ),
        "redisAddress": string(),
        "redisUsername": CREDENTIAL,
        "redisPassword": CREDENTIAL,
        "externalStorageNamespace": string(),
        "storage": obj(
            {
                "claimName": string(),
                "size": quantity(),
                "storageClassName": string(),
                "accessModes": strings(),
                "subPath": string(),
                "deletionPolicy": enum("DeleteWithCluster", "Retain"),
            }
        ),
    },
    "Where the head keeps its state, so that another head can take over.",
)

AUTHENTICATION = obj(
    {"mode": enum("disabled", "token"), "secretName": string(), "enableK8sTokenAuth": boolean()}
)

INGRESS = obj(
    {
        "host": string(),
        "path": string(),
        "pathType": enum("Exact", "Prefix", "ImplementationSpecific"),
        "tls": list_of(inlined(f"{_NETWORKING}.IngressTLS")),
    }
)

TRAFFIC: Schema = {
    "ingressRules": list_of(inlined(f"{_NETWORKING}.NetworkPolicyIngressRule")),
    "egressRules": list_of(inlined(f"{_NETWORKING}.NetworkPolicyEgressRule")),
}

NETWORK_POLICY = obj(
    {
        "mode": enum("DenyAll", "DenyAllIngress", "DenyAllEgress", default="DenyAll"),
        "head": obj(TRAFFIC),
        "worker": obj(TRAFFIC),
        "workerGroups": list_map(obj({"groupName!": string()} | TRAFFIC), "groupName"),
    }
)

HISTORY_SERVER = obj(
    {
        "collectorOptions": obj(
            {
                "image": string(),
                "imagePullPolicy": string(),
                "resources": RESOURCES,
                "env": list_of(ENV_VAR),
            }
        )
    }
)
