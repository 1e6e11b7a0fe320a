"""kueue.x-k8s.io/v1beta2, the stored version: one class per kind."""

from fleetqueue.api.kueue.v1beta2.admission_check import AdmissionCheck
from fleetqueue.api.kueue.v1beta2.cluster_queue import ClusterQueue
from fleetqueue.api.kueue.v1beta2.cohort import Cohort
from fleetqueue.api.kueue.v1beta2.local_queue import LocalQueue
from fleetqueue.api.kueue.v1beta2.multikueue import MultiKueueCluster, MultiKueueConfig
from fleetqueue.api.kueue.v1beta2.provisioning_request_config import ProvisioningRequestConfig
from fleetqueue.api.kueue.v1beta2.resource_flavor import ResourceFlavor
from fleetqueue.api.kueue.v1beta2.topology import Topology
from fleetqueue.api.kueue.v1beta2.workload import Workload
from fleetqueue.api.kueue.v1beta2.workload_priority_class import WorkloadPriorityClass

__all__ = [
    "AdmissionCheck",
    "ClusterQueue",
    "Cohort",
    "LocalQueue",
    "MultiKueueCluster",
    "MultiKueueConfig",
    "ProvisioningRequestConfig",
    "ResourceFlavor",
    "Topology",
    "Workload",
    "WorkloadPriorityClass",
]
