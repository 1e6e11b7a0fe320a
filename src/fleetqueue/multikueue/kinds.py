"""The kinds that dispatching reads and writes, and the names it goes by."""

from fleetqueue.api.kueue import v1beta2
from fleetqueue.kube.resources import Resource, resource_of

CONTROLLER = "kueue.x-k8s.io/multikueue"
"""The checks' controller, what `managedBy` says of a job that is sent away, and a field manager."""
WORKLOAD_COMPONENT = "kueue-workload-controller"
"""Who tells of what happens to a workload."""

CLUSTER = resource_of(v1beta2.MultiKueueCluster)
CONFIG = resource_of(v1beta2.MultiKueueConfig)
WORKLOAD = resource_of(v1beta2.Workload)
ADMISSION_CHECK = resource_of(v1beta2.AdmissionCheck)
CLUSTER_QUEUE = resource_of(v1beta2.ClusterQueue)
LOCAL_QUEUE = resource_of(v1beta2.LocalQueue)
SECRET = Resource("", "v1", "secrets", "Secret")
CLUSTER_PROFILE = Resource("multicluster.x-k8s.io", "v1alpha1", "clusterprofiles", "ClusterProfile")
