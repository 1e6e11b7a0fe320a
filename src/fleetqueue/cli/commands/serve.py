"""`fleetqueue serve`: one Kubernetes API server, in this process, until it is told to stop."""

import asyncio
import gc
import logging
from pathlib import Path

import click


class LogLines(logging.Formatter):
    """A line per record: when, how grave, where, what, and the record's own keys and values."""

    _STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        extra = {name: vars(record)[name] for name in vars(record) if name not in self._STANDARD}
        values = "".join(f" {name}={value!r}" for name, value in extra.items())
        return super().formatMessage(record) + values


@click.command(
    help="Run a Kubernetes API server in this process.\n\n"
    "Writes DATA/kubeconfig and prints where the server is. Its state is in DATA and survives "
    "whatever happens to the process."
)
@click.option("--data", type=click.Path(path_type=Path), required=True, help="Directory for state.")
@click.option("--port", type=click.IntRange(0, 65535), default=6443, show_default=True,
              help="Port to listen on; 0 takes a free one.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--durability", type=click.Choice(["full", "normal", "memory"]), default="full",
              show_default=True, help="full: every acknowledged write survives a power loss; "
              "normal: survives a crash of the process; memory: nothing is kept.")  # fmt: skip
@click.option("--token-auth-file", type=click.Path(path_type=Path, exists=True), default=None,
              help="Bearer tokens as kube-apiserver reads them: "
              "token,user,uid,\"group1,group2\".")  # fmt: skip
@click.option("--tls-san", multiple=True, help="Another name or address for the certificate.")
@click.option("-v", "--verbose", is_flag=True, help="Log what the server does.")
def serve(
    data: Path,
    port: int,
    host: str,
    durability: str,
    token_auth_file: Path | None,
    tls_san: tuple[str, ...],
    verbose: bool,
) -> None:
    # Nearly all that is made until the server answers stays; collecting meanwhile is waste.
    gc.disable()
    from fleetqueue.app import ServeOptions

    log = logging.StreamHandler()
    log.setFormatter(LogLines())
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[log])
    options = ServeOptions(data, port, host, durability, token_auth_file, tls_san)
    with _runner() as runner:
        runner.run(_serve(options))


def _runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


async def _serve(options: object) -> None:
    from fleetqueue.app import ServeOptions, serving, until_stopped

    assert isinstance(options, ServeOptions)
    async with serving(options) as running:
        gc.freeze()
        gc.enable()
        click.echo(f"fleetqueue serves Kubernetes at {running.url}")
        click.echo(f"kubeconfig: {running.kubeconfig}")
        click.echo(f"try: kubectl --kubeconfig {running.kubeconfig} get namespaces")
        await until_stopped()
        click.echo("stopping", err=True)
