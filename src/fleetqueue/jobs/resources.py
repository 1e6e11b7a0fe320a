"""The resources around jobs, by the names of their API."""

from fleetqueue.kube.resources import Resource

_KUEUE = "kueue.x-k8s.io"

WORKLOAD = Resource(_KUEUE, "v1beta2", "workloads", "Workload")
LOCAL_QUEUE = Resource(_KUEUE, "v1beta2", "localqueues", "LocalQueue")
CLUSTER_QUEUE = Resource(_KUEUE, "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False)
RESOURCE_FLAVOR = Resource(_KUEUE, "v1beta2", "resourceflavors", "ResourceFlavor", namespaced=False)
ADMISSION_CHECK = Resource(_KUEUE, "v1beta2", "admissionchecks", "AdmissionCheck", namespaced=False)
WORKLOAD_PRIORITY_CLASS = Resource(
    _KUEUE, "v1beta2", "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False
)
PRIORITY_CLASS = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False
)
NAMESPACE = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
POD = Resource("", "v1", "pods", "Pod")
REPLICA_SET = Resource("apps", "v1", "replicasets", "ReplicaSet")
DEPLOYMENT = Resource("apps", "v1", "deployments", "Deployment")
STATEFUL_SET = Resource("apps", "v1", "statefulsets", "StatefulSet")
LEADER_WORKER_SET = Resource(
    "leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"
)
