"""What `logs` and `exec` share: which job is meant, and the way to its pods."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleetqueue.errors import ClusterError, UserError

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from fleetqueue.kube.client import Client
    from fleetqueue.multikueue.reach.search import Dispatch
    from fleetqueue.multikueue.session import Connect

Object = dict[str, Any]
DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_OPTIONS = (
    click.option("-n", "--namespace", default="", help="Where the job is."),
    click.option("-c", "--container", default="", help="Which container of its pods."),
    click.option("--pod", default="", help="Which of its pods."),
    click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        default=None,
        help="The manager's; as kubectl has it.",
    ),
    click.option("--context", default="", help="A context of the kubeconfig."),
    click.option(
        "--system-namespace",
        default="kueue-system",
        show_default=True,
        help="Where the manager has the kubeconfigs of its workers.",
    ),
)


def reaching(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Asked:
    """What the options said."""

    job: str
    namespace: str
    container: str
    pod: str
    kubeconfig: Path | None
    context: str
    system_namespace: str


@dataclass(frozen=True, slots=True)
class There:
    """A pod of the job, and who speaks with its worker, or with the manager that remembers it."""

    client: "Client"
    pod: Object
    worker: str = ""
    """ "" for the manager."""

    @property
    def name(self) -> str:
        return str(self.pod["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.pod["metadata"]["namespace"])


@asynccontextmanager
async def pods(asked: Asked, *, remembered: bool = False) -> AsyncIterator[list[There]]:
    """All that are meant, at least one. `remembered`: also those of which nothing is left but what
    the manager has kept.
    """
    from fleetqueue.cli import fleets
    from fleetqueue.kube.auth import find_access

    manager = fleets.open_client(find_access(asked.kubeconfig, asked.context))
    try:
        way = Way(manager, asked, fleets.open_client)
        async with way.pods(remembered=remembered) as found:
            yield found
    finally:
        await manager.close()


class Way:
    """To the pods of a job, through its manager."""

    def __init__(self, manager: "Client", asked: Asked, connect: "Connect") -> None:
        """`connect`: makes clients of workers."""
        from fleetqueue.multikueue.reach.search import Search

        self._manager, self._asked, self._connect = manager, asked, connect
        self._namespace = asked.namespace or manager.namespace
        self._workloads: Sequence[Object] = ()
        self._search = Search(manager, self._namespace, asked.system_namespace)

    @asynccontextmanager
    async def pods(self, *, remembered: bool) -> AsyncIterator[list[There]]:
        from contextlib import AsyncExitStack

        from fleetqueue.errors import Unreachable

        async with AsyncExitStack() as stack:
            found = await self._found(stack, remembered)
            try:
                yield found
            except Unreachable as error:
                workers = {each.worker for each in found}
                if len(workers) > 1 or "" in workers:
                    raise
                raise await self._lost(workers.pop(), error) from error

    async def _found(self, stack: "AsyncExitStack", remembered: bool) -> list[There]:
        from fleetqueue.cli import unreached
        from fleetqueue.errors import Unreachable
        from fleetqueue.multikueue.reach.search import kind_and_name

        job = self._asked.job
        kind, name = kind_and_name(job)
        try:
            self._workloads = workloads = await self._search.workloads(kind, name)
            unreached.refuse_switched_off(job, workloads)
            if not remembered:
                unreached.refuse_finished(job, workloads)
            dispatches = await self._search.dispatch(kind, name)
        except Unreachable as error:
            raise unreached.without_manager(job, error) from error
        found = await self._look(stack, dispatches, remembered)
        if not found:
            where = ", ".join(each.worker for each in dispatches)
            raise UserError(unreached.has_no_pods(job, where, workloads))
        return meant(found, self._asked.pod, job)

    async def _look(
        self, stack: "AsyncExitStack", dispatches: "Sequence[Dispatch]", remembered: bool
    ) -> list[There]:
        """On all workers at once; one that is lost is told of, and hides no pods of the others."""
        from fleetqueue.errors import FleetqueueError

        troubles = list[FleetqueueError]()

        async def look(dispatch: "Dispatch") -> list[There]:
            there = self._there_or_remembered if remembered else self._there
            try:
                return await there(stack, dispatch)
            except FleetqueueError as error:
                troubles.append(error)
                return []

        looked = await asyncio.gather(*(look(each) for each in dispatches))
        found = [each for some in looked for each in some]
        if troubles and not found:
            raise troubles[0]
        for trouble in troubles:
            click.echo(trouble.render(), err=True)
        return found

    async def _there(self, stack: "AsyncExitStack", dispatch: "Dispatch") -> list[There]:
        from fleetqueue.cli.fleets import PATIENCE_SECONDS
        from fleetqueue.errors import Unreachable
        from fleetqueue.multikueue.reach.search import pods_there

        worker = dispatch.worker
        client = self._connect(await self._search.access(worker))
        stack.push_async_callback(client.close)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                found = await pods_there(client, self._namespace, dispatch)
        except (Unreachable, TimeoutError) as error:
            raise await self._lost(worker, error) from error
        return [There(client, each, worker) for each in found]

    async def _there_or_remembered(
        self, stack: "AsyncExitStack", dispatch: "Dispatch"
    ) -> list[There]:
        """A worker that has gone takes nothing with it that is kept here."""
        from fleetqueue.errors import FleetqueueError
        from fleetqueue.multikueue.reach.remembered import pods_remembered

        found, why = list[There](), None
        try:
            found = await self._there(stack, dispatch)
        except FleetqueueError as error:
            why = error
        if not found:
            left = await pods_remembered(self._manager, self._namespace, dispatch)
            found = [There(self._manager, each) for each in left]
        if why is not None and not found:
            raise why
        return found

    async def _lost(self, worker: str, error: Exception) -> ClusterError:
        from fleetqueue.cli import unreached
        from fleetqueue.errors import FleetqueueError
        from fleetqueue.multikueue import kinds

        try:
            cluster = await self._manager.get(kinds.CLUSTER, worker)
        except FleetqueueError:
            cluster = {}
        return unreached.lost(self._asked.job, worker, cluster, self._workloads, error)


def meant(found: Sequence[There], pod: str, job: str) -> list[There]:
    kept = [each for each in found if pod in ("", each.name)]
    if not kept:
        names = ", ".join(each.name for each in found)
        raise UserError(f'{job} has no pod "{pod}": it has {names}')
    return kept


def containers_of(pod: Object, wanted: str, *, all_of_them: bool = False) -> list[str]:
    """As kubectl chooses: the one that is named, that an annotation names, or the first."""
    spec = pod["spec"]
    kinds = ("initContainers", "containers", "ephemeralContainers")
    known = [str(each["name"]) for kind in kinds for each in spec.get(kind) or ()]
    if all_of_them:
        return known
    noted = (pod["metadata"].get("annotations") or {}).get(DEFAULT_CONTAINER)
    chosen = wanted or (noted if noted in known else str(spec["containers"][0]["name"]))
    if chosen not in known:
        name = pod["metadata"]["name"]
        raise UserError(f'pod {name} has no container "{chosen}": it has {", ".join(known)}')
    return [chosen]
