"""What is added to a Ray container: environment, probes, shared memory, and the credentials and
storage of clusters that ask for them.
"""

from typing import Any

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators import ray_start

_UNIFIED_HEALTH_FROM = (2, 53)
_SERVE_TIMEOUTS = {
    "RAY_timeout_ms_task_wait_for_death_info": "0",
    "RAY_gcs_server_request_timeout_seconds": "5",
    "RAY_SERVE_KV_TIMEOUT_S": "5",
}
_RECONNECT_SECONDS = "600"


def add_environment(container: Object, cluster: Object, group: Object, node_type: str) -> None:
    """What the user has set stays as it is."""
    env = _Environment(container)
    port, fqdn = ray_start.head_port(cluster), names.head_address(cluster)
    if node_type == names.WORKER:
        env.add("FQ_RAY_IP", fqdn)
        env.add("RAY_IP", fqdn.split(".")[0])
    env.add_field("RAY_CLUSTER_NAME", f"metadata.labels['{names.CLUSTER_KEY}']")
    env.add_field("RAY_CLUSTER_NAMESPACE", "metadata.namespace")
    env.add_field("RAY_CLOUD_INSTANCE_ID", "metadata.name")
    env.add_field("RAY_NODE_TYPE_NAME", f"metadata.labels['{names.GROUP_KEY}']")
    env.add(names.START_COMMAND, ray_start.start_command(cluster, group, node_type))
    env.add("RAY_PORT", port)
    if names.creator(cluster) == "RayService":
        for name, value in _SERVE_TIMEOUTS.items():
            env.add(name, value)
    host = fqdn if node_type == names.WORKER else "127.0.0.1"
    env.add("RAY_ADDRESS", f"{host}:{port}")
    env.add("RAY_USAGE_STATS_KUBERAY_IN_USE", "1")
    if node_type == names.HEAD:
        made_by = f"kuberay_crd={names.creator(cluster)}"
        tags = f"kuberay_version={names.OPERATOR_VERSION};{made_by}"
        env.add("RAY_USAGE_STATS_EXTRA_TAGS", tags)
    env.add("RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE", "1")


def add_head_names(container: Object, cluster: Object) -> None:
    """How an init container finds the head."""
    env, fqdn = _Environment(container), names.head_address(cluster)
    env.add("FQ_RAY_IP", fqdn)
    env.add("RAY_IP", fqdn.split(".")[0])


def add_probes(container: Object, cluster: Object, group: Object, node_type: str) -> None:
    is_head = node_type == names.HEAD
    timeout = 5 if is_head else 2
    check = _health_check(cluster, group, is_head)
    liveness = {**check, **_timing(30, timeout, 120)}
    readiness = {**check, **_timing(10, timeout, 10)}
    if names.creator(cluster) == "RayService" and not is_head:
        port = names.port_of(container, "serve", names.SERVE_PORT)
        commands = [*_health_commands(group, is_head), _fetch(10, port, "-/healthz")]
        readiness = {**_run(commands), **_timing(10, timeout, 1)}
    container.setdefault("livenessProbe", liveness)
    container.setdefault("readinessProbe", readiness)


def add_shared_memory(spec: Object, container: Object, group: Object) -> None:
    if "plasma-directory" not in (group.get("rayStartParams") or {}):
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        size = limits.get("memory") or requests.get("memory")
        source: Object = {"medium": "Memory"} | ({"sizeLimit": size} if size else {})
        add_directory(spec, container, "shared-mem", "/dev/shm", source)


def add_directory(spec: Object, container: Object, name: str, path: str, source: Object) -> None:
    """An emptyDir, unless something is mounted there already."""
    if any(each.get("mountPath") == path for each in container.get("volumeMounts") or ()):
        return
    if all(each["name"] != name for each in spec.get("volumes") or ()):
        spec["volumes"] = [*(spec.get("volumes") or ()), {"name": name, "emptyDir": source}]
    mounts = container.get("volumeMounts") or ()
    container["volumeMounts"] = [*mounts, {"name": name, "mountPath": path}]


