"""What the jobs of kubeflow.org share: replicas by role, run policy, metrics, status."""

from fleetqueue.api.core_schemas import inlined
from fleetqueue.api.foreign.core import LABEL_SELECTOR, POD_TEMPLATE
from fleetqueue.api.foreign.schema import (
    Schema,
    boolean,
    enum,
    immutable,
    int32,
    int64,
    list_map,
    list_of,
    map_of,
    obj,
    resource_list,
    string,
    time,
)

REPLICA_SPEC = obj(
    {
        "replicas": int32("How many pods of this role."),
        "template": POD_TEMPLATE,
        "restartPolicy": string("Always, OnFailure, Never or ExitCode."),
    }
)

REPLICA_SPECS = map_of(REPLICA_SPEC, "The pods of the job, by role.")

METRICS = list_of(inlined("io.k8s.api.autoscaling.v2.MetricSpec"), "What the autoscaler goes by.")


def run_policy(queue: Schema) -> Schema:
    """Everything about the run but its pods; only the older operator holds `queue` fixed."""
    return obj(
        {
            "cleanPodPolicy": string("Which pods go when the job ends: All, Running or None."),
            "ttlSecondsAfterFinished": int32("How long a finished job is kept."),
            "activeDeadlineSeconds": int64(),
            "backoffLimit": int32("How many failures make the job fail."),
            "suspend": boolean("Whether the pods must not run now.", default=False),
            "managedBy": string("The controller in charge; the operator if absent."),
            "schedulingPolicy": obj(
                {
                    "minAvailable": int32(),
                    "queue": queue,
                    "minResources": resource_list(),
                    "priorityClass": string(),
                    "scheduleTimeoutSeconds": int32(),
                },
                "What a gang scheduler is told.",
            ),
        }
    )


RUN_POLICY = run_policy(queue=string())
RUN_POLICY_WITH_FIXED_QUEUE = run_policy(
    queue=string(rules=[immutable("spec.runPolicy.schedulingPolicy.queue is immutable")])
)


def _condition(status: Schema) -> Schema:
    return obj(
        {
            "type!": string(),
            "status!": status,
            "reason": string(),
            "message": string(),
            "lastUpdateTime": time(),
            "lastTransitionTime": time(),
        }
    )


REPLICA_STATUS = obj(
    {
        "active": int32(),
        "succeeded": int32(),
        "failed": int32(),
        "labelSelector": LABEL_SELECTOR,
        "selector": string("Selects the pods of the role, as text."),
    }
)


def _status(conditions: Schema) -> Schema:
    return obj(
        {
            "conditions": conditions,
            "replicaStatuses": map_of(REPLICA_STATUS, "How many pods are in which state, by role."),
            "startTime": time(),
            "completionTime": time(),
            "lastReconcileTime": time(),
        }
    )


STATUS = _status(conditions=list_of(_condition(string())))
STATUS_WITH_KEYED_CONDITIONS = _status(
    conditions=list_map(_condition(enum("True", "False", "Unknown")), "type")
)
