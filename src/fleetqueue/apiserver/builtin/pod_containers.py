"""Rules for the containers of a pod: regular, init and ephemeral ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, one_of, required_one_of, wrongs
from fleetqueue.apiserver.builtin.pod_environment import validate_environment, validate_imports
from fleetqueue.apiserver.builtin.pod_mounts import validate_devices, validate_mounts
from fleetqueue.apiserver.builtin.pod_probes import validate_lifecycle, validate_probes
from fleetqueue.apiserver.builtin.pod_resources import is_sidecar, validate_requirements
from fleetqueue.apiserver.builtin.pod_security import validate_container_security
from fleetqueue.apiserver.builtin.pod_volumes import Volumes

Object = Mapping[str, Any]

PULL_POLICIES = ("Always", "IfNotPresent", "Never")

# In the order and spelling in which upstream lists what is set and may not be.
_NOT_EPHEMERAL = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)

_POINTERS = frozenset({"livenessProbe", "readinessProbe", "startupProbe", "lifecycle"})


@dataclass(frozen=True)
class PodContext:
    """What the rules for one container need to know of its pod."""

    spec: Object
    volumes: Volumes
    claim_names: frozenset[str]
    any_page_multiple: bool = False

    @property
    def grace_seconds(self) -> int | None:
        return self.spec.get("terminationGracePeriodSeconds")

    @property
    def uses_host_users(self) -> bool:
        return self.spec.get("hostUsers") is not False


def validate_containers(pod: PodContext, path: str) -> Errors:
    containers = pod.spec.get("containers") or []
    if not containers:
        return [fields.required(path)]
    errors: Errors = []
    taken: set[str] = set()
    for index, container in enumerate(containers):
        below = f"{path}[{index}]"
        errors += _validate_common(container, pod, below)
        errors += _take(container.get("name", ""), taken, below)
        if (lifecycle := container.get("lifecycle")) is not None:
            errors += validate_lifecycle(lifecycle, pod.grace_seconds, f"{below}.lifecycle")
        errors += validate_probes(container, pod.grace_seconds, below)
        if container.get("restartPolicy") is not None:
            why = "may not be set for non-init containers"
            errors.append(fields.forbidden(f"{below}.restartPolicy", why))
    return errors + _validate_host_ports(containers, path)


def validate_init_containers(pod: PodContext, path: str) -> Errors:
    errors: Errors = []
    taken = {container.get("name", "") for container in pod.spec.get("containers") or ()}
    for index, container in enumerate(pod.spec.get("initContainers") or ()):
        below = f"{path}[{index}]"
        errors += _validate_common(container, pod, below)
        errors += one_of(container.get("restartPolicy"), ("Always",), f"{below}.restartPolicy")
        name = container.get("name", "")
        if name or name in taken:
            errors += _take(name, taken, below)
        # Upstream counts from zero for each init container by itself.
        errors += _validate_host_ports([container], path)
        errors += _validate_init_hooks(container, pod, below)
    return errors


def validate_ephemeral_containers(pod: PodContext, path: str) -> Errors:
    errors: Errors = []
    others = {
        container.get("name", "")
        for kind in ("containers", "initContainers")
        for container in pod.spec.get(kind) or ()
    }
    taken = set(others)
    for index, container in enumerate(pod.spec.get("ephemeralContainers") or ()):
        below = f"{path}[{index}]"
        errors += _validate_common(container, pod, below)
        errors += validate_image_padding(container, below)
        errors += _take(container.get("name", ""), taken, below)
        target = container.get("targetContainerName")
        if target and target not in others:
            errors.append(fields.not_found(f"{below}.targetContainerName", target))
        errors += _validate_ephemeral_limits(container, below)
    return errors


def validate_image_padding(container: Object, path: str) -> Errors:
    image = container.get("image", "")
    if image == image.strip():
        return []
    why = "must not have leading or trailing whitespace"
    return [fields.wrong(f"{path}.image", image, why)]


def visit(spec: Object, path: str) -> Iterator[tuple[Object, str]]:
    """Every container with its path, init containers first."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield container, f"{path}.{kind}[{index}]"


