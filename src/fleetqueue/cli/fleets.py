"""What the commands about a fleet share: where it is, how it starts and stops."""

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from fleetqueue.cli.paths import Place
from fleetqueue.errors import UserError
from fleetqueue.local_fleet.directory import DEFAULT, Directory, Record, members

if TYPE_CHECKING:
    from fleetqueue.kube.client import Client
    from fleetqueue.kube.kubeconfig import Access
    from fleetqueue.kube.resources import Resource
    from fleetqueue.local_fleet.newcomers import Joined

WORKERS = 3
STOP_SECONDS = 30.0
PATIENCE_SECONDS = 10.0
"""A server that takes longer for something that is read of it does not answer."""
POLL_SECONDS = 0.05

DIRECTORY = click.option(
    "--dir", "directory", type=Place(path_type=Path, file_okay=False), default=DEFAULT,
    show_default=True, help="Where the fleet's state and kubeconfig are.",
)  # fmt: skip
MANAGER_KUBECONFIG = click.option(
    "--manager-kubeconfig", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=None, help="A manager other than the fleet's in DIR.",
)  # fmt: skip
MANAGER_CONTEXT = click.option("--manager-context", default="", help="Which context of it.")


def directory_at(path: Path) -> Directory:
    return Directory(path.expanduser().resolve())


def start(home: Directory, workers: int | None, asked: Mapping[str, Any]) -> Record:
    """What is not asked for is as it was the last time."""
    from fleetqueue.local_fleet import starting

    known = home.read()
    count = workers or (len(known.workers) if known is not None else 0) or WORKERS
    wanted = to_start(known, asked)
    starting.check(wanted)
    home.prepare()
    record = msgspec.structs.replace(wanted, members=members(count, known))
    starting.run_detached(home, record)
    try:
        return furnish(home, record)
    except KeyboardInterrupt:
        stop(home)
        raise


def to_start(known: Record | None, asked: Mapping[str, Any]) -> Record:
    """Nothing of it is in place yet; what was there before is known until all of it is."""
    last = known or Record()
    before = last.in_place
    return msgspec.structs.replace(last, **asked, is_furnished=False, is_hub=False, before=before)


def found_running(home: Directory) -> Record:
    """What was interrupted before all was in place is finished now."""
    record = home.read()
    if record is None:
        raise UserError(
            f"a fleet runs in {home.path}, but its fleet.json is gone: stop it with `fleetqueue"
            f" down {home.option}`"
        )
    if ended := [each.name for each in record.members if not home.is_alive(each.name)]:
        raise UserError(*(told_ended(home, name) for name in ended))
    mend_kubeconfig(home, record)
    return record if record.is_bare or record.is_furnished else furnish(home, record)


def mend_kubeconfig(home: Directory, record: Record) -> None:
    """One that was lost or damaged, by which nobody finds the clusters that run, is made again."""
    from fleetqueue.kube.errors import BadKubeconfig

    try:
        for each in record.members:
            access(home.kubeconfig, each.name)
    except BadKubeconfig:
        with contextlib.suppress(OSError):
            home.write_kubeconfig(record.members)


def told_ended(home: Directory, name: str) -> str:
    """Of a cluster whose process is gone while the others run."""
    return (
        f"{name} ended: {home.log_of(name)} may say why; `fleetqueue down {home.option}` and"
        f" `fleetqueue up {home.option}` bring it back with all it had"
    )


def furnish(home: Directory, record: Record) -> Record:
    """For a fleet that runs; it is noted when all of it is done."""
    if record.is_bare:
        return record
    asyncio.run(_furnish(home, record))
    done = msgspec.structs.replace(record, is_furnished=True, is_hub=True, before=None)
    home.write(done)
    return done


async def _furnish(home: Directory, record: Record) -> None:
    from fleetqueue.local_fleet import furnishing

    def open_named(name: str) -> "Client":
        return open_client(access(home.kubeconfig, name), patience_seconds=None)

    await furnishing.furnish(record, open_named, record.before)


