"""Loaded by every Python program of a pod whose machine has no namespaces, as `sitecustomize`.

Makes the names of the cluster resolve, lets servers listen on the pod's own address, and finds
volumes behind their mount paths. A copy of this file is put on the program's path, so it uses the
standard library alone.
"""

import builtins
import importlib.machinery
import importlib.util
import io
import json
import os
import socket
import sys
from typing import Any

_NAMES_FILE = os.environ.get("FLEETQUEUE_NAMES", "")
_POD_ADDRESS = os.environ.get("FLEETQUEUE_POD_IP", "")
_HOSTNAME = os.environ.get("HOSTNAME", "")
_PLACES: dict[str, str] = json.loads(os.environ.get("FLEETQUEUE_PLACES", "{}"))
_WILDCARDS = ("", "0.0.0.0")
_WILDCARD_6 = "::"
_TAKE_A_PATH = (
    "access", "chdir", "chmod", "listdir", "lstat", "mkdir", "mkfifo", "open", "readlink", "remove",
    "rmdir", "scandir", "stat", "statvfs", "truncate", "unlink", "utime",
)  # fmt: skip
_TAKE_TWO = ("link", "rename", "replace", "symlink")

_names: dict[str, list[str]] = {}
_read_at: float = -1.0


def names() -> dict[str, list[str]]:
    """The addresses of each name, read again whenever the file changed."""
    global _read_at, _names
    try:
        changed_at = os.stat(_NAMES_FILE).st_mtime_ns
        if changed_at != _read_at:
            with open(_NAMES_FILE) as file:
                _names = read_hosts(file.read())
            _read_at = changed_at
    except OSError:
        pass
    return _names


def read_hosts(text: str) -> dict[str, list[str]]:
    """A hosts file."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        address, *listed = line.partition("#")[0].split() or [""]
        for name in listed:
            found.setdefault(name.lower(), []).append(address)
    return found


def addresses_of(name: object) -> list[str]:
    """IPv4 alone: the addresses of pods are."""
    text = name.decode() if isinstance(name, bytes) else name
    if not isinstance(text, str):
        return []
    return [each for each in names().get(text.lower().rstrip("."), []) if ":" not in each]


def install() -> None:
    """Wraps what Python programs resolve names and listen with."""
    module: Any = socket
    real = {
        name: getattr(module, name)
        for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr", "getfqdn")
    }

    def getaddrinfo(host: Any, port: Any, *args: Any, **more: Any) -> Any:
        found = addresses_of(host)
        if not found:
            return real["getaddrinfo"](host, port, *args, **more)
        return [each for one in found for each in real["getaddrinfo"](one, port, *args, **more)]

    def gethostbyname(host: Any) -> Any:
        return real["gethostbyname"](next(iter(addresses_of(host)), host))

    def gethostbyname_ex(host: Any) -> Any:
        found = addresses_of(host)
        return (host, [], found) if found else real["gethostbyname_ex"](host)

    def gethostbyaddr(host: Any) -> Any:
        wanted = next(iter(addresses_of(host)), host)
        named = [name for name, listed in names().items() if wanted in listed]
        if named:
            return named[0], named[1:], [wanted]
        return real["gethostbyaddr"](host)

    def getfqdn(name: str = "") -> Any:
        wanted = name or _HOSTNAME
        own = next(iter(addresses_of(wanted)), "")
        named = [each for each, listed in names().items() if own and own in listed and "." in each]
        return named[0] if named else real["getfqdn"](wanted)

    module.getaddrinfo, module.gethostbyname = getaddrinfo, gethostbyname
    module.gethostbyname_ex, module.gethostbyaddr = gethostbyname_ex, gethostbyaddr
    module.getfqdn = getfqdn
    if _HOSTNAME:
        module.gethostname = lambda: _HOSTNAME
    if _POD_ADDRESS:
        module.socket.bind = _bind_to_pod(module.socket.bind)


def _bind_to_pod(real: Any) -> Any:
    def bind(self: Any, address: Any) -> Any:
        if self.family == socket.AF_INET and address[0] in _WILDCARDS:
            return real(self, (_POD_ADDRESS, address[1]))
        if self.family == socket.AF_INET6 and address[0] in ("", _WILDCARD_6):
            # One that listens on everything of both kinds; the pod has an address of one kind.
            self.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            return real(self, (f"::ffff:{_POD_ADDRESS}", address[1]))
        return real(self, address)

    return bind


def place_of(path: Any) -> Any:
    """Where a path of the container lies on the machine."""
    try:
        text = os.fspath(path)
    except TypeError:
        return path
    name = os.fsdecode(text)
    for place in sorted(_PLACES, key=len, reverse=True):
        if name == place or name.startswith(place + "/"):
            found = _PLACES[place] + name[len(place) :]
            return os.fsencode(found) if isinstance(text, bytes) else found
    return path


def install_places() -> None:
    """Wraps what Python programs reach files with."""
    for name in _TAKE_A_PATH:
        _wrap(name, _of_one)
    for name in _TAKE_TWO:
        _wrap(name, _of_two)
    module: Any = builtins
    real_open = module.open

    def open(file: Any, *args: Any, **more: Any) -> Any:
        return real_open(place_of(file), *args, **more)

    module.open = open
    other: Any = io
    other.open = open


def _of_one(real: Any) -> Any:
    def call(path: Any = ".", *args: Any, **more: Any) -> Any:
        return real(place_of(path), *args, **more)

    return call


def _of_two(real: Any) -> Any:
    def call(first: Any, second: Any, *args: Any, **more: Any) -> Any:
        return real(place_of(first), place_of(second), *args, **more)

    return call


def _wrap(name: str, wrapper: Any) -> None:
    real = getattr(os, name)
    wrapped = wrapper(real)
    setattr(os, name, wrapped)
    # The standard library asks these what a function can do.
    for abilities in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        if real in abilities:
            abilities.add(wrapped)


def load_next() -> None:
    """The `sitecustomize` that the program would have had without this one."""
    here = os.path.dirname(os.path.abspath(__file__))
    others = [path for path in sys.path if os.path.abspath(path or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if __name__ == "sitecustomize":
    install()
    if _PLACES:
        install_places()
    load_next()
