"""Whose fields of a Workload are whose, as recordings of Kueue tell it."""

from fleetqueue.runtime.stages import RUN_SECONDS

UID = "metadata.labels.kueue.x-k8s.io/job-uid"
MAIN = "spec.podSets[name=main]"
_ASSIGNED = "status.admission.podSetAssignments[name=main]"
_GIVEN = f"{MAIN}.template.metadata"
_POD = f"{MAIN}.template.spec"
_CONTAINER = f"{_POD}.containers[name=c]"

MAKER = ("kueue", "Update", "")
LISTER = ("kueue", "Update", "status")
ADMISSION = ("kueue-admission", "Apply", "status")
READINESS = ("kueue-job-controller-PodsReady", "Apply", "status")
CONTROLLER = ("kube-controller-manager", "Update", "status")
"""Of a Job: whoever runs its pods."""

MADE = {
    "metadata.labels",
    UID,
    "metadata.ownerReferences",
    "metadata.ownerReferences[uid=<uid>]",
}
"""What the one who made a Workload owns of its metadata, once its finalizer is gone."""


def under(path: str, *names: str) -> set[str]:
    """The path itself, and each name below it."""
    return {path, *(f"{path}.{name}" for name in names)}


def conditions(*types: str) -> set[str]:
    parts = ("lastTransitionTime", "message", "observedGeneration", "reason", "status", "type")
    return set().union(*(under(f"status.conditions[type={type}]", *parts) for type in types))


def check(name: str, *parts: str) -> set[str]:
    """The entry of a check, or these parts of it."""
    every = ("lastTransitionTime", "message", "name", "state")
    return under(f"status.admissionChecks[name={name}]", *(parts or every))


def admitted() -> set[str]:
    return {
        "status.admission.clusterQueue",
        *under(_ASSIGNED, "count", "flavors.cpu", "name", "resourceUsage.cpu"),
    }


def spec() -> set[str]:
    return {
        *under("spec", "active", "podSets", "priority", "queueName"),
        *under(MAIN, "count", "name", "template", "topologyRequest"),
        f"{MAIN}.topologyRequest.podIndexLabel",
        *under(_GIVEN, "annotations", f"annotations.{RUN_SECONDS}"),
        *under(f"{_GIVEN}.labels", "batch.kubernetes.io/job-name"),
        *under(_POD, "containers", "dnsPolicy", "restartPolicy", "schedulerName"),
        *under(_POD, "securityContext", "terminationGracePeriodSeconds"),
        *under(_CONTAINER, "image", "imagePullPolicy", "name", "resources"),
        *under(_CONTAINER, "terminationMessagePath", "terminationMessagePolicy"),
        *under(f"{_CONTAINER}.resources.requests", "cpu"),
    }


JOB_STARTED = {
    MAKER: {
        "spec.suspend",
        "spec.template.metadata.annotations.kueue.x-k8s.io/workload",
        "spec.template.metadata.labels.kueue.x-k8s.io/cluster-queue-name",
        "spec.template.metadata.labels.kueue.x-k8s.io/local-queue-name",
        "spec.template.metadata.labels.kueue.x-k8s.io/podset",
    }
}
"""What admission owns of a Job."""
_ALWAYS_TOLD = ("conditions", "ready", "startTime", "terminating", "uncountedTerminatedPods")
JOB_RUNNING = {f"status.{name}" for name in ("active", *_ALWAYS_TOLD)}
JOB_FINISHED = {f"status.{name}" for name in ("completionTime", "succeeded", *_ALWAYS_TOLD)}
"""The status of a Job that runs, and of one that has run."""
