"""Which files a volume made of API objects holds; pure, but for the tokens that it is handed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from fleetqueue.api.field_errors import aggregate
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import downward
from fleetqueue.runtime.downward import Whereabouts
from fleetqueue.runtime.environment import Find, decode_secret

DEFAULT_MODE = 0o644
MADE_OF_OBJECTS = ("configMap", "secret", "downwardAPI", "projected")


@dataclass(frozen=True, slots=True)
class File:
    data: bytes
    mode: int = DEFAULT_MODE


Payload: TypeAlias = dict[str, File]
"""By the path below the volume."""


class Missing(Exception):
    """Something a volume needs is not there; the text is the kubelet's."""


@dataclass(frozen=True, slots=True)
class Objects:
    """Where a volume's content comes from."""

    config_map: Find
    secret: Find
    where: Whereabouts = field(default_factory=Whereabouts)
    token: Callable[[str, int], str] = lambda audience, seconds: ""
    """A token of the pod's service account for an audience, good for so many seconds."""
    trust_bundle: Callable[[Object], str | None] = lambda source: None


def payload_of(pod: Object, volume: Object, objects: Objects) -> Payload:
    """Of a volume that `is_made_of_objects`. Raises Missing."""
    if volume.get("configMap") is not None:
        source = volume["configMap"]
        return _config_map(source, source.get("name") or "", _mode(source), objects)
    if volume.get("secret") is not None:
        source = volume["secret"]
        return _secret(source, source.get("secretName") or "", _mode(source), objects)
    if volume.get("downwardAPI") is not None:
        source = volume["downwardAPI"]
        return _downward(pod, source, _mode(source), objects)
    source = volume.get("projected") or {}
    return _projected(pod, source, _mode(source), objects)


def is_made_of_objects(volume: Object) -> bool:
    return any(volume.get(kind) is not None for kind in MADE_OF_OBJECTS)


def _projected(pod: Object, projected: Object, mode: int, objects: Objects) -> Payload:
    whole: Payload = {}
    wrong: list[str] = []
    for source in projected.get("sources") or ():
        try:
            whole.update(_projection(pod, source, mode, objects))
        except Missing as missing:
            wrong.append(str(missing))
    if wrong:
        raise Missing(aggregate(wrong))
    return whole


def _projection(pod: Object, source: Object, mode: int, objects: Objects) -> Payload:
    if source.get("configMap") is not None:
        one = source["configMap"]
        return _config_map(one, one.get("name") or "", mode, objects)
    if source.get("secret") is not None:
        one = source["secret"]
        return _secret(one, one.get("name") or "", mode, objects)
    if source.get("downwardAPI") is not None:
        return _downward(pod, source["downwardAPI"], mode, objects)
    if source.get("serviceAccountToken") is not None:
        one = source["serviceAccountToken"]
        seconds = int(one.get("expirationSeconds") or 3600)
        text = objects.token(one.get("audience") or "", seconds)
        return {one["path"]: File(text.encode(), _token_mode(pod, mode))}
    if source.get("clusterTrustBundle") is not None:
        return _trust_bundle(source["clusterTrustBundle"], mode, objects)
    return {}


def _token_mode(pod: Object, mode: int) -> int:
    """As the kubelet: a token is for its user alone, or for its group where there is one."""
    security = (pod.get("spec") or {}).get("securityContext") or {}
    return 0o600 if security.get("fsGroup") is not None else mode


def _trust_bundle(source: Object, mode: int, objects: Objects) -> Payload:
    found = objects.trust_bundle(source)
    if found is None:
        if source.get("optional"):
            return {source["path"]: File(b"", mode)}
        name = source.get("name") or source.get("signerName") or ""
        raise Missing(f'clustertrustbundle "{name}" not found')
    return {source["path"]: File(found.encode(), mode)}


def _config_map(source: Object, name: str, mode: int, objects: Objects) -> Payload:
    found = objects.config_map(name)
    if found is None and not source.get("optional"):
        raise Missing(f'configmap "{name}" not found')
    data = {key: value.encode() for key, value in ((found or {}).get("data") or {}).items()}
    binary = ((found or {}).get("binaryData") or {}).items()
    data = {**{key: decode_secret(value) for key, value in binary}, **data}
    return _pick(data, source, mode, "configmap references non-existent config key")


def _secret(source: Object, name: str, mode: int, objects: Objects) -> Payload:
    found = objects.secret(name)
    if found is None and not source.get("optional"):
        raise Missing(f'secret "{name}" not found')
    entries = ((found or {}).get("data") or {}).items()
    data = {key: decode_secret(value) for key, value in entries}
    return _pick(data, source, mode, "references non-existent secret key")


def _pick(data: Mapping[str, bytes], source: Object, mode: int, complaint: str) -> Payload:
    items: Sequence[Object] = source.get("items") or ()
    if not items:
        return {key: File(value, mode) for key, value in data.items()}
    picked: Payload = {}
    for item in items:
        if item["key"] in data:
            own = item.get("mode")
            picked[item["path"]] = File(data[item["key"]], mode if own is None else own)
        elif not source.get("optional"):
            raise Missing(f"{complaint}: {item['key']}")
    return picked


def _downward(pod: Object, source: Object, mode: int, objects: Objects) -> Payload:
    files: Payload = {}
    for item in source.get("items") or ():
        own = item.get("mode")
        try:
            text = _downward_value(pod, item, objects.where)
        except downward.NoSuchField as wrong:
            raise Missing(str(wrong)) from wrong
        files[item["path"]] = File(text.encode(), mode if own is None else own)
    return files


def _downward_value(pod: Object, item: Object, where: Whereabouts) -> str:
    if item.get("fieldRef"):
        return downward.field_value(pod, item["fieldRef"]["fieldPath"], where)
    reference = item.get("resourceFieldRef") or {}
    named = {"name": reference.get("containerName") or ""}
    containers = (pod.get("spec") or {}).get("containers") or ()
    container = next((each for each in containers if each["name"] == named["name"]), named)
    return downward.resource_value(pod, container, reference, where)


def _mode(source: Object) -> int:
    mode = source.get("defaultMode")
    return DEFAULT_MODE if mode is None else int(mode)