def add_storage(metadata: Object, container: Object, cluster: Object, node_type: str) -> None:
    """Where the head of a fault tolerant cluster keeps its state, and how long workers wait."""
    is_on = names.is_fault_tolerant(cluster)
    if node_type == names.HEAD:
        metadata["annotations"][names.FAULT_TOLERANCE_KEY] = str(is_on).lower()
    if not is_on:
        return
    env = _Environment(container)
    if node_type == names.WORKER:
        env.add("RAY_gcs_rpc_server_reconnect_timeout_s", _RECONNECT_SECONDS)
        return
    options = cluster["spec"].get("gcsFaultToleranceOptions")
    space = storage_namespace(cluster)
    metadata["annotations"][names.STORAGE_NAMESPACE_KEY] = space
    env.add("RAY_external_storage_namespace", space)
    if options is None:
        password = (names.head_group(cluster).get("rayStartParams") or {}).get("redis-password")
        if password is not None:
            env.add("REDIS_PASSWORD", password)
    elif options.get("backend") != "rocksdb":
        env.add("RAY_REDIS_ADDRESS", str(options.get("redisAddress") or ""))
        for name, given in (
            ("REDIS_USERNAME", options.get("redisUsername")),
            ("REDIS_PASSWORD", options.get("redisPassword")),
        ):
            if given:
                env.add_any(name, given)


def storage_namespace(cluster: Object) -> str:
    options = cluster["spec"].get("gcsFaultToleranceOptions") or {}
    annotated = names.annotations_of(cluster).get(names.STORAGE_NAMESPACE_KEY)
    chosen = options.get("externalStorageNamespace") or annotated
    return str(chosen or cluster["metadata"]["uid"])


def add_token(spec: Object, container: Object, cluster: Object) -> None:
    """Credentials for clusters that let nobody in without a token."""
    options = cluster["spec"].get("authOptions") or {}
    env = _Environment(container)
    env.add("RAY_AUTH_MODE", "token")
    if options.get("enableK8sTokenAuth"):
        env.add("RAY_ENABLE_K8S_TOKEN_AUTH", "true")
        _mount_token(spec, container)
        return
    secret = options.get("secretName") or names.short(cluster["metadata"]["name"])
    reference = {"secretKeyRef": {"name": secret, "key": "auth_token"}}
    env.add_any("RAY_AUTH_TOKEN", {"valueFrom": reference})


def _mount_token(spec: Object, container: Object) -> None:
    name, path = "ray-token", "/var/run/secrets/ray.io/serviceaccount"
    if all(each["name"] != name for each in spec.get("volumes") or ()):
        source = {"sources": [{"serviceAccountToken": {"path": "token"}}]}
        spec["volumes"] = [*(spec.get("volumes") or ()), {"name": name, "projected": source}]
    mount = {"name": name, "mountPath": path, "readOnly": True}
    container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]


def _health_check(cluster: Object, group: Object, is_head: bool) -> Object:
    if _version(str(cluster["spec"].get("rayVersion") or "")) >= _UNIFIED_HEALTH_FROM:
        port = _flag(group, "dashboard-agent-listen-port", names.AGENT_PORT)
        return {"httpGet": {"path": "/api/healthz", "port": port}}
    return _run(_health_commands(group, is_head))


def _health_commands(group: Object, is_head: bool) -> list[str]:
    agent = _flag(group, "dashboard-agent-listen-port", names.AGENT_PORT)
    commands = [_fetch(2, agent, "api/local_raylet_healthz")]
    if is_head:
        dashboard = _flag(group, "dashboard-port", names.DASHBOARD_PORT)
        commands.append(_fetch(10, dashboard, "api/gcs_healthz"))
    return commands


def _fetch(timeout: int, port: int, path: str) -> str:
    return f"wget --tries 1 -T {timeout} -q -O- http://localhost:{port}/{path} | grep success"


def _run(commands: list[str]) -> Object:
    return {"exec": {"command": ["bash", "-c", " && ".join(commands)]}}


def _timing(delay: int, timeout: int, failures: int) -> Object:
    return {
        "initialDelaySeconds": delay,
        "timeoutSeconds": timeout,
        "periodSeconds": 5,
        "successThreshold": 1,
        "failureThreshold": failures,
    }


def _flag(group: Object, name: str, otherwise: int) -> int:
    value = str((group.get("rayStartParams") or {}).get(name) or "")
    return int(value) if value.isdigit() else otherwise


def _version(text: str) -> tuple[int, ...]:
    parts = text.removeprefix("v").split(".")[:2]
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()


class _Environment:
    """The variables of a container, to which only new names are added."""

    def __init__(self, container: Object) -> None:
        self._container = container

    def add(self, name: str, value: str) -> None:
        self.add_any(name, {"value": value})

    def add_field(self, name: str, path: str) -> None:
        self.add_any(name, {"valueFrom": {"fieldRef": {"fieldPath": path}}})

    def add_any(self, name: str, rest: Any) -> None:
        if not names.has_env(self._container, name):
            env = self._container.get("env") or ()
            self._container["env"] = [*env, {"name": name, **rest}]
