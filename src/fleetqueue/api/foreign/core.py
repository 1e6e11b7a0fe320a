"""Parts of the Kubernetes API that foreign kinds embed, each inlined once and shared."""

from fleetqueue.api.core_schemas import inlined
from fleetqueue.api.foreign.schema import list_map

_CORE = "io.k8s.api.core.v1"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"

OBJECT_META = inlined(f"{_META}.ObjectMeta")
LABEL_SELECTOR = inlined(f"{_META}.LabelSelector")
CONDITIONS = list_map(
    inlined(f"{_META}.Condition"), "type", about="What is known of the object's state."
)

POD_TEMPLATE = inlined(f"{_CORE}.PodTemplateSpec")
JOB_TEMPLATE = inlined("io.k8s.api.batch.v1.JobTemplateSpec")
VOLUME_CLAIM = inlined(f"{_CORE}.PersistentVolumeClaim")
SERVICE = inlined(f"{_CORE}.Service")

ENV_VAR = inlined(f"{_CORE}.EnvVar")
RESOURCES = inlined(f"{_CORE}.ResourceRequirements")
SECURITY_CONTEXT = inlined(f"{_CORE}.SecurityContext")
TOLERATION = inlined(f"{_CORE}.Toleration")
VOLUME_MOUNT = inlined(f"{_CORE}.VolumeMount")
