"""Runs the clusters of a fleet: the process that `fleetqueue up` leaves behind."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from fleetqueue.api.quantity import Quantity, QuantityError
from fleetqueue.app import ServeOptions
from fleetqueue.base import log_lines
from fleetqueue.embedded.options import LiveOptions
from fleetqueue.errors import FleetqueueError, UserError
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kueue import KueueOptions, read_options
from fleetqueue.local_fleet import guardian
from fleetqueue.local_fleet.directory import Directory, Member, Record
from fleetqueue.local_fleet.held import Phase
from fleetqueue.multikueue.dispatchers.registry import warnings_of
from fleetqueue.nursery import disks
from fleetqueue.nursery.parent import Nursery
from fleetqueue.runtime.image_files import read_images
from fleetqueue.runtime.images import ImageTable
from fleetqueue.runtime.nodes import NodeSpec

logger = logging.getLogger(__name__)

T = TypeVar("T")
GPU = "nvidia.com/gpu"
READY_SECONDS = 60.0
MESSAGE_BYTES = 64 * 1024


def check(record: Record) -> None:
    """Before anything starts: what cannot be is told in a sentence."""
    for option, amount, such_as in (
        ("--cpu", record.cpu, "8 or 500m"),
        ("--memory", record.memory, "16Gi"),
    ):
        if not _is_amount(amount):
            raise UserError(f'"{amount}" is no amount for {option}: write one such as {such_as}')
    _check_dispatcher(record)
    _images_of(record)
    _check_dashboard(record.dashboard_port)


def _check_dashboard(port: int) -> None:
    """Its cluster would find out too, but not by which option the port came."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise UserError(
                f"the dashboard cannot listen on port {port} ({error.strerror}): choose another"
                " with --dashboard-port, or 0 for none"
            ) from error


def _check_dispatcher(record: Record) -> None:
    """A manager goes on with a name that nobody has; whoever types one here waits for nothing."""
    for warning in warnings_of(_queueing_of(record).config.multi_kueue.dispatcher_name):
        raise UserError(f"--config {record.config}: {warning}")


def _is_amount(text: str) -> bool:
    try:
        return Quantity.of(text) > Quantity.of(0)
    except QuantityError:
        return False


def _queueing_of(record: Record) -> KueueOptions:
    """The manager's."""
    if not record.config:
        return read_options()
    return _read(record.config, "--config", partial(read_options, is_embedded=True))


def _images_of(record: Record) -> ImageTable | None:
    """The same in all clusters."""
    if not record.images:
        return None
    return _read(record.images, "--images", read_images)


def _read(path: str, option: str, parse: Callable[[str], T]) -> T:
    """A file that was named at some start, perhaps an earlier one."""
    try:
        return parse(Path(path).read_text())
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}): bring it back, name another with {option},"
            f" or do without: --no-{option.removeprefix('--')}"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{option} {path}: this is not a text file ({error.reason})") from error
    except (FleetqueueError, ValueError) as error:
        raise UserError(f"{option} {path}: {error}") from error


def options_of(directory: Directory, record: Record, member: Member) -> ServeOptions:
    """What `fleetqueue serve` would be told for one cluster of the fleet."""
    data = directory.data_of(member.name)
    queueing = _queueing_of(record) if member.is_manager else read_options()
    mode: Literal["process", "simulated"] = "simulated" if record.simulates else "process"
    capacity = {} if member.is_manager else capacity_of(record)
    node = NodeSpec(member.name, mode=mode, capacity=capacity)
    live = LiveOptions(
        data,
        [node],
        record.simulates,
        gpus=record.gpus,
        images=_images_of(record),
        kueue=queueing,
        hub=HubSettings(is_job_aware=record.is_job_aware) if member.is_manager else None,
        is_job_aware=record.is_job_aware,
    )
    page = record.dashboard_port if member.is_manager else 0
    return ServeOptions(data, member.port, durability="normal", live=live, dashboard_port=page)


def capacity_of(record: Record) -> dict[str, str]:
    """Of each worker: as much as was asked for, whatever the machine that all of them share has."""
    made = {"cpu": record.cpu, "memory": record.memory}
    return {**made, GPU: str(record.gpus)} if record.gpus else made


def run(directory: Directory, record: Record, ready: Callable[[], None]) -> None:
    """Until it is told to stop; `ready` is called when every cluster answers."""
    with directory.lock.hold() as held, Nursery() as nursery:
        try:
            _start(nursery, directory, record)
            held.tell(Phase.RUNNING)
            ready()
            guardian.become(held, nursery)
        finally:
            held.tell(Phase.STOPPING)


def _start(nursery: Nursery, directory: Directory, record: Record) -> None:
    """Returns when every cluster answers, and whoever looks for them finds them."""
    directory.write(record)
    nursery.prepare([options_of(directory, record, each) for each in record.members])
    for member in record.members:
        log = directory.log_of(member.name)
        child = nursery.start(member.name, options_of(directory, record, member), output=log)
        directory.pid_file(member.name).write_text(f"{child.pid}\n")
    nursery.wait_ready(READY_SECONDS)
    directory.write_kubeconfig(record.members)


def run_detached(directory: Directory, record: Record) -> None:
    """Returns when every cluster answers; the process that runs them stays behind. One that is
    interrupted meanwhile returns when all of them have ended.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _become_supervisor(directory, record, writer)
    os.close(writer)
    try:
        # Not until its end: the clusters have the other side as well.
        said = os.read(reader, MESSAGE_BYTES).decode()
    except KeyboardInterrupt:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
        raise
    finally:
        os.close(reader)
    if said != "ready":
        os.waitpid(child, 0)
        raise UserError(said or f"the fleet did not start: see {directory.path / 'logs'}")


def _become_supervisor(directory: Directory, record: Record, writer: int) -> None:
    """In the child: belongs to no terminal, and outlives the one who started it."""
    code = 1
    try:
        os.setsid()
        _redirect(directory.log_of("fleet"))
        log_lines.begin(logging.WARNING)
        run(directory, record, lambda: _tell(writer, "ready"))
        code = 0
    except FleetqueueError as error:
        _tell(writer, str(error))
    except KeyboardInterrupt:
        _tell(writer, f"the fleet in {directory.path} was stopped before it ran")
    except Exception as error:
        logger.exception("the fleet failed")
        why = disks.told(error, directory.path) if isinstance(error, OSError) else error
        _tell(writer, f"the fleet failed: {why}")
    finally:
        os._exit(code)


def _redirect(log: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, target in ((0, nothing), (1, output), (2, output)):
        os.dup2(target, number)
    sys.stdout.flush()


def _tell(writer: int, text: str) -> None:
    os.write(writer, text.encode())
    os.close(writer)
