"""`fleetqueue logs`: what a job says that a manager has sent to a worker."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click

from fleetqueue.cli.reaching import Asked, There, containers_of, pods, reaching

FOLLOW_SECONDS_MAX = 365 * 24 * 3600.0
"""For the head of an answer: a kubelet sends it with the first line that the container says."""


@click.command(
    help="Print the logs of a job that runs, or ran, on a worker.\n\n"
    "JOB is a name, a kind and a name (pytorchjob/train), or workload/NAME. The way there is the "
    "manager's: you need the right to read its Workloads, its MultiKueueClusters, and the Secret "
    "of the worker. Logs of a job that is over are the manager's, where that is one of `fleetqueue "
    "up` or `serve`. Why a container has not started is told on standard error; the exit code is 1 "
    "where none ran."
)
@click.argument("job")
@click.option("-f", "--follow", is_flag=True, help="Go on until the containers have ended.")
@click.option("-p", "--previous", is_flag=True, help="Of the containers before their restart.")
@click.option("--all-containers", is_flag=True, help="Of all containers.")
@click.option("--prefix", is_flag=True, default=None,
              help="Say whose line it is.  [default: where there are several]")  # fmt: skip
@click.option("--tail", type=click.IntRange(-1), default=-1, help="So many lines of the end.")
@click.option("--since", default="", help="Not older than that: 5s, 2m, 3h.")
@click.option("--since-time", default="", help="Not older than that time, as RFC 3339 has it.")
@click.option("--limit-bytes", type=click.IntRange(1), default=None, help="Not more than that.")
@click.option("--timestamps", is_flag=True, help="Each line with its time.")
@reaching
def logs(
    job: str,
    follow: bool,
    previous: bool,
    all_containers: bool,
    prefix: bool | None,
    tail: int,
    since: str,
    since_time: str,
    limit_bytes: int | None,
    timestamps: bool,
    namespace: str,
    container: str,
    pod: str,
    kubeconfig: Path | None,
    context: str,
    system_namespace: str,
) -> None:
    query = {
        "follow": "true" if follow else "",
        "previous": "true" if previous else "",
        "timestamps": "true" if timestamps else "",
        "tailLines": str(tail) if tail >= 0 else "",
        "sinceSeconds": _seconds(since),
        "sinceTime": since_time,
        "limitBytes": str(limit_bytes or ""),
    }
    asked = Asked(job, namespace, container, pod, kubeconfig, context, system_namespace)
    wanted = {name: value for name, value in query.items() if value}
    asyncio.run(_print(asked, wanted, all_containers, prefix))


def _seconds(text: str) -> str:
    if not text:
        return ""
    from fleetqueue.api.times import parse_duration
    from fleetqueue.errors import UsageError

    try:
        seconds = int(parse_duration(text).total_seconds())
    except ValueError as error:
        raise UsageError(f'--since: "{text}" is no time: say 5s, 2m or 3h') from error
    return str(max(seconds, 1))


async def _print(
    asked: Asked, query: dict[str, str], all_containers: bool, prefix: bool | None
) -> None:
    async with pods(asked, remembered=True) as found:
        await print_logs(found, asked.container, query, all_containers, prefix)


async def print_logs(
    found: Sequence[There],
    container: str,
    query: dict[str, str],
    all_containers: bool = False,
    prefix: bool | None = None,
) -> None:
    """Of those that never ran it is told why; the exit code is 1 where all are such."""
    wanted = [
        (each, name)
        for each in found
        for name in containers_of(each.pod, container, all_of_them=all_containers)
    ]
    is_named = len(wanted) > 1 if prefix is None else prefix
    if "follow" in query:
        reasons = await asyncio.gather(*(_one(*each, query, is_named) for each in wanted))
    else:
        reasons = [await _one(*each, query, is_named) for each in wanted]
    for (there, name), why in zip(wanted, reasons, strict=True):
        if why:
            click.echo(f"pod/{there.name}/{name} has not started: {why}", err=True)
    if all(reasons):
        raise SystemExit(1)


async def _one(there: There, container: str, query: dict[str, str], is_named: bool) -> str:
    """Why nothing of it was printed, where it never ran; else ""."""
    from fleetqueue.cli.unstarted import why_unstarted
    from fleetqueue.kube.errors import BadRequest

    try:
        if await _printed(there, container, query, is_named):
            return ""
    except BadRequest:
        if why := await why_unstarted(there, container):
            return why
        raise
    return await why_unstarted(there, container)


async def _printed(there: There, container: str, query: dict[str, str], is_named: bool) -> bool:
    """Line by line where it is told whose they are: several may speak at once."""
    from fleetqueue.kube.resources import PODS
    from fleetqueue.kube.transport import Call

    path = PODS.path(there.namespace, there.name, "log")
    asked = [*query.items(), ("container", container)]
    headers = {"accept": "*/*", "accept-encoding": "identity"}
    limit = FOLLOW_SECONDS_MAX if "follow" in query else None
    call = Call("GET", path, asked, headers, timeout_seconds=limit)
    prefix = f"[pod/{there.name}/{container}] ".encode() if is_named else b""
    rest, is_any = b"", False
    async for chunk in there.client.stream(call):
        is_any = True
        if not is_named:
            click.echo(chunk, nl=False)
            continue
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            click.echo(prefix + line)
    if rest:
        click.echo(prefix + rest)
    return is_any
