"""Ports that pods of one machine share: a job's well-known ones are moved to free ones.

All pods of a job are told the same port, so they find each other; two jobs never meet by mistake.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

WELL_KNOWN = frozenset(
    {29500, 23456, 2222, 9999, 6666, 36543, 6379, 8265, 10001, 52365, 8080, 8000}
)
_PORT_VARIABLE = re.compile(r"(?:^|_)PORT(?:_|$)")
_PORT_FLAG = re.compile(r"(--?(?:[\w-]*[-_]|[a-z]\w*(?=P))?[pP]ort(?:[-_][\w-]*)?)(?:=(\d+))?")
_LINK_VARIABLE = re.compile(r"_SERVICE_PORT|_PORT_\d+_(TCP|UDP)|^KUBERNETES_")


@dataclass
class JobPorts:
    """The ports of one job; the same for all its pods."""

    allocate: Callable[[], int]
    """A port that is free on the machine."""
    shared: dict[int, int] = field(default_factory=dict)
    pairs: dict[tuple[str, int], int] = field(default_factory=dict)

    def port(self, asked: int) -> int:
        """Where only one process of the job listens."""
        if asked not in self.shared:
            self.shared[asked] = self.allocate()
        return self.shared[asked]

    def pair(self, host: str, asked: int) -> int:
        """Where every host of the job listens on the same port."""
        key = (host.partition(".")[0], asked)
        if key not in self.pairs:
            self.pairs[key] = self.allocate()
        return self.pairs[key]


def map_variables(
    variables: Mapping[str, str], ports: JobPorts, hosts: Collection[str], own: str = ""
) -> dict[str, str]:
    """The variables of a process with the job's ports in place of the well-known ones.

    `hosts` are the names and addresses of the job's pods: only ports behind them are changed;
    `own` is the name of the pod itself.
    """
    mapped = dict(variables)
    for name, value in variables.items():
        if _LINK_VARIABLE.search(name):
            continue
        if name == "TF_CONFIG":
            mapped[name] = map_tensorflow(value, ports)
        elif _PORT_VARIABLE.search(name) and _is_well_known(value):
            mapped[name] = str(ports.port(int(value)))
        else:
            mapped[name] = _map_behind(value, ports, hosts)
    return {**mapped, **map_workers(variables, own, ports)}


def map_arguments(
    arguments: Sequence[str], ports: JobPorts, hosts: Collection[str]
) -> tuple[str, ...]:
    """Flags whose name speaks of a port, and ports behind the job's hosts."""
    mapped: list[str] = []
    is_port_next = False
    for argument in arguments:
        flag = _PORT_FLAG.fullmatch(argument)
        if is_port_next and _is_well_known(argument):
            mapped.append(str(ports.port(int(argument))))
        elif flag and flag.group(2) and _is_well_known(flag.group(2)):
            mapped.append(f"{flag.group(1)}={ports.port(int(flag.group(2)))}")
        else:
            mapped.append(_map_behind(argument, ports, hosts))
        is_port_next = flag is not None and flag.group(2) is None
    return tuple(mapped)


def map_tensorflow(text: str, ports: JobPorts) -> str:
    """Each task of TF_CONFIG listens on a port of its own, the same in all pods."""
    try:
        config = json.loads(text)
        cluster = config["cluster"]
        config["cluster"] = {kind: _map_tasks(tasks, ports) for kind, tasks in cluster.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
    return json.dumps(config, separators=(",", ":"))


def map_workers(variables: Mapping[str, str], own: str, ports: JobPorts) -> dict[str, str]:
    """XGBoost: workers told with their ports get one each; told by names alone, they share one.

    Programs put names and WORKER_PORT together themselves, so no port may be put behind a name.
    """
    addresses = variables.get("WORKER_ADDRS", "")
    if ":" not in addresses:
        return {}
    changed = {"WORKER_ADDRS": ",".join(_map_task(each, ports) for each in addresses.split(","))}
    port = variables.get("WORKER_PORT", "")
    if port.isdigit() and own:
        changed["WORKER_PORT"] = str(ports.pair(own, int(port)))
    return changed


def container_ports(container: Mapping[str, object], ports: JobPorts) -> dict[str, int]:
    """The numbers behind a container's named ports, as its processes use them."""
    declared = container.get("ports") or ()
    assert isinstance(declared, Sequence)
    return {
        each["name"]: ports.shared.get(each["containerPort"], each["containerPort"])
        for each in declared
        if each.get("name")
    }


def _map_tasks(tasks: object, ports: JobPorts) -> object:
    if isinstance(tasks, dict):
        return {index: _map_task(task, ports) for index, task in tasks.items()}
    assert isinstance(tasks, list)
    return [_map_task(task, ports) for task in tasks]


def _map_task(task: str, ports: JobPorts) -> str:
    host, colon, port = task.rpartition(":")
    return f"{host}:{ports.pair(host, int(port))}" if colon and port.isdigit() else task


def _map_behind(text: str, ports: JobPorts, hosts: Collection[str]) -> str:
    if not hosts or ":" not in text:
        return text
    choice = "|".join(re.escape(host) for host in sorted(hosts, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w.-])({choice}):(\d+)(?!\d)")

    def replace(found: re.Match[str]) -> str:
        host, port = found.groups()
        return f"{host}:{ports.port(int(port))}" if int(port) in WELL_KNOWN else found.group()

    return pattern.sub(replace, text)


def _is_well_known(text: str) -> bool:
    return text.isdigit() and int(text) in WELL_KNOWN
