"""Labels, annotations, finalizers and gates that Kueue and its users put on objects."""

PREFIX = "kueue.x-k8s.io/"

# On jobs and other owners.
QUEUE_NAME = f"{PREFIX}queue-name"
PRIORITY_CLASS = f"{PREFIX}priority-class"
MAX_EXEC_TIME_SECONDS = f"{PREFIX}max-exec-time-seconds"
PREBUILT_WORKLOAD_NAME = f"{PREFIX}prebuilt-workload-name"
ADMISSION_GATED_BY = f"{PREFIX}admission-gated-by"
ELASTIC_JOB = f"{PREFIX}elastic-job"
JOB_MIN_PARALLELISM = f"{PREFIX}job-min-parallelism"
JOB_COMPLETIONS_EQUAL_PARALLELISM = f"{PREFIX}job-completions-equal-parallelism"
STOPPING = f"{PREFIX}stopping"
PROVISIONING_REQUEST_PREFIX = "provreq.kueue.x-k8s.io/"

# On Workloads.
JOB_UID = f"{PREFIX}job-uid"
IS_GROUP_WORKLOAD = f"{PREFIX}is-group-workload"
JOB_OWNER_GVK = f"{PREFIX}job-owner-gvk"
JOB_OWNER_NAME = f"{PREFIX}job-owner-name"
COMPONENT_WORKLOAD_INDEX = f"{PREFIX}component-workload-index"
WORKLOAD_SLICE_REPLACEMENT_FOR = f"{PREFIX}workload-slice-replacement-for"
WORKLOAD_SLICE_NAME = f"{PREFIX}workload-slice-name"
PRIORITY_BOOST = f"{PREFIX}priority-boost"
WORKLOAD_ALLOWED_RESOURCE_FLAVORS = f"{PREFIX}workload-allowed-resource-flavors"
CONCURRENT_ADMISSION_PARENT = f"{PREFIX}concurrent-admission-parent"
MULTIKUEUE_ORIGIN = f"{PREFIX}multikueue-origin"
MULTIKUEUE_ORIGIN_UID = f"{PREFIX}multikueue-origin-uid"

# On pods and pod templates.
PODSET = f"{PREFIX}podset"
LOCAL_QUEUE_NAME = f"{PREFIX}local-queue-name"
CLUSTER_QUEUE_NAME = f"{PREFIX}cluster-queue-name"
WORKLOAD = f"{PREFIX}workload"
MANAGED = f"{PREFIX}managed"
"""A label of pods with the value "true", and their finalizer."""
POD_GROUP_NAME = f"{PREFIX}pod-group-name"
POD_GROUP_TOTAL_COUNT = f"{PREFIX}pod-group-total-count"
POD_GROUP_FAST_ADMISSION = f"{PREFIX}pod-group-fast-admission"
POD_GROUP_SERVING = f"{PREFIX}pod-group-serving"
RETRIABLE_IN_GROUP = f"{PREFIX}retriable-in-group"
ROLE_HASH = f"{PREFIX}role-hash"
POD_SUSPENDING_PARENT = f"{PREFIX}pod-suspending-parent"
POD_GROUP_POD_INDEX_LABEL = f"{PREFIX}pod-group-pod-index-label"
POD_GROUP_POD_INDEX = f"{PREFIX}pod-group-pod-index"
POD_INDEX_OFFSET = f"{PREFIX}pod-index-offset"
PODSET_REQUIRED_TOPOLOGY = f"{PREFIX}podset-required-topology"
PODSET_PREFERRED_TOPOLOGY = f"{PREFIX}podset-preferred-topology"
PODSET_UNCONSTRAINED_TOPOLOGY = f"{PREFIX}podset-unconstrained-topology"
PODSET_SLICE_REQUIRED_TOPOLOGY = f"{PREFIX}podset-slice-required-topology"
PODSET_SLICE_SIZE = f"{PREFIX}podset-slice-size"
PODSET_SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS = f"{PREFIX}podset-slice-required-topology-constraints"
PODSET_GROUP_NAME = f"{PREFIX}podset-group-name"
SAFE_TO_FORCEFULLY_DELETE = f"{PREFIX}safe-to-forcefully-delete"
MULTIKUEUE_WORKER_WORKLOAD_POD = f"{PREFIX}multikueue-worker-workload-pod"

# Scheduling gates of pods.
ADMISSION_GATE = f"{PREFIX}admission"
TOPOLOGY_GATE = f"{PREFIX}topology"
ELASTIC_JOB_GATE = f"{PREFIX}elastic-job"

# Preemption gates of Workloads.
MULTIKUEUE_PREEMPTION_GATE = f"{PREFIX}multikueue"
CONCURRENT_ADMISSION_PREEMPTION_GATE = f"{PREFIX}concurrent-admission"

RESOURCE_IN_USE_FINALIZER = f"{PREFIX}resource-in-use"
"""On ClusterQueue, ResourceFlavor, AdmissionCheck, Topology and Workload."""

# Ours, on jobs and their Workloads.
CLUSTER_SELECTOR = "fleetqueue.dev/cluster-selector"
"""Over the labels of MultiKueueClusters: the workers that a job may go to."""
BEST_FIT_STEP = "fleetqueue.dev/best-fit-step"
"""How many workers the BestFit dispatcher asks at a time."""
DISPATCHING = frozenset({CLUSTER_SELECTOR, BEST_FIT_STEP})

# Ours, on MultiKueueConfigs.
QUOTA_BY_FLAVOR = "fleetqueue.dev/quota-by-flavor"
"""Set to true, the quota of queues with several flavors is kept too, flavor by flavor."""

# Ours, on the Secrets with the kubeconfigs of workers.
CLUSTER_UID = "fleetqueue.dev/cluster-uid"
"""Which cluster it is: the uid of its Namespace kube-system."""
