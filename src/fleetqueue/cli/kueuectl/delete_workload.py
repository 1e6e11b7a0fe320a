"""`kueuectl delete workload`: with the jobs that they are of."""

import sys
from dataclasses import dataclass
from typing import Any

import click

from fleetqueue.cli.kueuectl import pages
from fleetqueue.cli.kueuectl.dry_runs import DryRun, dry_run_option
from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.cli.kueuectl.kinds import WORKLOAD
from fleetqueue.cli.kueuectl.naming import complete_names
from fleetqueue.cli.kueuectl.outputs import title
from fleetqueue.cli.kueuectl.pages import Asked, all_namespaces_option
from fleetqueue.cli.kueuectl.session import Session, run
from fleetqueue.cli.kueuectl.verbs import kube_command
from fleetqueue.cli.kueuectl.workload_rows import owners
from fleetqueue.kube.errors import NotFound, UnknownKind
from fleetqueue.kube.resources import Object, Resource, key_of

ALSO = "This operation will also delete:"
ALSO_ALL = "This operation will also delete the jobs associated with these workloads."
QUESTION = "Do you want to proceed (y/n)? "
CANCELED = "Deletion is canceled"


@dataclass(frozen=True, slots=True)
class Job:
    """An owner of a workload."""

    kind: Resource
    namespace: str
    name: str
    uid: str

    @property
    def title(self) -> str:
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class Doomed:
    """A workload, and what goes in its place."""

    workload: Object
    jobs: tuple[Job, ...]


@kube_command("workload", "Delete workloads and the jobs that they are of.")
@click.argument("names", nargs=-1, shell_complete=complete_names(WORKLOAD))
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--all", "is_all", is_flag=True, help="All workloads of the namespace.")
@all_namespaces_option
@dry_run_option
def workload(
    names: tuple[str, ...], yes: bool, is_all: bool, all_namespaces: bool, dry_run: DryRun
) -> Any:
    check_arguments(names, is_all, all_namespaces)

    async def work(session: Session) -> None:
        request = pages.placed(Asked(is_everywhere=all_namespaces), session)
        found = await _all(session, request) if is_all else await _named(session, names)
        if is_all and not found:
            pages.tell_none(request)
            return
        doomed = [await _doomed(session, each) for each in found]
        asks = not yes and dry_run is DryRun.NONE and any(each.jobs for each in doomed)
        if asks and not _is_confirmed(question(doomed, is_all)):
            click.echo(CANCELED)
            return
        for each in doomed:
            await _delete(session, each, dry_run)

    return run(work)


def check_arguments(names: tuple[str, ...], is_all: bool, all_namespaces: bool) -> None:
    if names and is_all:
        raise Failure("name cannot be provided when a selector is specified")
    if names and all_namespaces:
        raise Failure("a resource cannot be retrieved by name across all namespaces")
    if not names and not is_all:
        raise Failure("requires at least 1 arg(s), only received 0")


def question(doomed: list[Doomed], is_all: bool) -> str:
    if is_all:
        return f"{ALSO_ALL}\n{QUESTION}"
    lines = [
        f"  - {', '.join(job.title for job in each.jobs)}"
        f" associated with the {key_of(each.workload)} workload"
        for each in doomed
        if each.jobs
    ]
    return "\n".join([ALSO, *lines, QUESTION])


async def _named(session: Session, names: tuple[str, ...]) -> list[Object]:
    found = []
    for name in names:
        try:
            found.append(dict(await session.client.get(WORKLOAD, name, session.namespace)))
        except NotFound as error:
            click.echo(str(error), err=True)
    return found


async def _all(session: Session, request: Asked) -> list[Object]:
    return [e async for page in pages.pages(session.client, WORKLOAD, request) for e in page]


async def _doomed(session: Session, workload: Object) -> Doomed:
    jobs = []
    for owner in owners(workload):
        try:
            kind = await session.client.discovery.resource(owner["apiVersion"], owner["kind"])
        except UnknownKind:
            # What nobody serves any more is gone.
            continue
        space = key_of(workload).namespace if kind.namespaced else ""
        jobs.append(Job(kind, space, owner["name"], owner.get("uid") or ""))
    return Doomed(workload, tuple(jobs))


def _is_confirmed(text: str) -> bool:
    click.echo(text, nl=False)
    return sys.stdin.readline().strip() in ("y", "Y")


async def _delete(session: Session, doomed: Doomed, dry_run: DryRun) -> None:
    if not doomed.jobs:
        key = key_of(doomed.workload)
        await _delete_one(session, WORKLOAD, key.namespace, key.name, "", dry_run)
        told = {**doomed.workload, "apiVersion": WORKLOAD.api_version, "kind": WORKLOAD.kind}
        click.echo(title(told, f"deleted{dry_run.value}"))
    for job in doomed.jobs:
        await _delete_one(session, job.kind, job.namespace, job.name, job.uid, dry_run)
        click.echo(f"{job.title} deleted{dry_run.value}")


async def _delete_one(
    session: Session, kind: Resource, space: str, name: str, uid: str, dry_run: DryRun
) -> None:
    if not dry_run.is_sent:
        return
    try:
        await session.client.delete(
            kind, name, space, uid=uid, propagation="Background", dry_run=dry_run is DryRun.SERVER
        )
    except NotFound:
        # Somebody was faster.
        return
