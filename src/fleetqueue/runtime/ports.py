"""Ports that pods of one machine share: where another job has a well-known one, this job is told
another; pure.

All pods of a job are told the same port, so they find each other; two jobs never meet by mistake.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

WELL_KNOWN = frozenset(
    {29500, 23456, 2222, 9999, 6666, 36543, 6379, 8265, 10001, 52365, 8080, 8000}
)
_ALWAYS_OWN = ("localhost", "127.0.0.1", "0.0.0.0", "[::]")
_PORT_VARIABLE = re.compile(r"(?:^|_)PORT(?:_|$)")
_FLAG = r"--?(?:[\w-]*[-_]|[a-z]\w*(?=P))?[pP]ort(?:[-_][\w-]*)?"
_PORT_FLAG = re.compile(rf"({_FLAG})(?:=(\d+))?")
_FLAG_IN_TEXT = re.compile(rf"(?<!\S)({_FLAG})(=| +)(\d+)(?!\S)")
_LINK_VARIABLE = re.compile(r"_SERVICE_PORT|_PORT_\d+_(TCP|UDP)|^KUBERNETES_")
_OF_EACH_POD = re.compile(r"--(metrics-export|dashboard-agent-listen)-port")
"""Ray's flags for ports that every node listens on."""


@dataclass
class JobPorts:
    """The ports of one job; the same for all its pods."""

    allocate: Callable[[int], int]
    """A port that is free on the machine: the one that is asked for, or another."""
    shared: dict[int, int] = field(default_factory=dict)
    pairs: dict[tuple[str, int], int] = field(default_factory=dict)

    def port(self, asked: int) -> int:
        """Where only one process of the job listens."""
        if asked not in self.shared:
            self.shared[asked] = self.allocate(asked)
        return self.shared[asked]

    def pair(self, host: str, asked: int) -> int:
        """Where every host of the job listens on the same port."""
        key = (host.partition(".")[0], asked)
        if key not in self.pairs:
            self.pairs[key] = self.allocate(asked)
        return self.pairs[key]

    @property
    def given(self) -> list[int]:
        return [*self.shared.values(), *self.pairs.values()]


@dataclass(frozen=True, slots=True)
class Hosts:
    """Which hosts are pods of a job: only ports behind them are the job's."""

    names: frozenset[str] = frozenset()
    """Names and addresses."""
    jobs: tuple[str, ...] = ()
    """What all names of the job begin with, also those of pods that are not there yet."""
    domains: tuple[str, ...] = ()
    """Services below which the pods of the job have their names."""
    others: frozenset[str] = frozenset()
    """Services with addresses of their own, which stand for themselves whatever they are called."""
    elsewhere: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """Services that lead straight to pods of other jobs, and what those were told in place of which
    port.
    """

    def pattern(self) -> str:
        plain = sorted({*self.names, *_ALWAYS_OWN}, key=len, reverse=True)
        begun = [rf"{re.escape(each)}(?:-[\w-]+)?(?:\.[\w.-]*\w)?" for each in self.jobs]
        below = [rf"[\w-]+\.{re.escape(each)}(?:\.[\w.-]*\w)?" for each in self.domains]
        theirs = [rf"{re.escape(each)}(?:\.[\w.-]*\w)?" for each in self.elsewhere]
        return "|".join([*theirs, *begun, *below, *map(re.escape, plain)])


@dataclass
class PodPorts:
    """The ports of a job as one of its pods is told them."""

    job: JobPorts
    own: str = ""
    """The host name of the pod."""
    hosts: Hosts = field(default_factory=Hosts)
    used: dict[int, int] = field(default_factory=dict)
    """What the pod's processes were told in place of which port."""

    def port(self, asked: int) -> int:
        self.used[asked] = self.job.port(asked)
        return self.used[asked]

    def pair(self, host: str, asked: int) -> int:
        given = self.job.pair(host, asked)
        if host.partition(".")[0] == self.own:
            self.used[asked] = given
        return given

    def settled(self) -> "PodPorts":
        """For what comes later than the job's own processes: a port that they were not told
        another number for is where they listen, whatever others have.
        """
        job = JobPorts(lambda asked: asked, dict(self.job.shared), dict(self.job.pairs))
        return PodPorts(job, self.own, self.hosts, dict(self.used))

    def flag(self, name: str, asked: int) -> int:
        return self.pair(self.own, asked) if _OF_EACH_POD.fullmatch(name) else self.port(asked)

    def behind(self, text: str) -> str:
        """A text with the ports behind the job's hosts replaced."""
        if ":" not in text:
            return text
        pattern = re.compile(rf"(?<![\w.-])({self.hosts.pattern()}):(\d+)(?!\d)")

        def replace(found: re.Match[str]) -> str:
            host, port = found.group(1), int(found.group(2))
            name = host.partition(".")[0]
            if port not in WELL_KNOWN or name in self.hosts.others:
                return found.group()
            if name in self.hosts.elsewhere:
                return f"{host}:{self.hosts.elsewhere[name].get(port, port)}"
            return f"{host}:{self.port(port)}"

        return pattern.sub(replace, text)


