"""The volumes of a pod as directories of this machine, and where its containers see them."""

import os
import shutil
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.atomic_files import write_files
from fleetqueue.runtime.environment import ConfigError
from fleetqueue.runtime.expansion import expand, missing_values
from fleetqueue.runtime.payloads import Missing, Objects, is_made_of_objects, payload_of
from fleetqueue.runtime.preparation import NotReady
from fleetqueue.runtime.processes import Mount

_MEMORY = Path("/dev/shm")
_KINDS = {
    "Directory": (stat.S_ISDIR, "a directory"),
    "File": (stat.S_ISREG, "a file"),
    "Socket": (stat.S_ISSOCK, "a socket file"),
    "CharDevice": (stat.S_ISCHR, "a character device"),
    "BlockDevice": (stat.S_ISBLK, "a block device"),
}


class FailedMount(NotReady):
    """A volume cannot be had, perhaps for now; an event says so, and the pod waits."""

    def __init__(self, volume: str, why: str) -> None:
        super().__init__("FailedMount", f'MountVolume.SetUp failed for volume "{volume}" : {why}')


@dataclass
class Volumes:
    """The volumes of one pod; `directory` is where those of its own are made."""

    pod: Object
    directory: Path
    objects: Objects
    claim: Callable[[str], Path | None]
    """Where a claim of the pod's namespace lies; None where it does not exist. Raises Missing."""
    paths: dict[str, Path] = field(default_factory=dict)
    """Of those that are ready, by name."""

    def prepare(self, now: datetime) -> None:
        """Makes all of them ready. Raises FailedMount."""
        for volume in (self.pod.get("spec") or {}).get("volumes") or ():
            self.paths[volume["name"]] = self._prepare(volume, now)

    def refresh(self, now: datetime) -> bool:
        """Writes what changed in the objects behind; what is missing by now stays as it was."""
        has_changed = False
        for volume in (self.pod.get("spec") or {}).get("volumes") or ():
            if is_made_of_objects(volume):
                try:
                    payload = payload_of(self.pod, volume, self.objects)
                except Missing:
                    continue
                path = self.directory / volume["name"]
                has_changed |= write_files(path, payload, now, self._group)
        return has_changed

    def mounts(self, container: Object, variables: Mapping[str, str]) -> tuple[Mount, ...]:
        """Where a container sees its volumes. Raises ConfigError."""
        return tuple(
            self._mount(container, mount, variables)
            for mount in container.get("volumeMounts") or ()
        )

    def release(self) -> None:
        """Removes what is the pod's own."""
        shutil.rmtree(self.directory, ignore_errors=True)
        for path in _MEMORY.glob(f"{self._memory_prefix}*"):
            shutil.rmtree(path, ignore_errors=True)

    @property
    def _group(self) -> int | None:
        security = (self.pod.get("spec") or {}).get("securityContext") or {}
        group = security.get("fsGroup")
        return None if group is None else int(group)

    @property
    def _memory_prefix(self) -> str:
        return f"fleetqueue-{self.pod['metadata']['uid']}-"

    def _prepare(self, volume: Object, now: datetime) -> Path:
        name = str(volume["name"])
        if is_made_of_objects(volume):
            try:
                payload = payload_of(self.pod, volume, self.objects)
            except Missing as missing:
                raise FailedMount(name, str(missing)) from missing
            write_files(self.directory / name, payload, now, self._group)
            return self.directory / name
        if volume.get("hostPath") is not None:
            return _host_path(name, volume["hostPath"])
        if volume.get("persistentVolumeClaim") is not None:
            return self._claimed(name, volume["persistentVolumeClaim"]["claimName"])
        if volume.get("ephemeral") is not None:
            return self._claimed(name, f"{self.pod['metadata']['name']}-{name}")
        if volume.get("emptyDir") is not None or set(volume) == {"name"}:
            return self._empty(name, volume.get("emptyDir") or {})
        kind = next((key for key in volume if key != "name"), "")
        raise FailedMount(name, f'volumes of the type "{kind}" are not supported here')

    def _empty(self, name: str, source: Object) -> Path:
        path = self.directory / name
        if source.get("medium") == "Memory" and os.access(_MEMORY, os.W_OK):
            path = _MEMORY / f"{self._memory_prefix}{name}"
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o777)
        self._give_to_group(path)
        return path

    def _claimed(self, name: str, claim: str) -> Path:
        try:
            path = self.claim(claim)
        except Missing as missing:
            raise FailedMount(name, str(missing)) from missing
        if path is None:
            raise FailedMount(name, f'persistentvolumeclaim "{claim}" not found')
        path.mkdir(parents=True, exist_ok=True)
        self._give_to_group(path)
        return path

    def _give_to_group(self, path: Path) -> None:
        if self._group is not None and os.geteuid() == 0:
            os.chown(path, -1, self._group)
            path.chmod(path.stat().st_mode & 0o7777 | 0o2070)

    def _mount(self, container: Object, mount: Object, variables: Mapping[str, str]) -> Mount:
        name = mount["name"]
        volume = self.paths.get(name)
        if volume is None:
            text = f'cannot find volume "{name}" to mount into container "{container["name"]}"'
            raise ConfigError(text)
        inside = _sub_path(mount, variables)
        source = _inside(volume, inside, name, container["name"]) if inside else volume
        is_read_only = bool(mount.get("readOnly")) or self._is_read_only(name)
        return Mount(source, mount["mountPath"], is_read_only)

    def _is_read_only(self, name: str) -> bool:
        volumes = (self.pod.get("spec") or {}).get("volumes") or ()
        volume = next(each for each in volumes if each["name"] == name)
        claim = volume.get("persistentVolumeClaim") or {}
        return is_made_of_objects(volume) or bool(claim.get("readOnly"))


def _host_path(name: str, source: Object) -> Path:
    path, kind = Path(source["path"]), source.get("type") or ""
    if kind in ("", "DirectoryOrCreate") and not path.exists():
        path.mkdir(parents=True, mode=0o755)
    elif kind == "FileOrCreate" and not path.exists():
        path.touch(mode=0o644)
    sort = kind.removesuffix("OrCreate")
    if sort in _KINDS:
        is_right, words = _KINDS[sort]
        if not path.exists() or not is_right(path.stat().st_mode):
            raise FailedMount(name, f"hostPath type check failed: {path} is not {words}")
    return path


def _sub_path(mount: Object, variables: Mapping[str, str]) -> str:
    path = mount.get("subPath") or ""
    if mount.get("subPathExpr"):
        missing = missing_values(mount["subPathExpr"], variables)
        if missing:
            raise ConfigError(f"missing value for {', '.join(missing)}")
        path = expand(mount["subPathExpr"], variables)
    if path.startswith("/"):
        raise ConfigError(f"error SubPath `{path}` must not be an absolute path")
    if ".." in PurePosixPath(path).parts:
        raise ConfigError(f"unable to provision SubPath `{path}`: must not contain '..'")
    return path


def _inside(volume: Path, path: str, name: str, container: str) -> Path:
    """A directory or file below a volume, made where it is missing; never anything outside."""
    there = volume / path
    words = f'subPath directory for volumeMount "{name}" of container "{container}"'
    root = os.path.realpath(volume)
    if os.path.commonpath([root, os.path.realpath(there)]) != root:
        raise ConfigError(
            f'failed to prepare subPath for volumeMount "{name}" of container "{container}"'
        )
    try:
        if not there.exists():
            there.mkdir(parents=True, mode=stat.S_IMODE(volume.stat().st_mode))
    except OSError:
        raise ConfigError(f"failed to create {words}") from None
    return Path(os.path.realpath(there))