def stop(home: Directory) -> None:
    from fleetqueue.base.clock import SystemClock

    clock = SystemClock()
    deadline = clock.monotonic() + STOP_SECONDS
    is_told = False
    while (pid := home.pid()) is not None:
        # One that has just begun has not said yet who it is.
        if pid and not is_told:
            os.kill(pid, signal.SIGTERM)
            is_told = True
        if clock.monotonic() > deadline:
            raise UserError(f"the fleet's process {pid} does not stop: see {home.path / 'logs'}")
        asyncio.run(asyncio.sleep(POLL_SECONDS))


def next_steps(home: Directory, record: Record) -> list[str]:
    file = home.kubeconfig
    contexts = ", ".join(each.name for each in record.members)
    lines = [f"running: {contexts}", "", f"  export KUBECONFIG={shlex.quote(str(file))}"]
    if not record.is_bare:
        queue = "kueue.x-k8s.io/queue-name=user-queue"
        lines += [
            f"  kubectl create job hello --image=host -o yaml --dry-run=client -- echo hello |"
            f" kubectl label --local -f - -o yaml {queue} | kubectl apply -f -",
            "  kubectl get workloads,jobs",
            "  kubectl get multikueueclusters",
            "  kubectl get memberclusters",
        ]
    if record.dashboard_port:
        lines.append(f"  open http://127.0.0.1:{record.dashboard_port}/ in a browser")
    return [
        *lines,
        f"  fleetqueue status {home.option}",
        f"  fleetqueue down {home.option}",
    ]


# Clusters


def access(kubeconfig: Path, context: str = "") -> "Access":
    from fleetqueue.kube.auth import find_access

    return find_access(kubeconfig, context)


def manager_access(home: Directory, kubeconfig: Path | None, context: str) -> "Access":
    if kubeconfig is not None:
        return access(kubeconfig, context)
    if not home.kubeconfig.exists():
        raise UserError(
            f"there is no fleet in {home.path}: start one with `fleetqueue up {home.option}`,"
            " or name a manager with --manager-kubeconfig"
        )
    return access(home.kubeconfig, context or "manager")


def open_client(to: "Access", *, patience_seconds: float | None = PATIENCE_SECONDS) -> "Client":
    from random import SystemRandom

    from fleetqueue.base.clock import SystemClock
    from fleetqueue.kube.connect import connect_to

    return connect_to(
        to, clock=SystemClock(), random=SystemRandom(), patience_seconds=patience_seconds
    )


async def join(
    manager: "Access",
    worker: "Access",
    name: str,
    server: str,
    labels: dict[str, str],
    config_name: str,
    jobs: "Sequence[Resource]",
    *,
    is_near: bool,
) -> "Joined":
    """`jobs`: the kinds that the manager may send there; `is_near`: it is on this machine."""
    from fleetqueue.local_fleet import newcomers

    async with AsyncExitStack() as stack:
        here, there = open_client(manager), open_client(worker)
        stack.push_async_callback(here.close)
        stack.push_async_callback(there.close)
        served = [await there.discovery.found(each) for each in jobs]
        newcomer = newcomers.Newcomer(name, server, there, served, labels)
        return await newcomers.join(here, newcomer, config_name, open_client, is_near=is_near)


async def leave(
    manager: "Access", name: str, config_name: str, *, is_forced: bool = False
) -> list[str]:
    from fleetqueue.local_fleet import leaving

    client = open_client(manager)
    try:
        return await leaving.leave(client, name, config_name, open_client, is_forced=is_forced)
    finally:
        await client.close()


async def join_fleet(
    hub: "Access", member: "Access", name: str, server: str, labels: dict[str, str]
) -> None:
    from fleetqueue.local_fleet import membership

    async with AsyncExitStack() as stack:
        here, there = open_client(hub), open_client(member)
        stack.push_async_callback(here.close)
        stack.push_async_callback(there.close)
        await membership.join(here, there, name, server, labels)


async def leave_fleet(hub: "Access", member: "Access | None", name: str) -> list[str]:
    from fleetqueue.local_fleet import membership

    async with AsyncExitStack() as stack:
        clients = [open_client(to) for to in (hub, member) if to is not None]
        for client in clients:
            stack.push_async_callback(client.close)
        return await membership.leave(clients[0], name, clients[1] if member else None)
