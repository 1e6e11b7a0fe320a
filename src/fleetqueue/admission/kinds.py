"""The kinds that admission reads and writes, as raw objects."""

from fleetqueue.api.kueue import v1beta2
from fleetqueue.kube.resources import Resource, resource_of

WORKLOAD = resource_of(v1beta2.Workload)
CLUSTER_QUEUE = resource_of(v1beta2.ClusterQueue)
LOCAL_QUEUE = resource_of(v1beta2.LocalQueue)
COHORT = resource_of(v1beta2.Cohort)
RESOURCE_FLAVOR = resource_of(v1beta2.ResourceFlavor)
ADMISSION_CHECK = resource_of(v1beta2.AdmissionCheck)
TOPOLOGY = resource_of(v1beta2.Topology)
WORKLOAD_PRIORITY_CLASS = resource_of(v1beta2.WorkloadPriorityClass)
NAMESPACE = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
LIMIT_RANGE = Resource("", "v1", "limitranges", "LimitRange")
RUNTIME_CLASS = Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False)
NODE = Resource("", "v1", "nodes", "Node", namespaced=False)
POD = Resource("", "v1", "pods", "Pod")
RESOURCE_CLAIM_TEMPLATE = Resource(
    "resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate"
)
DEVICE_CLASS = Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False)
