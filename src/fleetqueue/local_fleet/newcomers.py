"""Joins a cluster that people name: refused where its name stands for another cluster, where it is
a worker already, and where the address that they give does not lead to it.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fleetqueue.errors import ClusterError, UserError
from fleetqueue.kube import kubeconfig
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Forbidden, Unauthorized
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.resources import Resource
from fleetqueue.local_fleet import joining
from fleetqueue.local_fleet.known_workers import KnownWorker, known_workers
from fleetqueue.multikueue import checks, kinds, worker_access

ANSWER_SECONDS_MAX = 10.0
ACCOUNT_TRIES = 10
POLL_SECONDS = 0.5

Open = Callable[[Access], Client]


@dataclass(frozen=True)
class Newcomer:
    """`server`: where the manager reaches it; `client`: an administrator's."""

    name: str
    server: str
    client: Client
    jobs: Sequence[Resource]
    labels: dict[str, str] | None = None


@dataclass(frozen=True)
class Joined:
    """What there is to say of it."""

    is_new: bool = True
    warning: str = ""
    """Why the manager may not reach it."""
    notes: Sequence[str] = ()


async def join(
    manager: Client, newcomer: Newcomer, config: str, open_client: Open, *, is_near: bool
) -> Joined:
    """`is_near`: the manager is on this machine, so that it reaches no more than we do; one that
    is elsewhere may reach addresses that lead nowhere from here.
    """
    uid = await joining.cluster_uid(newcomer.client)
    known = await known_workers(manager)
    refuse_mistaken(newcomer, uid, known)
    text = await joining.make_account(newcomer.client, newcomer.server, newcomer.jobs)
    doubt = await _doubt(open_client(kubeconfig.parse(text).access()), newcomer.server, uid)
    if doubt and is_near:
        raise UserError(f"{doubt}: say with --server where the manager reaches the worker")
    had = next((each for each in known if each.name == newcomer.name), None)
    if had is not None:
        text = await joining.renew_account(newcomer.client, newcomer.server)
    name = joining.secret_of(newcomer.name) if had is None else had.secret
    secret = worker_access.secret(name, text, uid=uid)
    await joining.register(manager, newcomer.name, secret, newcomer.labels)
    notes = await _list(manager, config, newcomer.name) if config else []
    return Joined(had is None, doubt, notes)


def refuse_mistaken(newcomer: Newcomer, uid: str, known: Iterable[KnownWorker]) -> None:
    """Nothing is said of one that joins again under its own name."""
    for each in known:
        is_same = each.is_cluster(uid, newcomer.server)
        if each.name != newcomer.name:
            if is_same:
                raise UserError(
                    f'this cluster is already the worker "{each.name}": join it again with --name'
                    f" {each.name}, or `fleetqueue leave {each.name}` first"
                )
        elif not each.secret:
            raise UserError(
                f'"{each.name}" is already a worker whose kubeconfig is in no Secret: choose'
                " another name with --name"
            )
        elif is_same is False:
            where = f" at {each.server}" if each.server else ""
            raise UserError(
                f'"{each.name}" is already the worker{where}, which is another cluster: choose'
                f" another name with --name, or `fleetqueue leave {each.name}` first"
            )


async def _doubt(worker: Client, server: str, uid: str) -> str:
    """Why the new kubeconfig may not lead to the cluster; "" where it does."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            found = await _answered_uid(worker)
    except TimeoutError:
        return f"{server} does not answer"
    except ClusterError as error:
        return f"{server} does not let the manager in ({error})"
    finally:
        await worker.close()
    return "" if found == uid else f"{server} is another cluster than that of --kubeconfig"


async def _answered_uid(worker: Client) -> str:
    """A server takes a moment to know a new account and its role."""
    for _ in range(ACCOUNT_TRIES - 1):
        try:
            return await joining.cluster_uid(worker)
        except (Forbidden, Unauthorized):
            await asyncio.sleep(POLL_SECONDS)
    return await joining.cluster_uid(worker)


async def _list(manager: Client, config: str, name: str) -> list[str]:
    if not await joining.list_cluster(manager, config, name):
        return []
    made = f"created: MultiKueueConfig/{config}"
    found = (await manager.list(kinds.ADMISSION_CHECK)).items
    if any(checks.config_of(each) == config for each in found):
        return [made]
    unused = "no AdmissionCheck uses it, so no job comes this way: name it in the parameters of one"
    return [made, unused]
