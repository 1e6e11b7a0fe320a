"""What `logs` and `exec` share: which job is meant, and the way to its pods."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleetqueue.errors import UserError

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from fleetqueue.kube.client import Client
    from fleetqueue.multikueue.reach.search import Dispatch, Search

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
    from contextlib import AsyncExitStack

    from fleetqueue.cli import fleets
    from fleetqueue.kube.auth import find_access
    from fleetqueue.multikueue.reach.search import Search

    kind, _, name = asked.job.rpartition("/")
    access = find_access(asked.kubeconfig, asked.context)
    async with AsyncExitStack() as stack:
        manager = fleets.open_client(access)
        stack.push_async_callback(manager.close)
        namespace = asked.namespace or manager.namespace
        search = Search(manager, namespace, asked.system_namespace)
        way = _Way(search, manager, namespace, stack)
        dispatches = await search.dispatch(kind, name)
        look = way.there_or_remembered if remembered else way.there
        found = [each for dispatch in dispatches for each in await look(dispatch)]
        workers = ", ".join(each.worker for each in dispatches)
        yield meant(found, asked.pod, f"{asked.job} has no such pod on {workers}")


@dataclass(frozen=True, slots=True)
class _Way:
    """To the pods of a job."""

    search: "Search"
    manager: "Client"
    namespace: str
    stack: "AsyncExitStack"

    async def there(self, dispatch: "Dispatch") -> list[There]:
        from fleetqueue.cli import fleets
        from fleetqueue.multikueue.reach.search import pods_there

        client = fleets.open_client(await self.search.access(dispatch.worker))
        self.stack.push_async_callback(client.close)
        return [There(client, each) for each in await pods_there(client, self.namespace, dispatch)]

    async def there_or_remembered(self, dispatch: "Dispatch") -> list[There]:
        """A worker that has gone takes nothing with it that is kept here."""
        from fleetqueue.errors import FleetqueueError
        from fleetqueue.multikueue.reach.remembered import pods_remembered

        found, why = list[There](), None
        try:
            found = await self.there(dispatch)
        except FleetqueueError as error:
            why = error
        if not found:
            left = await pods_remembered(self.manager, self.namespace, dispatch)
            found = [There(self.manager, each) for each in left]
        if why is not None and not found:
            raise why
        return found


def meant(found: Sequence[There], pod: str, otherwise: str) -> list[There]:
    kept = [each for each in found if pod in ("", each.name)]
    if not kept:
        raise UserError(
            f"{otherwise}: its pods do not exist yet, or were removed there when it ended"
        )
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
