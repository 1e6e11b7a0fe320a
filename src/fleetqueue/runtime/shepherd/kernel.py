"""What Linux offers and Python does not wrap: namespaces, mounts, and ties between processes."""

import ctypes
import os
import sys
from typing import Any

IS_LINUX = sys.platform == "linux"

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWUSER = 0x10000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_NOATIME = 1024
MS_NODIRATIME = 2048
MS_BIND = 4096
MS_MOVE = 8192
MS_REC = 16384
MS_UNBINDABLE = 1 << 17
MS_PRIVATE = 1 << 18
MS_RELATIME = 1 << 21
MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}
_ST_RELATIME = 4096

_libc: Any = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def setns(descriptor: int, kind: int = 0) -> None:
    _check(_libc.setns(descriptor, kind), "setns")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    done = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode(),
        ctypes.c_ulong(flags),
        options.encode() or None,
    )
    _check(done, target)


def bind(source: str, target: str) -> None:
    """With what is mounted below, as an unprivileged namespace demands."""
    mount(source, target, "", MS_BIND | MS_REC)


def make_read_only(target: str) -> None:
    """The flags a mount came with stay: a user namespace may not lift them."""
    kept = os.statvfs(target).f_flag
    flags = kept & (MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME)
    if kept & _ST_RELATIME:
        flags |= MS_RELATIME
    mount("", target, "", flags | MS_REMOUNT | MS_BIND | MS_RDONLY)


def make_root(directory: str) -> None:
    """The directory becomes `/` of this mount namespace; what was there before is gone from it."""
    os.chdir(directory)
    number = _PIVOT_ROOT.get(os.uname().machine)
    if number is not None and _libc.syscall(ctypes.c_long(number), b".", b".") == 0:
        _check(_libc.umount2(b".", MNT_DETACH), "umount")
    else:
        mount(directory, "/", "", MS_MOVE)
        os.chroot(".")
    os.chdir("/")


def become_subreaper() -> None:
    """Orphans among the descendants become children of this process."""
    if IS_LINUX:
        _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def die_with_parent(signal_number: int) -> None:
    if IS_LINUX:
        _check(_libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "prctl")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
