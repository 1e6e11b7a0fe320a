"""Kubeconfigs in files of the manager's disk: which may be read, what stands in them, and when
they change.
"""

import asyncio
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fleetqueue.multikueue.credentials import BAD_KUBECONFIG, Loaded, Trouble, from_content
from fleetqueue.multikueue.settings import DispatchSettings

LOOK_SECONDS = 0.5
"""How often files are looked at. Volumes of a cluster tell no watcher when they change."""
BATCH_SECONDS = 0.1
OUTSIDE = "kubeconfig path is not under the allowed prefix"


class BadPath(ValueError):
    """Why a path is not read, as the condition says it."""


def load(path: str, settings: DispatchSettings) -> Loaded:
    try:
        if settings.gates.path_validation:
            path = allowed_path(path, settings.kubeconfig_directory)
        return from_content(Path(path).read_bytes())
    except BadPath as error:
        return Trouble(BAD_KUBECONFIG, str(error))
    except OSError as error:
        return Trouble(BAD_KUBECONFIG, f"open {path}: {_reason(error)}")


def allowed_path(path: str, directory: str) -> str:
    """The file itself, with all links resolved, if it is inside of the directory."""
    if not path:
        raise BadPath("kubeconfig path must not be empty")
    clean = re.sub("^//", "/", os.path.normpath(path))  # POSIX gives two slashes a meaning.
    if ".." in Path(clean).parts:
        raise BadPath(f'{OUTSIDE}: path contains ".."')
    if not os.path.isabs(clean):
        raise BadPath(f"{OUTSIDE}: path must be absolute")
    _check_inside(clean, os.path.normpath(directory), directory)
    try:
        inside = os.path.realpath(directory, strict=True)
    except OSError as error:
        raise BadPath(f'{OUTSIDE}: "{clean}" is not under "{directory}"') from error
    try:
        resolved = os.path.realpath(clean, strict=True)
    except OSError as error:
        where = f"lstat {error.filename or clean}"
        text = f"cannot resolve kubeconfig path symlinks: {where}: {_reason(error)}"
        raise BadPath(text) from error
    _check_inside(resolved, inside, directory)
    return resolved


def _check_inside(path: str, inside: str, directory: str) -> None:
    if not Path(path).is_relative_to(inside):
        raise BadPath(f'{OUTSIDE}: "{path}" is not under "{directory}"')


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


@dataclass(frozen=True, slots=True)
class _Print:
    """What shows that a file is another one, or has another content."""

    target: str
    link: tuple[int, ...]
    file: tuple[int, ...]


class FollowedFiles:
    """Looks at the files that clusters name, and tells which clusters have another one now."""

    def __init__(self, changed: Callable[[Iterable[str]], None]) -> None:
        self._changed = changed
        self._paths: dict[str, str] = {}
        """By cluster."""
        self._known: dict[str, _Print] = {}
        """By path."""
        self._wanted = asyncio.Event()

    def follow(self, cluster: str, path: str) -> None:
        """From how the file is just now; before it is read."""
        if self._paths.get(cluster) not in (None, path):
            self.forget(cluster)
        self._paths[cluster] = path
        self._known[path] = _print(path)
        self._wanted.set()

    def forget(self, cluster: str) -> None:
        path = self._paths.pop(cluster, None)
        if path is not None and path not in self._paths.values():
            self._known.pop(path, None)
        if not self._paths:
            self._wanted.clear()

    @property
    def paths(self) -> set[str]:
        return set(self._known)

    async def run(self) -> None:
        while True:
            await self._wanted.wait()
            await asyncio.sleep(LOOK_SECONDS)
            if self._look():
                # What else is being written goes with it.
                await asyncio.sleep(BATCH_SECONDS)
                self._tell()

    def _look(self) -> bool:
        return any(_print(path) != known for path, known in self._known.items())

    def _tell(self) -> None:
        now = {path: _print(path) for path in self._known}
        changed = {path for path, seen in now.items() if seen != self._known[path]}
        self._known.update(now)
        self._changed([name for name, path in self._paths.items() if path in changed])


def _print(path: str) -> _Print:
    """Of the path and of what it leads to: a volume is changed by turning a link."""
    target = os.path.realpath(path) if path else ""
    return _Print(target, _stat(path, follow=False), _stat(target, follow=True))


def _stat(path: str, *, follow: bool) -> tuple[int, ...]:
    with suppress(OSError, ValueError):
        found = os.stat(path, follow_symlinks=follow)
        return (found.st_ino, found.st_dev, found.st_size, found.st_mtime_ns)
    return ()
