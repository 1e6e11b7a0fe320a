"""Volumes at their mount paths by symbolic links, where a machine has no namespaces and the path is
free; what was made is noted, so that the machine is as before when the pod is gone.
"""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from fleetqueue.runtime.processes import Mount

NOTES = "links.json"
_SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/root", "/run",
           "/sbin", "/sys", "/usr", "/var")  # fmt: skip


def link_mount(mount: Mount, directory: Path) -> bool:
    """Puts a link where a volume is expected, if nothing is there; whether the volume is there now.

    `directory` is the pod's, where that is noted.
    """
    target = Path(os.path.normpath(mount.target))
    top = "/" + target.parts[1] if len(target.parts) > 1 else "/"
    if target == Path("/") or top in _SYSTEM:
        return False
    if _leads(target, mount.source):
        return True
    try:
        made = _make_parents(target)
        target.symlink_to(mount.source)
    except OSError:
        return False
    notes = _notes(directory)
    notes.append({"target": str(target), "source": str(mount.source), "made": made})
    directory.mkdir(parents=True, exist_ok=True)
    (directory / NOTES).write_text(json.dumps(notes))
    return True


def remove_links(directory: Path) -> None:
    """Takes away what `link_mount` made for a pod, and nothing else."""
    for note in reversed(_notes(directory)):
        target = Path(note["target"])
        if _leads(target, Path(note["source"])):
            target.unlink(missing_ok=True)
        for parent in reversed(note["made"]):
            # Others may use it by now.
            with contextlib.suppress(OSError):
                os.rmdir(parent)
    (directory / NOTES).unlink(missing_ok=True)


def _leads(target: Path, source: Path) -> bool:
    return target.is_symlink() and os.readlink(target) == str(source)


def _make_parents(target: Path) -> list[str]:
    """The directories that had to be made, outer ones first."""
    missing = [parent for parent in target.parents if not parent.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    return [str(parent) for parent in reversed(missing)]


def _notes(directory: Path) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = json.loads((directory / NOTES).read_text())
        return found
    except (OSError, ValueError):
        return []