def map_variables(variables: Mapping[str, str], ports: PodPorts) -> dict[str, str]:
    """The variables of a process with the job's ports in place of the well-known ones."""
    mapped = dict(variables)
    for name, value in variables.items():
        if _LINK_VARIABLE.search(name):
            continue
        if name == "TF_CONFIG":
            mapped[name] = map_tensorflow(value, ports)
        elif _PORT_VARIABLE.search(name) and _is_well_known(value):
            mapped[name] = str(ports.port(int(value)))
        else:
            mapped[name] = ports.behind(value)
    return {**mapped, **map_workers(variables, ports)}


def map_arguments(arguments: Sequence[str], ports: PodPorts) -> tuple[str, ...]:
    """Flags whose name speaks of a port, and ports behind the job's hosts."""
    mapped: list[str] = []
    flag_before = ""
    for argument in arguments:
        flag = _PORT_FLAG.fullmatch(argument)
        if flag_before and _is_well_known(argument):
            mapped.append(str(ports.flag(flag_before, int(argument))))
        elif flag and flag.group(2) and _is_well_known(flag.group(2)):
            mapped.append(f"{flag.group(1)}={ports.flag(flag.group(1), int(flag.group(2)))}")
        else:
            mapped.append(ports.behind(_map_flags(argument, ports)))
        flag_before = flag.group(1) if flag is not None and flag.group(2) is None else ""
    return tuple(mapped)


def map_tensorflow(text: str, ports: PodPorts) -> str:
    """Each task of TF_CONFIG listens on a port of its own, the same in all pods."""
    try:
        config = json.loads(text)
        cluster = config["cluster"]
        config["cluster"] = {kind: _map_tasks(tasks, ports) for kind, tasks in cluster.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
    return json.dumps(config, separators=(",", ":"))


def map_workers(variables: Mapping[str, str], ports: PodPorts) -> dict[str, str]:
    """XGBoost: workers told with their ports get one each; told by names alone, they share one.

    Programs put names and WORKER_PORT together themselves, so no port may be put behind a name.
    """
    addresses = variables.get("WORKER_ADDRS", "")
    if ":" not in addresses:
        return {}
    changed = {"WORKER_ADDRS": ",".join(_map_task(each, ports) for each in addresses.split(","))}
    port = variables.get("WORKER_PORT", "")
    if port.isdigit() and ports.own:
        changed["WORKER_PORT"] = str(ports.pair(ports.own, int(port)))
    return changed


def _map_flags(text: str, ports: PodPorts) -> str:
    """The flags of commands within a script."""

    def replace(found: re.Match[str]) -> str:
        flag, between, port = found.groups()
        is_known = _is_well_known(port)
        return f"{flag}{between}{ports.flag(flag, int(port))}" if is_known else found.group()

    return _FLAG_IN_TEXT.sub(replace, text) if _has_words(text) else text


def _has_words(text: str) -> bool:
    return any(each.isspace() for each in text)


def _map_tasks(tasks: object, ports: PodPorts) -> object:
    if isinstance(tasks, dict):
        return {index: _map_task(task, ports) for index, task in tasks.items()}
    assert isinstance(tasks, Iterable)
    return [_map_task(task, ports) for task in tasks]


def _map_task(task: str, ports: PodPorts) -> str:
    host, colon, port = task.rpartition(":")
    return f"{host}:{ports.pair(host, int(port))}" if colon and port.isdigit() else task


def _is_well_known(text: str) -> bool:
    return text.isdigit() and int(text) in WELL_KNOWN
