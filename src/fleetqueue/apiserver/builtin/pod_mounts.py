"""Rules for how a container mounts the volumes of its pod."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, one_of
from fleetqueue.apiserver.builtin.file_paths import validate_descending, validate_no_backsteps
from fleetqueue.apiserver.builtin.pod_volumes import Volumes

Object = Mapping[str, Any]

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def validate_mounts(container: Object, volumes: Volumes, path: str) -> Errors:
    errors: Errors = []
    devices = {
        d.get("name", ""): d.get("devicePath", "") for d in container.get("volumeDevices") or ()
    }
    places: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        below = f"{path}[{index}]"
        name, place = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(fields.required(f"{below}.name"))
        if name not in volumes:
            errors.append(fields.not_found(f"{below}.name", name))
        if not place:
            errors.append(fields.required(f"{below}.mountPath"))
        if place in places:
            errors.append(fields.wrong(f"{below}.mountPath", place, "must be unique"))
        places.add(place)
        errors += _validate_apart(name, place, devices, below)
        errors += _validate_sub_paths(mount, path, below)
        errors += _validate_propagation(mount, container, f"{path}.mountPropagation")
        errors += _validate_recursive(mount, f"{path}.recursiveReadOnly")
    return errors


def validate_devices(container: Object, volumes: Volumes, path: str) -> Errors:
    errors: Errors = []
    mounts = {
        m.get("name", ""): m.get("mountPath", "") for m in container.get("volumeMounts") or ()
    }
    named: set[str] = set()
    places: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices") or ()):
        below = f"{path}[{index}]"
        name, place = device.get("name", ""), device.get("devicePath", "")
        errors += _validate_device_name(name, volumes, named, f"{below}.name")
        errors += _validate_device_place(place, places, f"{below}.devicePath")
        if name in mounts:
            why = "must not already exist in volumeMounts"
            errors.append(fields.wrong(f"{below}.name", name, why))
        if place in mounts.values():
            why = "must not already exist as a path in volumeMounts"
            errors.append(fields.wrong(f"{below}.devicePath", place, why))
    return errors


def _places(container: Object, kind: str, key: str) -> dict[str, str]:
    return {item.get("name", ""): item.get(key, "") for item in container.get(kind) or ()}


def _validate_apart(name: str, place: str, devices: dict[str, str], path: str) -> Errors:
    errors: Errors = []
    if name in devices:
        why = "must not already exist in volumeDevices"
        errors.append(fields.wrong(f"{path}.name", name, why))
    if place in devices.values():
        why = "must not already exist as a path in volumeDevices"
        errors.append(fields.wrong(f"{path}.mountPath", place, why))
    return errors


def _validate_sub_paths(mount: Object, path: str, below: str) -> Errors:
    plain, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    errors = validate_descending(plain, f"{path}.subPath") if plain else []
    if expression:
        if plain:
            why = "subPathExpr and subPath are mutually exclusive"
            errors.append(fields.wrong(f"{below}.subPathExpr", expression, why))
        errors += validate_descending(expression, f"{path}.subPathExpr")
    return errors


def _validate_propagation(mount: Object, container: Object, path: str) -> Errors:
    mode = mount.get("mountPropagation")
    errors = one_of(mode, _PROPAGATIONS, path)
    privileged = (container.get("securityContext") or {}).get("privileged")
    if mode == "Bidirectional" and not privileged:
        why = "Bidirectional mount propagation is available only to privileged containers"
        errors.append(fields.forbidden(path, why))
    return errors


def _validate_recursive(mount: Object, path: str) -> Errors:
    mode = mount.get("recursiveReadOnly")
    if mode not in ("Enabled", "IfPossible"):
        return one_of(mode, _RECURSIVE, path)
    errors: Errors = []
    if not mount.get("readOnly"):
        errors.append(fields.forbidden(path, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation") not in (None, "None"):
        why = "may only be specified when mountPropagation is None or not specified"
        errors.append(fields.forbidden(path, why))
    return errors


def _validate_device_name(name: str, volumes: Volumes, named: set[str], path: str) -> Errors:
    errors: Errors = []
    if not name:
        errors.append(fields.required(path))
    if name in named:
        errors.append(fields.wrong(path, name, "must be unique"))
    volume = volumes.get(name)
    if volume is None:
        errors.append(fields.not_found(path, name))
    elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
        why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        errors.append(fields.wrong(path, name, why))
    if name:
        named.add(name)
    return errors


def _validate_device_place(place: str, places: set[str], path: str) -> Errors:
    errors: Errors = []
    if not place:
        errors.append(fields.required(path))
    if place in places:
        errors.append(fields.wrong(path, place, "must be unique"))
    if place and validate_no_backsteps(place, path):
        errors.append(fields.wrong(path, place, "can not contain backsteps ('..')"))
    else:
        places.add(place)
    return errors
