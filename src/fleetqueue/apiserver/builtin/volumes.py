"""PersistentVolumes: one source each, a capacity, and a source that never changes."""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import storage_plugins as plugins
from fleetqueue.apiserver.builtin.checks import IMMUTABLE, Errors, immutable, one_of, same, wrongs
from fleetqueue.apiserver.builtin.claim_specs import ACCESS_MODES, VOLUME_MODES
from fleetqueue.apiserver.builtin.file_paths import validate_no_backsteps
from fleetqueue.apiserver.builtin.internal_form import diff_internal
from fleetqueue.apiserver.builtin.making import kind, part
from fleetqueue.apiserver.builtin.pod_affinity import validate_node_selector
from fleetqueue.apiserver.builtin.pod_defaults import default_source
from fleetqueue.apiserver.builtin.pod_resources import read
from fleetqueue.apiserver.builtin.volume_warnings import warn_of_volume
from fleetqueue.apiserver.strategy import Object, Strategy
from fleetqueue.base import codec

Source = Callable[[Mapping[str, Any], str], Errors]

MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
MOUNTABLE = (
    *("gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi"),
    *("cinder", "cephfs", "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk"),
)
RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
ONE_SOURCE = "may not specify more than 1 volume type"
HOST_PATH_TYPES = (
    "",
    "DirectoryOrCreate",
    "Directory",
    "FileOrCreate",
    "File",
    "Socket",
    "CharDevice",
    "BlockDevice",
)


