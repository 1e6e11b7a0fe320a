"""`kueuectl list workload`."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import click

from fleetqueue.api.kueue import phases, visibility
from fleetqueue.cli.kueuectl import owners, pages
from fleetqueue.cli.kueuectl import workload_rows as rows
from fleetqueue.cli.kueuectl.failures import no_arguments
from fleetqueue.cli.kueuectl.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD
from fleetqueue.cli.kueuectl.naming import complete_names
from fleetqueue.cli.kueuectl.outputs import Output, output_options
from fleetqueue.cli.kueuectl.pages import Asked, Columns, all_namespaces_option, list_options
from fleetqueue.cli.kueuectl.served import Catalogue
from fleetqueue.cli.kueuectl.session import Session, run, warn
from fleetqueue.cli.kueuectl.verbs import kube_command
from fleetqueue.cli.kueuectl.workload_rows import Surroundings
from fleetqueue.kube import calls
from fleetqueue.kube.errors import NotFound, Refused
from fleetqueue.kube.resources import Object, uid_of

JOB_UID = "kueue.x-k8s.io/job-uid"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which workloads, beyond what the server selects."""

    cluster_queue: str = ""
    local_queue: str = ""
    statuses: set[str] = field(default_factory=set)
    owner_uid: str = ""

    def has(self, workload: Object, around: Surroundings) -> bool:
        return (
            self.local_queue in ("", rows.local_queue(workload))
            and self.cluster_queue in ("", rows.cluster_queue(workload, around))
            and phases.phase_of(workload) in self.statuses
            and self.owner_uid in ("", *(owner["uid"] for owner in rows.owners(workload)))
        )


@kube_command("workload", "List workloads.")
@click.argument("name", nargs=-1, metavar="")
@click.option("-c", "--clusterqueue", default="", shell_complete=complete_names(CLUSTER_QUEUE),
              help="Only those of this ClusterQueue.")  # fmt: skip
@click.option("-q", "--localqueue", default="", shell_complete=complete_names(LOCAL_QUEUE),
              help="Only those of this LocalQueue.")  # fmt: skip
@click.option("--status", multiple=True, metavar="STATUS",
              help="all, pending, quotareserved, admitted or finished; repeatable.")  # fmt: skip
@click.option("--for", "owner", default="", metavar="TYPE[.GROUP]/NAME",
              help="Only those of this job.")  # fmt: skip
@all_namespaces_option
@list_options
@output_options()
def workloads(
    name: tuple[str, ...],
    clusterqueue: str,
    localqueue: str,
    status: tuple[str, ...],
    owner: str,
    all_namespaces: bool,
    selector: str,
    field_selector: str,
    output: Output,
) -> Any:
    no_arguments(name, "kueuectl list workload")
    wanted = Wanted(clusterqueue, localqueue, rows.read_statuses(status))
    job = owners.read_workload_owner(owner) if owner else None
    base = pages.asked(selector, field_selector, output, all_namespaces)

    async def work(session: Session) -> None:
        request = pages.placed(base, session)
        if job is None:
            await _show(session, *await _found(session, request, wanted), request)
            return
        uid = uid_of((await owners.find(session, job))[1])
        labels = ",".join(filter(None, (request.label_selector, f"{JOB_UID}={uid}")))
        found, around = await _found(session, replace(request, label_selector=labels), wanted)
        if not found:
            found, around = await _found(session, request, replace(wanted, owner_uid=uid))
        await _show(session, found, around, request)

    return run(work)


async def _found(
    session: Session, request: Asked, wanted: Wanted
) -> tuple[list[Object], Surroundings]:
    looking = _Looking(session)
    found: list[Object] = []
    async for page in pages.pages(session.client, WORKLOAD, request):
        await looking.find_cluster_queues(page)
        found += [each for each in page if wanted.has(each, looking.around)]
    return found, looking.around


async def _show(
    session: Session, found: list[Object], around: Surroundings, request: Asked
) -> None:
    if request.output.is_own:
        looking = _Looking(session, around)
        await looking.find_positions(found)
        await looking.find_types(found)
        around = looking.around
    now = session.clock.now()
    columns = Columns(rows.HEADERS, lambda each: rows.row(each, around, now))
    await pages.show(WORKLOAD, request, found, columns)


class _Looking:
    """Asks for what is around workloads, each thing once."""

    def __init__(self, session: Session, around: Surroundings | None = None) -> None:
        self._client = session.client
        self._catalogue = Catalogue(session.client)
        self._queues = dict(around.cluster_queues) if around is not None else {}
        self._positions: dict[tuple[str, str], int] = {}
        self._types: dict[tuple[str, str], str] = {}

    @property
    def around(self) -> Surroundings:
        return Surroundings(self._queues, self._positions, self._types)

    async def find_cluster_queues(self, workloads: Iterable[Object]) -> None:
        for space, queue in _waiting(workloads):
            if queue and (space, queue) not in self._queues:
                try:
                    found = await self._client.get(LOCAL_QUEUE, queue, space)
                except NotFound:
                    found = {}
                named = (found.get("spec") or {}).get("clusterQueue") or ""
                self._queues[space, queue] = named

    async def find_positions(self, workloads: Iterable[Object]) -> None:
        pending = [each for each in workloads if phases.phase_of(each) == phases.PENDING]
        for space, queue in sorted(set(_waiting(pending))):
            if not self._queues.get((space, queue)):
                continue
            try:
                summary = await self._pending(space, queue)
            except Refused as error:
                warn(f"places in queues are not known: {error}")
                return
            for item in summary.get("items") or ():
                name = item["metadata"]["name"]
                self._positions[space, name] = item["positionInLocalQueue"]

    async def find_types(self, workloads: Iterable[Object]) -> None:
        for owner in (owner for each in workloads for owner in rows.owners(each)):
            kind = (owner["apiVersion"], owner["kind"])
            if kind not in self._types:
                served = await self._catalogue.of_kind(*kind)
                singular = "" if served is None else served.singular
                self._types[kind] = rows.plain_type(*kind, singular)

    async def _pending(self, space: str, queue: str) -> Object:
        path = (
            f"/apis/{visibility.GROUP}/v1beta2/namespaces/{space}"
            f"/localqueues/{queue}/pendingworkloads"
        )
        call = calls.read(path, [("limit", str(visibility.LIMIT_MAX))])
        return dict((await self._client.call(call)).payload.decoded())


def _waiting(workloads: Iterable[Object]) -> Iterable[tuple[str, str]]:
    """Namespaces and queues of those that no ClusterQueue has admitted."""
    for each in workloads:
        if not ((each.get("status") or {}).get("admission") or {}).get("clusterQueue"):
            yield each["metadata"].get("namespace") or "", rows.local_queue(each)
