"""The view of the machine that a container has: its own root with volumes bound into it.

The host's directories are bound one by one below an empty root. Where a volume needs a place that
the host does not have, the directory above it is rebuilt from its entries: the host stays as it is.
"""

import contextlib
import os
import re
import socket
import stat
from typing import NamedTuple

from fleetqueue.runtime.shepherd import kernel
from fleetqueue.runtime.shepherd.fields import Fields, made

_LINKS_MAX = 40
_KEPT_OF_HOST = ("/proc", "/sys", "/dev")
"""What a container with a root of its own still shares with the host."""
_TERMINAL = re.compile(r"/dev/(tty\w+|vcs\w*|loop\d+|ram\d+)")
"""Consoles and disks are many, and nothing in a container asks for them."""


class Bind(NamedTuple):
    """A path of the host and where the container sees it."""

    source: str
    target: str
    is_read_only: bool = False


class Layout(Fields):
    """What has to be done for a list of binds, in this order."""

    rebuilt: list[str] = made(default_factory=list)
    """Directories made anew of their entries, outer ones first."""
    binds: list[Bind] = made(default_factory=list)
    """With targets free of symbolic links, outer ones first."""


def enter(binds: list[Bind], hostname: str, stage: str) -> None:
    """Moves this process into namespaces of its own; `stage` is an empty directory of the host."""
    _leave_host()
    if hostname:
        socket.sethostname(hostname)
    root = next((bind.source for bind in binds if bind.target == "/"), "/")
    if root != "/":
        kept = [Bind(path, path) for path in _KEPT_OF_HOST]
        binds = kept + [bind for bind in binds if bind.target != "/"]
    _build(lay_out(binds, root), root, stage)
    kernel.make_root(stage)


def join(pid: int) -> None:
    """Moves this process to where another one is."""
    kinds = ["mnt", "uts"] if os.geteuid() == 0 else ["user", "mnt", "uts"]
    opened = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds]
    for descriptor in opened:
        kernel.setns(descriptor)
        os.close(descriptor)


def lay_out(binds: list[Bind], root: str = "/") -> Layout:
    """Where each bind goes, and which directories must be rebuilt to make room for it."""
    layout = Layout()
    rebuilt = {"/"}
    for bind in sorted(binds, key=lambda bind: os.path.normpath(bind.target).count("/")):
        target = resolve(bind.target, layout.binds, root)
        layout.binds.append(Bind(bind.source, target, bind.is_read_only))
        if _cover(target, layout.binds[:-1]) is None:
            there = target
            while not os.path.lexists(host_path(there, [], root)):
                there = os.path.dirname(there)
            if there != target:
                rebuilt.add(there)
    layout.rebuilt = sorted(rebuilt, key=lambda path: (path.count("/"), path != "/", path))
    return layout


def resolve(path: str, binds: list[Bind], root: str) -> str:
    """The path as the container will see it, free of symbolic links."""
    links = 0
    done, rest = "/", [part for part in path.split("/") if part not in ("", ".")]
    while rest:
        part = rest.pop(0)
        if part == "..":
            done = os.path.dirname(done)
            continue
        there = os.path.join(done, part)
        on_host = host_path(there, binds, root)
        if not os.path.islink(on_host):
            done = there
            continue
        links += 1
        if links > _LINKS_MAX:
            raise OSError(f"too many symbolic links in {path}")
        link = os.readlink(on_host)
        done = "/" if link.startswith("/") else done
        rest = [piece for piece in link.split("/") if piece not in ("", ".")] + rest
    return done


def host_path(path: str, binds: list[Bind], root: str) -> str:
    """What lies on the host behind a path of the container."""
    cover = _cover(path, binds, strictly=False)
    if cover is None:
        return os.path.join(root, path.lstrip("/"))
    return cover.source + path[len(cover.target) :]


def _cover(path: str, binds: list[Bind], strictly: bool = True) -> Bind | None:
    """The innermost bind that the path lies in."""
    found = [
        bind
        for bind in binds
        if path.startswith(bind.target + "/") or (path == bind.target and not strictly)
    ]
    return max(found, key=lambda bind: len(bind.target), default=None)


def _leave_host() -> None:
    flags = kernel.CLONE_NEWNS | kernel.CLONE_NEWUTS
    user, group = os.geteuid(), os.getegid()
    if user != 0:
        kernel.unshare(flags | kernel.CLONE_NEWUSER)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    else:
        kernel.unshare(flags)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)


def _build(layout: Layout, root: str, stage: str) -> None:
    for directory in layout.rebuilt:
        _rebuild(host_path(directory, [], root), stage + directory)
    for bind in layout.binds:
        place = stage + bind.target
        _make_place(bind.source, place)
        kernel.bind(bind.source, place)
        if bind.is_read_only:
            kernel.make_read_only(place)


def _rebuild(original: str, place: str) -> None:
    mode = stat.S_IMODE(os.stat(original).st_mode)
    kernel.mount("fleetqueue", place, "tmpfs", 0, f"mode={mode:o}")
    # Or else the recursive binds below would bring the new root into itself.
    kernel.mount("", place, "", kernel.MS_UNBINDABLE)
    # What may not be read could not be seen in it before either.
    with contextlib.suppress(PermissionError), os.scandir(original) as entries:
        for entry in entries:
            if _TERMINAL.fullmatch(entry.path):
                continue
            # Entries come and go while they are read.
            with contextlib.suppress(FileNotFoundError):
                _place_entry(entry, os.path.join(place, entry.name))


def _place_entry(entry: "os.DirEntry[str]", place: str) -> None:
    if entry.is_symlink():
        os.symlink(os.readlink(entry.path), place)
        return
    _make_place(entry.path, place)
    kernel.bind(entry.path, place)


def _make_place(source: str, place: str) -> None:
    """Something to mount on, of the same sort as what is mounted."""
    if os.path.isdir(source):
        os.makedirs(place, exist_ok=True)
    elif not os.path.lexists(place):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
