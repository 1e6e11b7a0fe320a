"""Rules for the volumes of a pod: each has a name and exactly one source."""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.api import names, quantity
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import pod_projections, storage_plugins
from fleetqueue.apiserver.builtin.checks import Errors, required_one_of, wrongs
from fleetqueue.apiserver.builtin.claim_specs import validate_claim_template
from fleetqueue.apiserver.builtin.file_paths import validate_no_backsteps

Object = Mapping[str, Any]
Volumes = dict[str, Object]
SourceCheck = Callable[[Object, str], Errors]

_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)


def validate_volumes(
    volumes: list[Object], pod_name: str, path: str, *, is_pod: bool = False
) -> tuple[Volumes, Errors]:
    """The volumes that containers may use, by name, and what is wrong with the others.

    `pod_name` is empty where the pod has no name yet.
    """
    errors: Errors = []
    good: Volumes = {}
    created = _created_claims(volumes, pod_name)
    for index, volume in enumerate(volumes):
        below = f"{path}[{index}]"
        found = _validate_source(volume, pod_name, below, is_pod)
        found += _validate_name(volume.get("name", ""), good, f"{below}.name")
        if not found:
            good[volume["name"]] = volume
        errors += found
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in created:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(fields.wrong(f"{below}.persistentVolumeClaim.claimName", claim, why))
    return good, errors


def _created_claims(volumes: list[Object], pod_name: str) -> set[str]:
    if not pod_name:
        return set()
    return {f"{pod_name}-{v.get('name', '')}" for v in volumes if v.get("ephemeral") is not None}


def _validate_name(name: str, taken: Volumes, path: str) -> Errors:
    if not name:
        return [fields.required(path)]
    errors = wrongs(path, name, names.dns1123_label(name))
    if name in taken:
        errors.append(fields.duplicate(path, name))
    return errors


def _validate_source(volume: Object, pod_name: str, path: str, is_pod: bool) -> Errors:
    errors: Errors = []
    count = 0
    for kind, check in _SOURCES.items():
        source = volume.get(kind)
        if source is None:
            continue
        count += 1
        if count > 1:
            shown = _SHOWN_AS.get(kind, kind)
            errors.append(
                fields.forbidden(f"{path}.{shown}", "may not specify more than 1 volume type")
            )
            continue
        errors += check(source, f"{path}.{_CHECKED_AS.get(kind, kind)}")
        if kind == "ephemeral":
            errors += _validate_created_claim(volume.get("name", ""), pod_name, path)
        if kind == "image" and is_pod and not source.get("reference"):
            errors.append(fields.required(f"{path}.image.reference"))
    if not count:
        errors.append(fields.required(path, "must specify a volume type"))
    return errors + _validate_portal_length(volume, path)


def _validate_created_claim(volume_name: str, pod_name: str, path: str) -> Errors:
    if not pod_name or not volume_name:
        return []
    claim = f"{pod_name}-{volume_name}"
    return [
        fields.wrong(f"{path}.name", volume_name, f'PVC name "{claim}": {message}')
        for message in names.dns1123_subdomain(claim)
    ]


def _validate_portal_length(volume: Object, path: str) -> Errors:
    source = volume.get("iscsi") or {}
    name = volume.get("name", "")
    if source.get("initiatorName") is None or len(f"{name}:{source.get('targetPortal', '')}") <= 64:
        return []
    why = (
        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
        "if iscsi.initiatorName is specified."
    )
    return [fields.wrong(f"{path}.name", name, why)]


def _validate_empty_dir(source: Object, path: str) -> Errors:
    limit = source.get("sizeLimit")
    if limit is not None and quantity.parse(limit).sign() < 0:
        why = "SizeLimit field must be a valid resource quantity"
        return [fields.forbidden(f"{path}.sizeLimit", why)]
    return []


def _validate_host_path(source: Object, path: str) -> Errors:
    if not source.get("path"):
        return [fields.required(f"{path}.path")]
    errors = validate_no_backsteps(source["path"], f"{path}.path")
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        errors.append(fields.unsupported(f"{path}.type", kind, _HOST_PATH_TYPES))
    return errors


def _validate_claim(source: Object, path: str) -> Errors:
    return [] if source.get("claimName") else [fields.required(f"{path}.claimName")]


def _validate_ephemeral(source: Object, path: str) -> Errors:
    template = source.get("volumeClaimTemplate")
    if template is None:
        return [fields.required(f"{path}.volumeClaimTemplate")]
    return validate_claim_template(template, f"{path}.volumeClaimTemplate")


def _validate_image(source: Object, path: str) -> Errors:
    policies = ("Always", "IfNotPresent", "Never")
    return required_one_of(source.get("pullPolicy"), policies, f"{path}.pullPolicy")


# The order decides which source counts as the extra one.
_SOURCES: dict[str, SourceCheck] = {
    "emptyDir": _validate_empty_dir,
    "hostPath": _validate_host_path,
    "gitRepo": storage_plugins.validate_git_repo,
    "gcePersistentDisk": storage_plugins.validate_gce_disk,
    "awsElasticBlockStore": storage_plugins.validate_aws_disk,
    "secret": pod_projections.validate_secret,
    "nfs": storage_plugins.validate_nfs,
    "iscsi": storage_plugins.validate_iscsi,
    "glusterfs": storage_plugins.needs("endpoints", "path"),
    "flocker": storage_plugins.validate_flocker,
    "persistentVolumeClaim": _validate_claim,
    "rbd": storage_plugins.needs("monitors", "image"),
    "cinder": storage_plugins.validate_cinder,
    "cephfs": storage_plugins.needs("monitors"),
    "quobyte": storage_plugins.validate_quobyte,
    "downwardAPI": pod_projections.validate_downward,
    "fc": storage_plugins.validate_fibre_channel,
    "flexVolume": storage_plugins.validate_flex,
    "configMap": pod_projections.validate_config_map,
    "azureFile": storage_plugins.needs("secretName", "shareName"),
    "vsphereVolume": storage_plugins.needs("volumePath"),
    "photonPersistentDisk": storage_plugins.needs("pdID"),
    "portworxVolume": storage_plugins.needs("volumeID"),
    "azureDisk": storage_plugins.validate_azure_disk,
    "storageos": storage_plugins.validate_storage_os,
    "projected": pod_projections.validate_projected,
    "scaleIO": storage_plugins.needs("gateway", "system", "volumeName"),
    "csi": storage_plugins.validate_csi,
    "ephemeral": _validate_ephemeral,
    "image": _validate_image,
}

# Two sources are misspelt in upstream's paths, and one is checked below another name.
_SHOWN_AS = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
_CHECKED_AS = {"gcePersistentDisk": "persistentDisk"}
