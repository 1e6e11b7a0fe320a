"""Warnings for container ports that are defined twice or cannot be told apart."""

from collections.abc import Iterator, Mapping
from typing import Any

from fleetqueue.apiserver.builtin.pod_containers import visit

Object = Mapping[str, Any]


def warn_of_ports(spec: Object, path: str) -> Iterator[str]:
    ports = [
        (port, f"{below}.ports[{index}]")
        for container, below in visit(spec, path)
        for index, port in enumerate(container.get("ports") or ())
    ]
    yield from _warn_of_numbers(ports)
    yield from _warn_of_names(ports)


def _warn_of_numbers(ports: list[tuple[Object, str]]) -> Iterator[str]:
    known: dict[tuple[int, str], list[tuple[Object, str]]] = {}
    for port, path in ports:
        if port.get("hostIP") and not port.get("hostPort"):
            yield f"{path}: hostIP set without hostPort: {_shown(port)}"
        key = (port.get("containerPort") or 0, port.get("protocol", ""))
        for other, other_path in known.setdefault(key, []):
            if relation := _relation(port, other):
                yield f"{path}: {relation} port definition with {other_path}"
        known[key].append((port, path))


def _relation(port: Object, other: Object) -> str:
    number, other_number = port.get("hostPort") or 0, other.get("hostPort") or 0
    address, other_address = port.get("hostIP", ""), other.get("hostIP", "")
    if (number, address) == (other_number, other_address):
        return "duplicate"
    if not number or not other_number:
        return "overlapping"
    if number == other_number and bool(address) != bool(other_address):
        return "dangerously ambiguous"
    return ""


def _warn_of_names(ports: list[tuple[Object, str]]) -> Iterator[str]:
    known: dict[str, str] = {}
    for port, path in ports:
        name = port.get("name", "")
        if name in known:
            other = known[name]
            yield (
                f'{path}: duplicate port name "{name}" with {other}, '
                f"services and probes that select ports by name will use {other}"
            )
        elif name:
            known[name] = path


def _shown(port: Object) -> str:
    return (
        f"{{Name:{port.get('name', '')} HostPort:{port.get('hostPort') or 0} "
        f"ContainerPort:{port.get('containerPort') or 0} Protocol:{port.get('protocol', '')} "
        f"HostIP:{port.get('hostIP', '')}}}"
    )