def default_volume(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("persistentVolumeReclaimPolicy"):
        spec["persistentVolumeReclaimPolicy"] = "Retain"
    spec.setdefault("volumeMode", "Filesystem")
    default_source(spec)
    if not part(obj, "status").get("phase"):
        obj["status"] = {**part(obj, "status"), "phase": "Pending"}


def prepare_volume(obj: Object) -> None:
    since = obj["metadata"].get("creationTimestamp")
    obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": since}


def validate_volume(obj: Object, old: Object | None) -> Errors:
    errors = validate_volume_spec(obj["spec"], "spec") + _validate_mount_options(obj)
    return errors if old is None else errors + _validate_update(obj["spec"], old["spec"])


def _validate_mount_options(obj: Object) -> Errors:
    annotated = MOUNT_OPTIONS in (obj["metadata"].get("annotations") or {})
    if not annotated or any(obj["spec"].get(source) is not None for source in MOUNTABLE):
        return []
    why = "may not specify mount options for this volume type"
    return [fields.forbidden(f"metadata.annotations.{MOUNT_OPTIONS}", why)]


def validate_volume_spec(spec: Mapping[str, Any], path: str) -> Errors:
    errors = _validate_modes(spec.get("accessModes") or [], f"{path}.accessModes")
    errors += _validate_capacity(spec.get("capacity"), f"{path}.capacity")
    policy = spec.get("persistentVolumeReclaimPolicy")
    errors += one_of(policy, RECLAIM_POLICIES, f"{path}.persistentVolumeReclaimPolicy")
    errors += _validate_affinity(spec.get("nodeAffinity"), f"{path}.nodeAffinity")
    errors += _validate_source(spec, path)
    if name := spec.get("storageClassName"):
        errors += wrongs(f"{path}.storageClassName", name, names.dns1123_subdomain(name))
    errors += one_of(spec.get("volumeMode"), VOLUME_MODES, f"{path}.volumeMode")
    return errors + _validate_attributes(spec, path)


def _validate_modes(modes: list[str], path: str) -> Errors:
    errors = [] if modes else [fields.required(path)]
    for mode in modes:
        errors += one_of(mode, ACCESS_MODES, path)
    others = set(modes) & (set(ACCESS_MODES) - {"ReadWriteOncePod"})
    if "ReadWriteOncePod" in modes and others:
        why = "may not use ReadWriteOncePod with other access modes"
        errors.append(fields.forbidden(path, why))
    return errors


def _validate_capacity(capacity: Mapping[str, str] | None, path: str) -> Errors:
    errors: Errors = []
    if not capacity:
        errors.append(fields.required(path))
    if set(capacity or ()) != {"storage"}:
        errors.append(fields.unsupported(path, capacity, ("storage",)))
    for name, amount in read(capacity).items():
        if amount.sign() < 0:
            text = "must be a valid resource quantity"
            errors.append(fields.wrong(f"{path}[{name}]", amount.value(), text))
        if amount.sign() <= 0:
            why = "must be greater than zero"
            errors.append(fields.wrong(f"{path}[{name}]", str(amount), why))
    return errors


def _validate_affinity(affinity: Mapping[str, Any] | None, path: str) -> Errors:
    if affinity is None:
        return []
    if affinity.get("required") is None:
        return [fields.required(f"{path}.required", "must specify required node constraints")]
    return validate_node_selector(affinity["required"], f"{path}.required")


def _validate_source(spec: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    count = 0
    for name, check in SOURCES.items():
        source = spec.get(name)
        if source is None:
            continue
        count += 1
        if count > 1:
            errors.append(fields.forbidden(f"{path}.{name}", ONE_SOURCE))
        else:
            errors += check(source, f"{path}.{name}")
    if not count:
        errors.append(fields.required(path, "must specify a volume type"))
    is_local = count == 1 and spec.get("local") is not None
    if is_local and not part(spec, "nodeAffinity").get("required"):
        why = "Local volume requires node affinity"
        errors.append(fields.required(f"{path}.nodeAffinity", why))
    is_root = part(spec, "hostPath").get("path") in ("/", "//")
    if is_root and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        why = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(fields.forbidden(f"{path}.persistentVolumeReclaimPolicy", why))
    return errors


def _validate_attributes(spec: Mapping[str, Any], path: str) -> Errors:
    name, at = spec.get("volumeAttributesClassName"), f"{path}.volumeAttributesClassName"
    if name is None:
        return []
    errors = wrongs(at, name, names.dns1123_subdomain(name)) if name else []
    if not name:
        errors.append(fields.required(at, "an empty string is disallowed"))
    if spec.get("csi") is None:
        why = "has to be specified when using volumeAttributesClassName"
        errors.append(fields.required(f"{path}.csi", why))
    return errors


def _validate_update(spec: Object, before: Object) -> Errors:
    errors: Errors = []
    new = codec.copy({name: spec[name] for name in SOURCES if name in spec})
    old = {name: before[name] for name in SOURCES if name in before}
    if "controllerExpandSecretRef" not in part(old, "csi"):
        (new.get("csi") or {}).pop("controllerExpandSecretRef", None)
    if not same(new, old):
        shown = diff_internal("PersistentVolumeSource", old, new)
        why = f"spec.persistentvolumesource is immutable after creation\n{shown}"
        errors.append(fields.forbidden("spec.persistentvolumesource", why))
    errors += immutable(spec.get("volumeMode"), before.get("volumeMode"), "volumeMode")
    affinity, was = spec.get("nodeAffinity"), before.get("nodeAffinity")
    if was is not None and not same(affinity, was):
        why = f"{IMMUTABLE}, except for updating from beta label to GA"
        errors.append(fields.wrong("nodeAffinity", affinity, why))
    name = "volumeAttributesClassName"
    if before.get(name) is not None and spec.get(name) is None:
        why = "update from non-nil value to nil is forbidden"
        errors.append(fields.forbidden(f"spec.{name}", why))
    return errors


def _prepare_status(obj: Object, old: Object) -> None:
    """A phase keeps the time it began, unless the writer says otherwise."""
    status, before = part(obj, "status"), part(old, "status")
    name = "lastPhaseTransitionTime"
    if status.get("phase") == before.get("phase") and not status.get(name) and before.get(name):
        obj["status"] = {**status, name: before[name]}


def _host_path(source: Mapping[str, Any], path: str) -> Errors:
    if not source.get("path"):
        return [fields.required(f"{path}.path")]
    errors = validate_no_backsteps(source["path"], f"{path}.path")
    return errors + one_of(source.get("type"), HOST_PATH_TYPES, f"{path}.type")


def _local(source: Mapping[str, Any], path: str) -> Errors:
    if not source.get("path"):
        return [fields.required(f"{path}.path")]
    return validate_no_backsteps(source["path"], f"{path}.path")


def _csi(source: Mapping[str, Any], path: str) -> Errors:
    errors = plugins.validate_driver_name(source.get("driver", ""), f"{path}.driver")
    if not source.get("volumeHandle"):
        errors.append(fields.required(f"{path}.volumeHandle"))
    for name in ("controllerPublish", "controllerExpand", "nodePublish", "nodeExpand"):
        reference = source.get(f"{name}SecretRef")
        if reference is not None:
            errors += _secret(reference, f"{path}.{name}SecretRef")
    return errors


def _secret(reference: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    checks = (("name", names.dns1123_subdomain), ("namespace", names.dns1123_label))
    for name, check in checks:
        value = reference.get(name, "")
        if value:
            errors += wrongs(f"{path}.{name}", value, check(value))
        else:
            errors.append(fields.required(f"{path}.{name}"))
    return errors


SOURCES: dict[str, Source] = {
    "hostPath": _host_path,
    "gcePersistentDisk": plugins.validate_gce_disk,
    "awsElasticBlockStore": plugins.validate_aws_disk,
    "glusterfs": plugins.needs("endpoints", "path"),
    "flocker": plugins.validate_flocker,
    "nfs": plugins.validate_nfs,
    "rbd": plugins.needs("monitors", "image"),
    "quobyte": plugins.validate_quobyte,
    "cephfs": plugins.needs("monitors"),
    "iscsi": plugins.validate_iscsi,
    "cinder": plugins.validate_cinder,
    "fc": plugins.validate_fibre_channel,
    "flexVolume": plugins.validate_flex,
    "azureFile": plugins.needs("secretName", "shareName"),
    "vsphereVolume": plugins.needs("volumePath"),
    "photonPersistentDisk": plugins.needs("pdID"),
    "portworxVolume": plugins.needs("volumeID"),
    "azureDisk": plugins.validate_azure_disk,
    "scaleIO": plugins.needs("gateway", "system", "volumeName"),
    "local": _local,
    "storageos": plugins.validate_storage_os,
    "csi": _csi,
}


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "PersistentVolume"): kind(
        validate_volume,
        default=default_volume,
        prepare_create=prepare_volume,
        prepare_status=_prepare_status,
        warnings=warn_of_volume,
        returns_deleted=True,
    ),
}
