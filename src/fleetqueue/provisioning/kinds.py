"""The kinds that the check reads and writes, and the names it goes by."""

from fleetqueue.api.kueue import v1beta2
from fleetqueue.kube.resources import Resource, resource_of

CONTROLLER = "kueue.x-k8s.io/provisioning-request"
NAME = "kueue-provisioning-request-controller"
GROUP = "kueue.x-k8s.io"
CONFIG_KIND = "ProvisioningRequestConfig"
MANAGED = "kueue.x-k8s.io/managed"
CONSUME = "autoscaling.x-k8s.io/consume-provisioning-request"
CLASS_NAME = "autoscaling.x-k8s.io/provisioning-class-name"

WORKLOAD = resource_of(v1beta2.Workload)
ADMISSION_CHECK = resource_of(v1beta2.AdmissionCheck)
RESOURCE_FLAVOR = resource_of(v1beta2.ResourceFlavor)
CONFIG = resource_of(v1beta2.ProvisioningRequestConfig)
REQUEST = Resource("autoscaling.x-k8s.io", "v1", "provisioningrequests", "ProvisioningRequest")
POD_TEMPLATE = Resource("", "v1", "podtemplates", "PodTemplate")
