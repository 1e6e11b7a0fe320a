"""The pods of a RayCluster: the user's template with a Ray container that starts a node of it."""

import copy

from fleetqueue.kube.plan import child
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import POD
from fleetqueue.runtime.operators import ray_environment as environment
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators import ray_start
from fleetqueue.runtime.operators.ray_names import HEAD, WORKER

REPLICA_INDEX_KEY = "ray.io/worker-group-replica-index"
REPLICA_NAME_KEY = "ray.io/worker-group-replica-name"
HOST_INDEX_KEY = "ray.io/replica-host-index"
SPEC_HASH_KEY = "ray.io/upgrade-strategy-recreate-hash"

RAISE_FILE_LIMIT = "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}"
SHELL = ["/bin/bash", "-c", "--"]
_SMALL = {"cpu": "200m", "memory": "256Mi"}
_MODEST = {"cpu": "500m", "memory": "512Mi"}


def make_head(cluster: Object, spec_hash: str = "") -> Object:
    group = names.head_group(cluster)
    spec, metadata = _draft(cluster, group, HEAD, names.HEAD_GROUP)
    metadata["generateName"] = names.pod_prefix(cluster["metadata"]["name"], HEAD)
    if spec_hash:
        metadata["annotations"][SPEC_HASH_KEY] = spec_hash
        metadata["annotations"][names.VERSION_KEY] = names.OPERATOR_VERSION
    if names.is_autoscaled(cluster["spec"]):
        _add_autoscaler(spec, cluster)
    _finish(spec, metadata, cluster, group, HEAD)
    return child(POD, cluster, metadata, spec=spec)


def make_worker(
    cluster: Object, group: Object, replica: int = 0, replica_name: str = "", host: int = 0
) -> Object:
    spec, metadata = _draft(cluster, group, WORKER, group["groupName"])
    base = f"{cluster['metadata']['name']}-{group['groupName']}"
    metadata["generateName"] = names.pod_prefix(base, WORKER)
    metadata["labels"][REPLICA_INDEX_KEY] = str(replica)
    if replica_name:
        metadata["labels"] |= {REPLICA_NAME_KEY: replica_name, HOST_INDEX_KEY: str(host)}
    waiting = _waiting_container(cluster, spec["containers"][0])
    spec["initContainers"] = [*(spec.get("initContainers") or ()), waiting]
    if names.is_autoscaled(cluster["spec"]) and names.is_autoscaled_v2(cluster["spec"]):
        spec["restartPolicy"] = "Never"
    _finish(spec, metadata, cluster, group, WORKER)
    return child(POD, cluster, metadata, spec=spec)


def _draft(cluster: Object, group: Object, node_type: str, name: str) -> tuple[Object, Object]:
    """A copy of the template's spec, and metadata with the labels that no template changes."""
    template = group.get("template") or {}
    given = template.get("metadata") or {}
    metadata: Object = {
        "labels": {
            **(given.get("labels") or {}),
            **(group.get("labels") or {}),
            names.IS_RAY_NODE_KEY: "yes",
            **names.node_labels(cluster, node_type),
            names.GROUP_KEY: name,
        },
        "annotations": dict(given.get("annotations") or {}),
    }
    if given.get("finalizers"):
        metadata["finalizers"] = list(given["finalizers"])
    if _keeps_command(cluster):
        metadata["annotations"][names.OVERWRITE_COMMAND_KEY] = "true"
    if names.creator(cluster) == "RayService":
        metadata["labels"][names.SERVE_KEY] = str(node_type == WORKER).lower()
    return copy.deepcopy(template.get("spec") or {}), metadata


def _finish(spec: Object, metadata: Object, cluster: Object, group: Object, node_type: str) -> None:
    """What head and workers have in common, all of it about the Ray container."""
    ray = spec["containers"][0]
    environment.add_storage(metadata, ray, cluster, node_type)
    if names.port_of(ray, "metrics", -1) < 0:
        port = {"name": "metrics", "containerPort": names.METRICS_PORT}
        ray["ports"] = [*(ray.get("ports") or ()), port]
    if names.needs_token(cluster["spec"]):
        waiting = [each for each in spec.get("initContainers") or () if _is_waiting(each)]
        for container in (ray, *waiting):
            environment.add_token(spec, container, cluster)
    environment.add_shared_memory(spec, ray, group)
    _set_command(ray, metadata, ray_start.start_command(cluster, group, node_type))
    for container in spec.get("initContainers") or ():
        environment.add_head_names(container, cluster)
    environment.add_environment(ray, cluster, group, node_type)
    environment.add_probes(ray, cluster, group, node_type)
    if not metadata["annotations"]:
        del metadata["annotations"]


