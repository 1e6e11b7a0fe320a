"""`fleetqueue logs`: what a job says that a manager has sent to a worker."""

import asyncio
from pathlib import Path

import click

from fleetqueue.cli.reaching import Asked, There, containers_of, pods, reaching


@click.command(
    help="Print the logs of a job that runs, or ran, on a worker.\n\n"
    "JOB is a name, or a kind and a name: pytorchjob/train. The way there is the manager's: you "
    "need the right to read its Workloads, its MultiKueueClusters, and the Secret of the worker. "
    "Logs of a job that is over are the manager's, where that is one of `fleetqueue up` or `serve`."
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
        wanted = [
            (each, name)
            for each in found
            for name in containers_of(each.pod, asked.container, all_of_them=all_containers)
        ]
        is_named = len(wanted) > 1 if prefix is None else prefix
        if "follow" in query:
            await asyncio.gather(*(_one(*each, query, is_named) for each in wanted))
            return
        for each in wanted:
            await _one(*each, query, is_named)


async def _one(there: There, container: str, query: dict[str, str], is_named: bool) -> None:
    """Line by line where it is told whose they are: several may speak at once."""
    from fleetqueue.kube.resources import PODS
    from fleetqueue.kube.transport import Call

    path = PODS.path(there.namespace, there.name, "log")
    asked = [*query.items(), ("container", container)]
    headers = {"accept": "*/*", "accept-encoding": "identity"}
    prefix = f"[pod/{there.name}/{container}] ".encode() if is_named else b""
    rest = b""
    async for chunk in there.client.stream(Call("GET", path, asked, headers)):
        if not is_named:
            click.echo(chunk, nl=False)
            continue
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            click.echo(prefix + line)
    if rest:
        click.echo(prefix + rest)
