"""The variables a container is started with, from all their sources; pure."""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fleetqueue.kube.resources import Object
from fleetqueue.runtime import downward
from fleetqueue.runtime.downward import Whereabouts
from fleetqueue.runtime.expansion import expand
from fleetqueue.runtime.preparation import NotReady

Find = Callable[[str], Object | None]
"""An object of the pod's namespace by its name."""


class ConfigError(NotReady):
    """What a container refers to is missing; the text is the kubelet's."""

    def __init__(self, message: str) -> None:
        super().__init__("CreateContainerConfigError", message)


@dataclass(frozen=True, slots=True)
class Sources:
    """What variables are made of, besides the pod itself."""

    config_map: Find
    secret: Find
    services: Sequence[Object] = ()
    """Those of the pod's namespace."""
    api_service: Object | None = None
    """The Service through which the API is reached, whatever its namespace."""
    where: Whereabouts = field(default_factory=Whereabouts)


@dataclass(frozen=True, slots=True)
class Environment:
    """All variables of a process, and those among them that `$(NAME)` can refer to."""

    variables: dict[str, str]
    declared: dict[str, str]


def compose(
    pod: Object, container: Object, base: Mapping[str, str], hostname: str, sources: Sources
) -> Environment:
    """`base` is what the image brings along. Raises ConfigError."""
    services = service_variables(pod, sources)
    own = _from_objects(container, pod, sources)
    for variable in container.get("env") or ():
        value = _value(variable, pod, container, {**services, **own}, sources)
        if value is not None:
            own[variable["name"]] = value
    declared = {**services, **own}
    return Environment({**base, "HOSTNAME": hostname, **declared}, declared)


def service_variables(pod: Object, sources: Sources) -> dict[str, str]:
    """Where the Services of a namespace are, the API's always among them."""
    seen: dict[str, Object] = {}
    if sources.api_service is not None:
        seen["kubernetes"] = sources.api_service
    if (pod.get("spec") or {}).get("enableServiceLinks", True):
        seen.update({each["metadata"]["name"]: each for each in sources.services})
    variables: dict[str, str] = {}
    for service in seen.values():
        variables.update(_links(service))
    return variables


def _links(service: Object) -> Iterable[tuple[str, str]]:
    spec = service.get("spec") or {}
    address, ports = spec.get("clusterIP") or "", spec.get("ports") or []
    if address in ("", "None") or not ports:
        return
    prefix = _variable_name(service["metadata"]["name"])
    yield f"{prefix}_SERVICE_HOST", address
    yield f"{prefix}_SERVICE_PORT", str(ports[0]["port"])
    for port in ports:
        if port.get("name"):
            yield f"{prefix}_SERVICE_PORT_{_variable_name(port['name'])}", str(port["port"])
    host = f"[{address}]" if ":" in address else address
    for index, port in enumerate(ports):
        protocol = port.get("protocol") or "TCP"
        url = f"{protocol.lower()}://{host}:{port['port']}"
        if index == 0:
            yield f"{prefix}_PORT", url
        start = f"{prefix}_PORT_{port['port']}_{protocol.upper()}"
        yield start, url
        yield f"{start}_PROTO", protocol.lower()
        yield f"{start}_PORT", str(port["port"])
        yield f"{start}_ADDR", address


def _from_objects(container: Object, pod: Object, sources: Sources) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in container.get("envFrom") or ():
        prefix = entry.get("prefix") or ""
        for kind, reference in (
            ("configmap", entry.get("configMapRef")),
            ("secret", entry.get("secretRef")),
        ):
            data = _data(kind, reference, sources) if reference else None
            found.update({prefix + key: value for key, value in (data or {}).items()})
    return found


def _value(
    variable: Object, pod: Object, container: Object, known: Mapping[str, str], sources: Sources
) -> str | None:
    """None: an optional source is missing, the variable is left out."""
    text, source = variable.get("value") or "", variable.get("valueFrom")
    if text or not source:
        return expand(text, known)
    try:
        if source.get("fieldRef"):
            return downward.field_value(pod, source["fieldRef"]["fieldPath"], sources.where)
        if source.get("resourceFieldRef"):
            reference = source["resourceFieldRef"]
            return downward.resource_value(pod, container, reference, sources.where)
    except downward.NoSuchField as wrong:
        raise ConfigError(str(wrong)) from wrong
    for kind, named, field_name in (
        ("configmap", "ConfigMap", "configMapKeyRef"),
        ("secret", "Secret", "secretKeyRef"),
    ):
        if source.get(field_name):
            return _key(kind, named, source[field_name], pod, sources)
    return ""


def _key(kind: str, named: str, reference: Object, pod: Object, sources: Sources) -> str | None:
    data, key = _data(kind, reference, sources), reference.get("key") or ""
    if data is None:
        return None
    if key not in data:
        if reference.get("optional"):
            return None
        place = f"{pod['metadata'].get('namespace')}/{reference.get('name')}"
        raise ConfigError(f"couldn't find key {key} in {named} {place}")
    return data[key]


def _data(kind: str, reference: Object, sources: Sources) -> dict[str, str] | None:
    """None where an optional object is missing."""
    name = reference.get("name") or ""
    found = (sources.secret if kind == "secret" else sources.config_map)(name)
    if found is None:
        if reference.get("optional"):
            return None
        raise ConfigError(f'{kind} "{name}" not found')
    data = found.get("data") or {}
    if kind == "secret":
        return {
            key: decode_secret(value).decode(errors="surrogateescape")
            for key, value in data.items()
        }
    return dict(data)


def decode_secret(value: str | None) -> bytes:
    return base64.b64decode(value or "")


def _variable_name(name: str) -> str:
    return name.replace("-", "_").upper()
