"""Where a fleet of this machine keeps what it knows: clusters, ports, the process that runs it."""

import os
import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fleetqueue.base import documents
from fleetqueue.errors import UserError
from fleetqueue.local_fleet.lock import Lock, is_alive
from fleetqueue.nursery import disks

DEFAULT = Path("~/.fleetqueue")
MANAGER = "manager"


class Member(msgspec.Struct, frozen=True):
    """One cluster of the fleet."""

    name: str
    port: int

    @property
    def is_manager(self) -> bool:
        return self.name == MANAGER

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"


class Record(msgspec.Struct, frozen=True, rename="camel"):
    """What `fleet.json` says."""

    members: list[Member] = []
    cpu: str = "9"
    memory: str = "36Gi"
    gpus: int = 0
    is_bare: bool = False
    simulates: bool = False
    config: str = ""
    """The path of the manager's configuration; "" for none."""
    images: str = ""
    """The path of what says which environments stand for which images; "" for none."""
    is_job_aware: bool = True
    """Whether placed jobs are followed to their end, or treated as KubeFleet does."""
    dashboard_port: int = 0
    """Where the manager shows a dashboard; 0: nowhere."""
    is_furnished: bool = False
    """Whether all that a fleet finds in place was made once; from then on it is people's."""
    is_hub: bool = False
    """The same of what makes the manager a hub, and the workers its members."""
    before: "Record | None" = None
    """What is in place, as long as this one is not: a start that fails must not forget it."""

    @property
    def in_place(self) -> "Record | None":
        """What was furnished last."""
        return self if self.is_furnished else self.before

    @property
    def workers(self) -> list[Member]:
        return [each for each in self.members if not each.is_manager]


@dataclass(frozen=True, slots=True)
class Directory:
    """DIR of `fleetqueue up --dir DIR`."""

    path: Path

    @property
    def option(self) -> str:
        """How a shell is told of it."""
        return f"--dir {shlex.quote(str(self.path))}"

    @property
    def kubeconfig(self) -> Path:
        return self.path / "kubeconfig"

    def data_of(self, name: str) -> Path:
        return self.path / name

    def log_of(self, name: str) -> Path:
        return self.path / "logs" / f"{name}.log"

    def pid_file(self, name: str) -> Path:
        """Of the process that is one cluster, as long as the fleet runs."""
        return self.path / "logs" / f"{name}.pid"

    def pid_of(self, name: str) -> str:
        """ "" where it was never started."""
        try:
            return self.pid_file(name).read_text().strip()
        except FileNotFoundError:
            return ""

    def is_alive(self, name: str) -> bool:
        text = self.pid_of(name)
        return text.isdigit() and is_alive(int(text))

    def prepare(self) -> None:
        try:
            with self._room():
                self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
                (self.path / "logs").mkdir(exist_ok=True)
                os.close(os.open(self.lock.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise UserError(f'"{self.path}" cannot hold a fleet: {error.strerror}') from error

    @contextmanager
    def _room(self) -> Iterator[None]:
        """For what is written here."""
        try:
            yield
        except OSError as error:
            if error.errno not in disks.FULL:
                raise
            raise UserError(disks.told(error, self.path)) from error

    def read(self) -> Record | None:
        """None where no fleet was ever started."""
        path = self.path / "fleet.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=Record)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except msgspec.MsgspecError as error:
            raise UserError(f"{path} cannot be read ({error}): mend it or remove it") from error

    def write(self, record: Record) -> None:
        path = self.path / "fleet.json"
        fresh = path.with_suffix(".new")
        with self._room():
            fresh.write_bytes(msgspec.json.format(msgspec.json.encode(record)) + b"\n")
        os.replace(fresh, path)

    @property
    def lock(self) -> Lock:
        """Held by the process that runs the fleet, and by its clusters."""
        return Lock(self.path / "lock")

    def pid(self) -> int | None:
        """Of the process that runs the fleet."""
        return self.lock.pid()

    def write_kubeconfig(self, members: list[Member]) -> None:
        """One context for each cluster, the manager's first."""
        made: dict[str, list[object]] = {"clusters": [], "users": [], "contexts": []}
        for member in members:
            one = documents.load((self.data_of(member.name) / "kubeconfig").read_text())
            name = member.name
            made["clusters"].append({"name": name, "cluster": one["clusters"][0]["cluster"]})
            made["users"].append({"name": name, "user": one["users"][0]["user"]})
            context = {"cluster": name, "user": name, "namespace": "default"}
            made["contexts"].append({"name": name, "context": context})
        text = documents.dump(
            {"apiVersion": "v1", "kind": "Config", **made, "current-context": MANAGER}
        )
        fresh = self.kubeconfig.with_suffix(".new")
        with self._room():
            fresh.touch(mode=0o600)
            fresh.write_text(text)
        os.replace(fresh, self.kubeconfig)


def members(workers: int, known: Record | None) -> list[Member]:
    """A manager and so many workers; those that are known keep their ports if they can."""
    ports = {} if known is None else {each.name: each.port for each in known.members}
    names = [MANAGER, *(f"worker-{number}" for number in range(1, workers + 1))]
    taken: set[int] = set()
    made = []
    for name in names:
        port = _free(ports.get(name, 0), taken)
        taken.add(port)
        made.append(Member(name, port))
    return made


def _free(wanted: int, taken: set[int]) -> int:
    """The wanted port, or another that nobody listens on."""
    for port in (wanted, *[0] * 20):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found = int(probe.getsockname()[1])
        if found not in taken:
            return found
    raise UserError("no port of this machine is free")
