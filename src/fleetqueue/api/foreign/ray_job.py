"""RayJob (ray.io/v1, v1alpha1): one run on a Ray cluster of its own or a given one."""

from fleetqueue.api.foreign.core import POD_TEMPLATE
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
    enum,
    int32,
    int64,
    list_of,
    number,
    obj,
    rule,
    string,
    string_map,
    time,
)
from fleetqueue.api.kinds import AGE, Column

DELETION_POLICY = enum("DeleteCluster", "DeleteWorkers", "DeleteSelf", "DeleteNone")

DELETION_CONDITION = obj(
    {
        "jobStatus": enum("SUCCEEDED", "FAILED"),
        "jobDeploymentStatus": enum("Failed"),
        "ttlSeconds": int32("How long after that.", default=0, minimum=0),
    },
    rules=[
        rule(
            "!has(self.jobStatus) || !has(self.jobDeploymentStatus)",
            "JobStatus and JobDeploymentStatus cannot be used together"
            " within the same deletion condition.",
        ),
        rule(
            "has(self.jobStatus) || has(self.jobDeploymentStatus)",
            "the deletion condition requires either the JobStatus"
            " or the JobDeploymentStatus field.",
        ),
    ],
)

DELETION_STRATEGY = obj(
    {
        "onSuccess": obj({"policy": DELETION_POLICY}),
        "onFailure": obj({"policy": DELETION_POLICY}),
        "deletionRules": list_of(
            obj({"policy!": DELETION_POLICY, "condition!": DELETION_CONDITION}), min_items=1
        ),
    },
    "What goes when the job has ended, and when.",
    rules=[
        rule(
            "!has(self.deletionRules) || (!has(self.onSuccess) && !has(self.onFailure))",
            "legacy policies (onSuccess/onFailure) and deletionRules cannot be used together"
            " within the same deletionStrategy",
        ),
        rule(
            "has(self.deletionRules) || (has(self.onSuccess) && has(self.onFailure))",
            "deletionStrategy requires either BOTH onSuccess and onFailure,"
            " OR the deletionRules field (cannot be empty)",
        ),
    ],
)

_JOB: Schema = {
    "jobId": string("The submission's name in Ray; made up if absent."),
    "runtimeEnvYAML": string(),
    "metadata": string_map("Handed on to Ray."),
    "clusterSelector": string_map("Labels of an existing cluster to run on."),
    "entrypointNumCpus": number(),
    "entrypointNumGpus": number(),
    "entrypointResources": string(),
    "submitterPodTemplate": POD_TEMPLATE,
    "shutdownAfterJobFinishes": boolean("Whether the cluster goes when the job has ended."),
    "ttlSecondsAfterFinished": int32("How long after that.", default=0),
    "suspend": boolean("Whether the job must not run now."),
}

_ENTRYPOINT = string("The command that Ray runs.")

SPEC = obj(
    _JOB
    | {
        "entrypoint": _ENTRYPOINT,
        "rayClusterSpec": CLUSTER_SPEC,
        "submissionMode": string(
            "K8sJobMode, HTTPMode, InteractiveMode or SidecarMode.", default="K8sJobMode"
        ),
        "submitterConfig": obj({"backoffLimit": int32()}),
        "activeDeadlineSeconds": int32(),
        "preRunningDeadlineSeconds": int32(minimum=1),
        "backoffLimit": int32("How many more clusters are tried.", default=0),
        "managedBy": MANAGED_BY,
        "deletionStrategy": DELETION_STRATEGY,
    }
)

SPEC_ALPHA = obj(_JOB | {"entrypoint!": _ENTRYPOINT, "rayClusterSpec": CLUSTER_SPEC_ALPHA})

_STATUS: Schema = {
    "jobId": string(),
    "rayClusterName": string(),
    "dashboardURL": string(),
    "jobStatus": string("What Ray says of the job."),
    "jobDeploymentStatus": string("How far the operator is with it."),
    "message": string(),
    "startTime": time(),
    "endTime": time(),
    "observedGeneration": int64(),
}

STATUS = obj(
    _STATUS
    | {
        "reason": string(),
        "succeeded": int32(default=0),
        "failed": int32(default=0),
        "rayClusterStatus": CLUSTER_STATUS,
        "rayJobInfo": obj({"startTime": time(), "endTime": time()}),
        "jobStatusCheckFailureStartTime": time(),
    }
)

STATUS_ALPHA = obj(_STATUS | {"rayClusterStatus": CLUSTER_STATUS_ALPHA})

COLUMNS = (
    Column("job status", ".status.jobStatus"),
    Column("deployment status", ".status.jobDeploymentStatus"),
    Column("ray cluster name", ".status.rayClusterName"),
    Column("start time", ".status.startTime"),
    Column("end time", ".status.endTime"),
    Column("age", AGE.json_path, AGE.type),
)

RAY_JOB = (
    Version(
        kind=ray_kind("RayJob", COLUMNS),
        about="One run of an entry point on a Ray cluster.",
        spec=SPEC,
        status=STATUS,
    ),
    Version(
        kind=ray_kind_alpha("RayJob"),
        about="One run of an entry point, in the older version of its API.",
        spec=SPEC_ALPHA,
        status=STATUS_ALPHA,
    ),
)
