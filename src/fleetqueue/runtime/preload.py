"""Loaded by every Python program of a pod whose machine has no namespaces, as `sitecustomize`.

Makes the names of the cluster resolve, and lets servers listen on the pod's own address. A copy of
this file is put on the program's path, so it uses the standard library alone.
"""

import importlib.machinery
import importlib.util
import os
import socket
import sys
from typing import Any

_NAMES_FILE = os.environ.get("FLEETQUEUE_NAMES", "")
_POD_ADDRESS = os.environ.get("FLEETQUEUE_POD_IP", "")
_HOSTNAME = os.environ.get("HOSTNAME", "")
_WILDCARDS = ("", "0.0.0.0")

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
        is_wild = self.family == socket.AF_INET and address[0] in _WILDCARDS
        return real(self, (_POD_ADDRESS, address[1]) if is_wild else address)

    return bind


def load_next() -> None:
    """The `sitecustomize` that the program would have had without this one."""
    here = os.path.dirname(os.path.abspath(__file__))
    others = [path for path in sys.path if os.path.abspath(path or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if __name__ == "sitecustomize":
    install()
    load_next()
