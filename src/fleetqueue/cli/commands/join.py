"""`fleetqueue join`: a further cluster becomes a worker of a manager, or a member of a hub."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from fleetqueue.api import names
from fleetqueue.cli.fleets import DIRECTORY, MANAGER_CONTEXT, MANAGER_KUBECONFIG, directory_at

if TYPE_CHECKING:
    from fleetqueue.local_fleet.newcomers import Joined


@click.command(
    help="Add a cluster to the workers of a manager.\n\n"
    "Makes an account with a role of least rights on the worker, and on the manager a Secret with "
    "its kubeconfig, a MultiKueueCluster, and an entry in the MultiKueueConfig. To join it again "
    "under its name renews the token, and the one before is void, also for other managers; the "
    "name of another cluster and a second name for this one are refused.\n\n"
    "With --fleet the manager is a hub that places objects, and the cluster becomes a member: a "
    "MemberCluster and an account on the hub, and on the member a Secret by which its agent finds "
    "the hub. Nobody has to reach the member."
)
@click.option("--kubeconfig", type=click.Path(path_type=Path, exists=True, dir_okay=False),
              required=True, help="The worker's, with the rights of an administrator.")  # fmt: skip
@click.option("--context", default="", help="Which context of it.")
@click.option("--name", default="", help="What the manager calls it.  [default: the context]")
@click.option("--server", default="",
              help="Where the manager reaches it, if not where the kubeconfig says; with --fleet, "
              "where it reaches the manager.")  # fmt: skip
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE",
              help="A label of its MultiKueueCluster or MemberCluster.")  # fmt: skip
@click.option("--config", "config_name", default="multikueue", show_default=True,
              help="The MultiKueueConfig that lists it; empty: none.")  # fmt: skip
@click.option("--framework", "frameworks", multiple=True, metavar="NAME",
              help="A kind of job that the manager may send there: batch/job, or "
              "Kind.version.group for one of multiKueue.externalFrameworks, which is added to the "
              "others. Can be given several times.  [default: every kind that we know]"
              )  # fmt: skip
@click.option("--fleet", "is_member", is_flag=True, help="Make it a member of a hub instead.")
@DIRECTORY
@MANAGER_KUBECONFIG
@MANAGER_CONTEXT
def join(
    kubeconfig: Path,
    context: str,
    name: str,
    server: str,
    labels: tuple[str, ...],
    config_name: str,
    frameworks: tuple[str, ...],
    is_member: bool,
    directory: Path,
    manager_kubeconfig: Path | None,
    manager_context: str,
) -> None:
    from fleetqueue.cli import fleets
    from fleetqueue.cli.frameworks import kinds_of

    if is_member and frameworks:
        raise click.UsageError("--framework is for workers: a member runs what is placed on it")
    if server and not _is_address(server):
        raise click.UsageError(f'"{server}" is no address: write --server as https://HOST:PORT')
    jobs = kinds_of(frameworks)
    manager = fleets.manager_access(directory_at(directory), manager_kubeconfig, manager_context)
    worker = fleets.access(kubeconfig, context)
    pairs = dict(_pair(each) for each in labels)
    called = name or worker.name
    if problems := names.dns1123_subdomain(called):
        raise click.UsageError(
            f'"{called}" cannot be its name ({problems[0]}): give one with --name'
        )
    if is_member:
        asyncio.run(fleets.join_fleet(manager, worker, called, server or manager.server, pairs))
        _tell_member(called)
        return
    if worker.server == manager.server:
        raise click.UsageError(
            f"{worker.server} is the manager itself: name another cluster with --kubeconfig and"
            " --context"
        )
    server = server or worker.server
    is_near = manager_kubeconfig is None
    joined = asyncio.run(
        fleets.join(manager, worker, called, server, pairs, config_name, jobs, is_near=is_near)
    )
    _tell_worker(called, joined)


def _tell_member(name: str) -> None:
    click.echo(f"joined: MemberCluster/{name}")
    click.echo(f"watch it join: kubectl get membercluster {name}")
    click.echo("a cluster of fleetqueue runs its agent by itself; on another one run:")
    click.echo("  fleetqueue install member; fleetqueue controller member")


def _tell_worker(name: str, joined: "Joined") -> None:
    if joined.warning:
        click.echo(f"warning: seen from here, {joined.warning}", err=True)
    click.echo(f"{'joined' if joined.is_new else 'joined again'}: MultiKueueCluster/{name}")
    for note in joined.notes:
        click.echo(note)
    click.echo(f"watch it connect: kubectl get multikueuecluster {name}")
    click.echo("it takes jobs of the queues that it has too: a LocalQueue of the same name")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _pair(label: str) -> tuple[str, str]:
    key, separator, value = label.partition("=")
    if not key or not separator:
        raise click.UsageError(f'"{label}" is no label: write it as KEY=VALUE')
    return key, value
