"""Rules for volume sources that stand for a storage system outside the cluster."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, between, one_of, range_message, wrongs
from fleetqueue.apiserver.builtin.file_paths import validate_descending

Object = Mapping[str, Any]

DRIVER_NAME_LENGTH_MAX = 63
_TENANT_LENGTH_MAX = 64
_QUALIFIED_NAMES = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9\-.]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[a-zA-Z0-9]{16}$", re.ASCII),
    "naa": re.compile(r"^naa.[a-zA-Z0-9]{32}$", re.ASCII),
}
_PAIRS = "must be a host:port pair or multiple pairs separated by commas"
_MANAGED_DISK = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}"
    "/providers/microsoft.compute/disks/{disk-id}"
)
_BLOB_DISK = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def needs(*keys: str) -> Callable[[Object, str], Errors]:
    """A check that these fields are not empty."""

    def check(source: Object, path: str) -> Errors:
        return [fields.required(f"{path}.{key}") for key in keys if not source.get(key)]

    return check


def validate_git_repo(source: Object, path: str) -> Errors:
    errors = needs("repository")(source, path)
    return errors + validate_descending(source.get("directory", ""), f"{path}.directory")


def validate_gce_disk(source: Object, path: str) -> Errors:
    return needs("pdName")(source, path) + _validate_partition(source, path)


def validate_aws_disk(source: Object, path: str) -> Errors:
    return needs("volumeID")(source, path) + _validate_partition(source, path)


def validate_nfs(source: Object, path: str) -> Errors:
    errors = needs("server", "path")(source, path)
    target = source.get("path", "")
    if not target.startswith("/"):
        errors.append(fields.wrong(f"{path}.path", target, "must be an absolute path"))
    return errors


def validate_iscsi(source: Object, path: str) -> Errors:
    errors = needs("targetPortal", "iqn")(source, path)
    if source.get("iqn"):
        errors += _validate_qualified_name(source["iqn"], f"{path}.iqn")
    errors += between(source.get("lun"), 0, 255, f"{path}.lun")
    uses_secret = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if uses_secret and source.get("secretRef") is None:
        errors.append(fields.required(f"{path}.secretRef"))
    if (initiator := source.get("initiatorName")) is not None:
        errors += _validate_qualified_name(initiator, f"{path}.initiatorname")
    return errors


def validate_flocker(source: Object, path: str) -> Errors:
    name, identity = source.get("datasetName", ""), source.get("datasetUUID", "")
    errors: Errors = []
    if not name and not identity:
        errors.append(fields.required(path, "one of datasetName and datasetUUID is required"))
    if name and identity:
        why = "datasetName and datasetUUID can not be specified simultaneously"
        errors.append(fields.wrong(path, "resource", why))
    if "/" in name:
        errors.append(fields.wrong(f"{path}.datasetName", name, "must not contain '/'"))
    return errors


def validate_cinder(source: Object, path: str) -> Errors:
    return needs("volumeID")(source, path) + _validate_secret_name(source, path)


def validate_quobyte(source: Object, path: str) -> Errors:
    errors: Errors = []
    registry = source.get("registry", "")
    if not registry:
        errors.append(fields.required(f"{path}.registry", _PAIRS))
    elif len(source.get("tenant", "")) > _TENANT_LENGTH_MAX:
        why = "must be a UUID and may not exceed a length of 64 characters"
        errors.append(fields.required(f"{path}.tenant", why))
    else:
        pairs = registry.split(",")
        errors += [
            fields.wrong(f"{path}.registry", registry, _PAIRS)
            for pair in pairs
            if pair.count(":") != 1
        ]
    return errors + needs("volume")(source, path)


def validate_fibre_channel(source: Object, path: str) -> Errors:
    targets, identities = source.get("targetWWNs") or [], source.get("wwids") or []
    errors: Errors = []
    if not targets and not identities:
        why = "must specify either targetWWNs or wwids, but not both"
        errors.append(fields.required(f"{path}.targetWWNs", why))
    if targets and identities:
        why = "targetWWNs and wwids can not be specified simultaneously"
        errors.append(fields.wrong(f"{path}.targetWWNs", targets, why))
    if targets and source.get("lun") is None:
        errors.append(fields.required(f"{path}.lun", "lun is required if targetWWNs is specified"))
    elif targets:
        errors += between(source["lun"], 0, 255, f"{path}.lun")
    return errors


def validate_flex(source: Object, path: str) -> Errors:
    errors = needs("driver")(source, path)
    for key in source.get("options") or {}:
        domain = f".{key.split('/', 1)[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            why = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(fields.wrong(f"{path}.options[{key}]", key, why))
    return errors


def validate_azure_disk(source: Object, path: str) -> Errors:
    errors = needs("diskName", "diskURI")(source, path)
    modes, kinds = ("None", "ReadOnly", "ReadWrite"), ("Dedicated", "Managed", "Shared")
    errors += one_of(source.get("cachingMode"), modes, f"{path}.cachingMode")
    kind, location = source.get("kind"), source.get("diskURI", "")
    errors += one_of(kind, kinds, f"{path}.kind")
    if kind == "Managed" and not location.startswith("/subscriptions/"):
        errors.append(fields.unsupported(f"{path}.diskURI", location, [_MANAGED_DISK]))
    if kind is not None and kind != "Managed" and not location.startswith("https://"):
        errors.append(fields.unsupported(f"{path}.diskURI", location, [_BLOB_DISK]))
    return errors


def validate_storage_os(source: Object, path: str) -> Errors:
    errors = needs("volumeName")(source, path)
    for name in ("volumeName", "volumeNamespace"):
        value = source.get(name, "")
        if value:
            errors += wrongs(f"{path}.{name}", value, names.dns1123_label(value))
    return errors + _validate_secret_name(source, path)


def validate_csi(source: Object, path: str) -> Errors:
    errors = validate_driver_name(source.get("driver", ""), f"{path}.driver")
    secret = source.get("nodePublishSecretRef")
    if secret is None:
        return errors
    if not secret.get("name"):
        return [*errors, fields.required(f"{path}.nodePublishSecretRef.name")]
    return errors + wrongs(f"{path}.name", secret["name"], names.dns1123_subdomain(secret["name"]))


def validate_driver_name(driver: str, path: str) -> Errors:
    errors: Errors = []
    if not driver:
        errors.append(fields.required(path))
    if len(driver) > DRIVER_NAME_LENGTH_MAX:
        errors.append(fields.too_long(path, DRIVER_NAME_LENGTH_MAX))
    return errors + wrongs(path, driver, names.dns1123_subdomain(driver.lower()))


def _validate_partition(source: Object, path: str) -> Errors:
    partition = source.get("partition") or 0
    if 0 <= partition <= 255:
        return []
    return [fields.wrong(f"{path}.partition", partition, range_message(1, 255))]


def _validate_qualified_name(name: str, path: str) -> Errors:
    pattern = _QUALIFIED_NAMES.get(name[:3])
    if pattern is None:
        why = "must be valid format starting with iqn, eui, or naa"
        return [fields.wrong(path, name, why)]
    return [] if pattern.search(name) else [fields.wrong(path, name, "must be valid format")]


def _validate_secret_name(source: Object, path: str) -> Errors:
    secret = source.get("secretRef")
    if secret is None or secret.get("name"):
        return []
    return [fields.required(f"{path}.secretRef.name")]
