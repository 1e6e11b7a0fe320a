"""What things of Ray are called: labels, annotations, ports, Services, and how groups are read."""

from collections.abc import Iterable
from typing import Any

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.hashing import content_hash

OWN_NAME = "ray.io/kuberay-operator"
OPERATOR_VERSION = "v1.7.0"
CLUSTER_DOMAIN = "cluster.local"

CLUSTER_KEY = "ray.io/cluster"
NODE_TYPE_KEY = "ray.io/node-type"
GROUP_KEY = "ray.io/group"
IDENTIFIER_KEY = "ray.io/identifier"
IS_RAY_NODE_KEY = "ray.io/is-ray-node"
SERVE_KEY = "ray.io/serve"
FROM_NAME_KEY = "ray.io/originated-from-cr-name"
FROM_KIND_KEY = "ray.io/originated-from-crd"
APPLICATION_KEY = "app.kubernetes.io/name"
CREATED_BY_KEY = "app.kubernetes.io/created-by"
VERSION_KEY = "ray.io/kuberay-version"
FAULT_TOLERANCE_KEY = "ray.io/ft-enabled"
STORAGE_NAMESPACE_KEY = "ray.io/external-storage-namespace"
OVERWRITE_COMMAND_KEY = "ray.io/overwrite-container-cmd"
NO_HEAD_RESTART_KEY = "ray.io/disable-provisioned-head-restart"

APPLICATION = "kuberay"
COMPONENT = "kuberay-operator"
HEAD, WORKER = "head", "worker"
HEAD_GROUP = "headgroup"
SUBMITTER = "ray-job-submitter"
AUTOSCALER = "autoscaler"
WAIT_CONTAINER = "wait-gcs-ready"

GCS_PORT, DASHBOARD_PORT, METRICS_PORT, SERVE_PORT = 6379, 8265, 8080, 8000
AGENT_PORT = 52365
DEFAULT_PORTS = {
    "client": 10001,
    "gcs-server": GCS_PORT,
    "dashboard": DASHBOARD_PORT,
    "metrics": METRICS_PORT,
    "serve": SERVE_PORT,
}

_NAME_MAX = 50
_LABEL_MAX = 63
_INT32_MAX = 2**31 - 1


def generated(base: str, *seed: Any) -> str:
    """A name with five more characters that the seed decides, so that deciding again gives it
    again; a seed with the version of an object gives another one after each change of it.
    """
    return f"{base}-{content_hash(list(seed))[:5]}"


def head_service(cluster: Object) -> str:
    chosen = (head_group(cluster).get("headService") or {}).get("metadata") or {}
    return str(chosen.get("name") or f"{cluster['metadata']['name']}-head-svc")


def address(service: str, namespace: str) -> str:
    """The full name of a Service."""
    return f"{service}.{namespace}.svc.{CLUSTER_DOMAIN}"


def head_address(cluster: Object) -> str:
    return address(head_service(cluster), str(cluster["metadata"].get("namespace") or ""))


def pod_prefix(base: str, node_type: str) -> str:
    return f"{base[:_NAME_MAX]}-{node_type}-".lower()


def short(name: str) -> str:
    """The end of a name that is too long for what is added to it, and begins with a letter."""
    name = name[-_NAME_MAX:]
    return name if name[0].isalpha() else f"r{name[1:]}"


def label(value: str) -> str:
    value = value[-_LABEL_MAX:]
    return value if value[0].isalnum() else f"r{value[1:]}"


def node_labels(cluster: Object, node_type: str) -> dict[str, str]:
    """What selects the head, or the workers, of a cluster."""
    name = cluster["metadata"]["name"]
    return {
        CLUSTER_KEY: name,
        NODE_TYPE_KEY: node_type,
        IDENTIFIER_KEY: label(f"{name}-{node_type}"),
        APPLICATION_KEY: APPLICATION,
        CREATED_BY_KEY: COMPONENT,
    }


def full_name(obj: Object) -> str:
    metadata = obj["metadata"]
    return f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"


def labels_of(obj: Object) -> Object:
    return dict(obj["metadata"].get("labels") or {})


def annotations_of(obj: Object) -> Object:
    return dict(obj["metadata"].get("annotations") or {})


def creator(cluster: Object) -> str:
    """The kind that a cluster was made by; its own where a person made it."""
    made_by = labels_of(cluster).get(FROM_KIND_KEY)
    return str(made_by) if made_by in ("RayJob", "RayService") else "RayCluster"


def head_group(cluster: Object) -> Object:
    return dict(cluster["spec"].get("headGroupSpec") or {})


def worker_groups(cluster: Object) -> list[Object]:
    return list(cluster["spec"].get("workerGroupSpecs") or ())


def containers(group: Object) -> list[Object]:
    return list(((group.get("template") or {}).get("spec") or {}).get("containers") or ())


def head_image(spec: Object) -> str:
    """The image of the Ray container of a cluster spec; "" where there is none."""
    found = containers(spec.get("headGroupSpec") or {})
    return str(found[0].get("image") or "") if found else ""


def port_of(container: Object, name: str, otherwise: int) -> int:
    for port in container.get("ports") or ():
        if port.get("name") == name:
            return int(port["containerPort"])
    return otherwise


def hosts_of(group: Object) -> int:
    return max(int(group.get("numOfHosts") or 1), 1)


def replicas_of(group: Object) -> int:
    """The replicas a group shall have: as asked, within its bounds."""
    if group.get("suspend"):
        return 0
    low, high = bounds_of(group)
    asked = group.get("replicas")
    return low if asked is None else max(low, min(int(asked), high))


def bounds_of(group: Object) -> tuple[int, int]:
    high = group.get("maxReplicas")
    return int(group.get("minReplicas") or 0), _INT32_MAX if high is None else int(high)


def desired_workers(cluster: Object) -> int:
    return sum(replicas_of(group) * hosts_of(group) for group in worker_groups(cluster))


def is_autoscaled(spec: Object) -> bool:
    return bool(spec.get("enableInTreeAutoscaling"))


def is_autoscaled_v2(spec: Object) -> bool:
    return (spec.get("autoscalerOptions") or {}).get("version") == "v2"


def is_fault_tolerant(cluster: Object) -> bool:
    """Whether the head keeps its state in a store of its own."""
    asked = str(annotations_of(cluster).get(FAULT_TOLERANCE_KEY) or "").lower() == "true"
    return asked or cluster["spec"].get("gcsFaultToleranceOptions") is not None


def needs_token(spec: Object) -> bool:
    return (spec.get("authOptions") or {}).get("mode") == "token"


START_COMMAND = "KUBERAY_GEN_RAY_START_CMD"
"""The variable that nodes of Ray have."""


def has_env(container: Object, name: str) -> bool:
    return any(each.get("name") == name for each in container.get("env") or ())


def env_value(container: Object, name: str) -> str:
    for each in container.get("env") or ():
        if each.get("name") == name:
            return str(each.get("value") or "")
    return ""


def of_type(pods: Iterable[Object], node_type: str) -> list[Object]:
    return [pod for pod in pods if labels_of(pod).get(NODE_TYPE_KEY) == node_type]
