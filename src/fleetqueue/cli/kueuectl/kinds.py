"""The kinds that kueuectl deals in."""

from fleetqueue.kube.resources import Resource

GROUP, VERSION = "kueue.x-k8s.io", "v1beta2"
CLUSTER_QUEUE = Resource(GROUP, VERSION, "clusterqueues", "ClusterQueue", namespaced=False)
LOCAL_QUEUE = Resource(GROUP, VERSION, "localqueues", "LocalQueue")
RESOURCE_FLAVOR = Resource(GROUP, VERSION, "resourceflavors", "ResourceFlavor", namespaced=False)
WORKLOAD = Resource(GROUP, VERSION, "workloads", "Workload")
DEPLOYMENT = Resource("apps", "v1", "deployments", "Deployment")
