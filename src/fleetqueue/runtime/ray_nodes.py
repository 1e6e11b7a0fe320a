"""What `ray start` must be told when several nodes of Ray share one machine; pure.

Every node of Ray believes that it has the machine to itself: its address and its ports are told.
"""

import re
from collections.abc import Sequence

from fleetqueue.runtime.ports import PodPorts

_START = re.compile(r"(?<![\w/.-])ray start(?=\s|$)(?P<flags>[^;&|\n]*)")
_HEAD_PORTS = {"port": 6379, "ray-client-server-port": 10001, "dashboard-port": 8265}
_OWN_PORTS = {"dashboard-agent-listen-port": 52365, "metrics-export-port": 8080}
_ANY_PORTS = ("node-manager-port", "object-manager-port", "min-worker-port", "max-worker-port")


def place_ray(argv: Sequence[str], address: str, ports: PodPorts) -> tuple[str, ...]:
    """A command with what is missing in each `ray start` of it; what is there stays."""
    if tuple(argv[:2]) == ("ray", "start"):
        return (*argv, *_missing(" ".join(argv[2:]), address, ports))
    return tuple(_place_in_script(word, address, ports) for word in argv)


def _place_in_script(text: str, address: str, ports: PodPorts) -> str:
    def complete(found: re.Match[str]) -> str:
        flags = found.group("flags")
        more = " ".join(_missing(flags, address, ports))
        return f"ray start {more}{flags}" if more else found.group()

    return _START.sub(complete, text)


def _missing(flags: str, address: str, ports: PodPorts) -> list[str]:
    wanted = {"node-ip-address": address, **dict.fromkeys(_ANY_PORTS, "0")}
    wanted |= {name: str(ports.pair(ports.own, port)) for name, port in _OWN_PORTS.items()}
    if re.search(r"(?<!\S)--head(?!\S)", flags):
        wanted |= {name: str(ports.port(port)) for name, port in _HEAD_PORTS.items()}
    return [
        f"--{name}={value}"
        for name, value in wanted.items()
        if not re.search(rf"(?<!\S)--{name}(?=[=\s]|$)", flags)
    ]
