"""Writes the files of a volume so that a reader sees all of the old ones or all of the new ones.

The files lie in a directory named after the moment; `..data` points to it and is switched at once,
and what a user sees are links through `..data`.
"""

import contextlib
import os
import shutil
from datetime import datetime
from pathlib import Path

from fleetqueue.runtime.payloads import File, Payload

_CURRENT = "..data"
_NEXT = "..data_tmp"


def write_files(directory: Path, payload: Payload, now: datetime, group: int | None = None) -> bool:
    """Whether anything had to be changed."""
    directory.mkdir(parents=True, exist_ok=True)
    current = directory / _CURRENT
    if current.is_dir() and read_files(current) == _as_written(payload, group):
        return False
    old = os.readlink(current) if current.is_symlink() else ""
    new = _make_directory(directory, now)
    for path, file in payload.items():
        _write(new / path, file, group)
    os.symlink(new.name, directory / _NEXT)
    os.replace(directory / _NEXT, current)
    _link(directory, payload)
    if old:
        shutil.rmtree(directory / old, ignore_errors=True)
    return True


def read_files(directory: Path) -> Payload:
    """What lies below a directory, with the modes it has."""
    return {
        str(path.relative_to(directory)): File(path.read_bytes(), path.stat().st_mode & 0o7777)
        for path in directory.rglob("*")
        if path.is_file()
    }


def _as_written(payload: Payload, group: int | None) -> Payload:
    return {path: File(file.data, _mode(file, group)) for path, file in payload.items()}


def _mode(file: File, group: int | None) -> int:
    """Whoever is in the pod's group may read what its user may."""
    return file.mode if group is None else file.mode | 0o440


def _make_directory(directory: Path, now: datetime) -> Path:
    stamp = now.strftime("..%Y_%m_%d_%H_%M_%S.%f")
    number = 0
    while True:
        made = directory / f"{stamp}{number:03d}"
        with contextlib.suppress(FileExistsError):
            made.mkdir(mode=0o755)
            return made
        number += 1


def _write(path: Path, file: File, group: int | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file.data)
    if group is not None and os.geteuid() == 0:
        os.chown(path, -1, group)
    path.chmod(_mode(file, group))


def _link(directory: Path, payload: Payload) -> None:
    wanted = {Path(path).parts[0] for path in payload}
    for entry in directory.iterdir():
        if entry.is_symlink() and entry.name != _CURRENT and entry.name not in wanted:
            entry.unlink()
    for name in wanted:
        if not (directory / name).is_symlink():
            os.symlink(f"{_CURRENT}/{name}", directory / name)