def _validate_common(container: Object, pod: PodContext, path: str) -> Errors:
    name = container.get("name", "")
    errors = wrongs(f"{path}.name", name, names.dns1123_label(name)) if name else []
    if not name:
        errors.append(fields.required(f"{path}.name"))
    if not container.get("image"):
        errors.append(fields.required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy")
    allowed = ("File", "FallbackToLogsOnError")
    errors += required_one_of(policy, allowed, f"{path}.terminationMessagePolicy")
    errors += _validate_ports(container.get("ports") or [], f"{path}.ports")
    errors += validate_environment(container.get("env") or [], f"{path}.env")
    errors += validate_imports(container.get("envFrom") or [], f"{path}.envFrom")
    errors += validate_mounts(container, pod.volumes, f"{path}.volumeMounts")
    errors += validate_devices(container, pod.volumes, f"{path}.volumeDevices")
    pull_policy = container.get("imagePullPolicy")
    errors += required_one_of(pull_policy, PULL_POLICIES, f"{path}.imagePullPolicy")
    errors += validate_requirements(
        container.get("resources") or {},
        f"{path}.resources",
        pod.claim_names,
        any_page_multiple=pod.any_page_multiple,
    )
    errors += _validate_resize_policies(container, pod.spec, f"{path}.resizePolicy")
    security = container.get("securityContext")
    return errors + validate_container_security(
        security, f"{path}.securityContext", pod.uses_host_users
    )


def _take(name: str, taken: set[str], path: str) -> Errors:
    if name in taken:
        return [fields.duplicate(f"{path}.name", name)]
    taken.add(name)
    return []


def _validate_ports(ports: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    taken: set[str] = set()
    for index, port in enumerate(ports):
        below = f"{path}[{index}]"
        errors += _validate_port_name(port.get("name", ""), taken, f"{below}.name")
        number, host = port.get("containerPort") or 0, port.get("hostPort") or 0
        if not number:
            errors.append(fields.required(f"{below}.containerPort"))
        else:
            errors += wrongs(f"{below}.containerPort", number, names.port_number(number))
        if host:
            errors += wrongs(f"{below}.hostPort", host, names.port_number(host))
        protocols = ("SCTP", "TCP", "UDP")
        errors += required_one_of(port.get("protocol"), protocols, f"{below}.protocol")
    return errors


def _validate_port_name(name: str, taken: set[str], path: str) -> Errors:
    if not name:
        return []
    if errors := wrongs(path, name, names.port_name(name)):
        return errors
    if name in taken:
        return [fields.duplicate(path, name)]
    taken.add(name)
    return []


def _validate_host_ports(containers: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in taken:
                errors.append(fields.duplicate(f"{path}[{index}].ports[{number}].hostPort", key))
            taken.add(key)
    return errors


def _validate_init_hooks(container: Object, pod: PodContext, path: str) -> Errors:
    """Only an init container that keeps running has a life to hook into."""
    if is_sidecar(container):
        lifecycle = container.get("lifecycle")
        errors = (
            validate_lifecycle(lifecycle, pod.grace_seconds, f"{path}.lifecycle")
            if lifecycle is not None
            else []
        )
        return errors + validate_probes(container, pod.grace_seconds, path)
    why = "may not be set for init containers without restartPolicy=Always"
    return [
        fields.forbidden(f"{path}.{kind}", why)
        for kind in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
        if container.get(kind) is not None
    ]


def _validate_ephemeral_limits(container: Object, path: str) -> Errors:
    why = "cannot be set for an Ephemeral Container"
    errors = [
        fields.forbidden(f"{path}.{name}", why)
        for name in _NOT_EPHEMERAL
        if container.get(name) or (name in _POINTERS and container.get(name) is not None)
    ]
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        errors += [
            fields.forbidden(f"{path}.volumeMounts[{index}].{name}", why)
            for name in ("subPath", "subPathExpr")
            if mount.get(name)
        ]
    return errors


def _validate_resize_policies(container: Object, spec: Object, path: str) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, policy in enumerate(container.get("resizePolicy") or ()):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            errors.append(fields.duplicate(f"{path}[{index}]", name))
        seen.add(name)
        errors += required_one_of(name, ("cpu", "memory"), path)
        errors += required_one_of(restart, ("NotRequired", "RestartContainer"), path)
        if spec.get("restartPolicy") == "Never" and restart != "NotRequired":
            why = "must be 'NotRequired' when `restartPolicy` is 'Never'"
            errors.append(fields.wrong(path, restart, why))
    return errors