def _set_command(ray: Object, metadata: Object, start: str) -> None:
    """The node starts after the user's own command, unless that command sees to it."""
    words = [*(ray.get("command") or ()), *(ray.get("args") or ())]
    given = "".join(f" {word} " for word in words)
    kept = str(metadata["annotations"].get(names.OVERWRITE_COMMAND_KEY) or "").lower() == "true"
    if kept or "ray start" in given:
        return
    generated = f"{RAISE_FILE_LIMIT}; {start}"
    ray["command"] = list(SHELL)
    ray["args"] = [f"{given} && {generated}" if given else generated]


def _waiting_container(cluster: Object, ray: Object) -> Object:
    """Runs until the head answers."""
    head = f"{names.head_address(cluster)}:{ray_start.head_port(cluster)}"
    made = {
        "name": names.WAIT_CONTAINER,
        "image": ray.get("image") or "",
        "command": list(SHELL),
        "args": [_waiting_script(head)],
        "env": copy.deepcopy(ray.get("env") or []),
        "volumeMounts": copy.deepcopy(ray.get("volumeMounts") or []),
        "resources": {"limits": dict(_SMALL), "requests": dict(_SMALL)},
    }
    for field in ("imagePullPolicy", "securityContext"):
        if ray.get(field):
            made[field] = copy.deepcopy(ray[field])
    return {key: value for key, value in made.items() if value != []}


def _waiting_script(head: str) -> str:
    return (
        f"until ray health-check --address {head} > /dev/null 2>&1; do\n"
        '  echo "$SECONDS seconds elapsed: Waiting for GCS to be ready."\n'
        "  sleep 5\n"
        "done\n"
        'echo "GCS is ready."\n'
    )


def _add_autoscaler(spec: Object, cluster: Object) -> None:
    ray = spec["containers"][0]
    options = cluster["spec"].get("autoscalerOptions") or {}
    spec["serviceAccountName"] = names.short(
        str(spec.get("serviceAccountName") or cluster["metadata"]["name"])
    )
    container = _autoscaler(str(options.get("image") or ray.get("image") or ""), options)
    if names.needs_token(cluster["spec"]):
        environment.add_token(spec, container, cluster)
    spec["containers"] = [*spec["containers"], container]
    for each in (ray, container):
        environment.add_directory(spec, each, "ray-logs", "/tmp/ray", {})
    if names.is_autoscaled_v2(cluster["spec"]):
        flag = {"name": "RAY_enable_autoscaler_v2", "value": "true"}
        ray["env"] = [*(ray.get("env") or ()), flag]
        spec["restartPolicy"] = "Never"


def _autoscaler(image: str, options: Object) -> Object:
    fields = {
        "RAY_CLUSTER_NAME": f"metadata.labels['{names.CLUSTER_KEY}']",
        "RAY_CLUSTER_NAMESPACE": "metadata.namespace",
        "RAY_HEAD_POD_NAME": "metadata.name",
    }
    env: list[Object] = [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for name, path in fields.items()
    ]
    run = (
        "ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME)"
        " --cluster-namespace $(RAY_CLUSTER_NAMESPACE)"
    )
    container: Object = {
        "name": names.AUTOSCALER,
        "image": image,
        "imagePullPolicy": options.get("imagePullPolicy") or "IfNotPresent",
        "env": [*env, {"name": "KUBERAY_CRD_VER", "value": "v1"}, *(options.get("env") or ())],
        "command": options.get("command") or list(SHELL),
        "args": options.get("args") or ([] if options.get("command") else [run]),
        "resources": options.get("resources")
        or {"limits": dict(_MODEST), "requests": dict(_MODEST)},
    }
    for field in ("envFrom", "volumeMounts", "securityContext"):
        if options.get(field):
            container[field] = copy.deepcopy(options[field])
    return container


def _keeps_command(cluster: Object) -> bool:
    asked = names.annotations_of(cluster).get(names.OVERWRITE_COMMAND_KEY)
    return str(asked or "").lower() == "true"


def _is_waiting(container: Object) -> bool:
    return bool(container["name"] == names.WAIT_CONTAINER)
