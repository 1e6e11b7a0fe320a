"""`fleetqueue serve`: one Kubernetes API server, in this process, until it is told to stop."""

import gc
import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleetqueue.base import log_lines
from fleetqueue.base.loops import new_runner
from fleetqueue.cli import dispatch_flags
from fleetqueue.cli.paths import Place, TextFile

if TYPE_CHECKING:
    from fleetqueue.embedded.live import LiveOptions
    from fleetqueue.fleet.settings import HubSettings
    from fleetqueue.kueue import KueueOptions


@click.command(
    help="Run a Kubernetes cluster in this process: an API server, nodes, pods, controllers.\n\n"
    "Writes DATA/kubeconfig and prints where the server is. Its state is in DATA and survives "
    "whatever happens to the process."
)
@click.option("--data", type=Place(path_type=Path), required=True, help="Directory for state.")
@click.option("--port", type=click.IntRange(0, 65535), default=6443, show_default=True,
              help="Port to listen on; 0 takes a free one.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--durability", type=click.Choice(["full", "normal", "memory"]), default="full",
              show_default=True, help="full: every acknowledged write survives a power loss; "
              "normal: survives a crash of the process; memory: nothing is kept.")  # fmt: skip
@click.option("--token-auth-file", type=TextFile(), default=None,
              help="Bearer tokens as kube-apiserver reads them: "
              "token,user,uid,\"group1,group2\".")  # fmt: skip
@click.option("--tls-san", multiple=True, help="Another name or address for the certificate.")
@click.option("--runtime/--no-runtime", default=True, show_default=True,
              help="Also run nodes, pods and controllers, or the API server alone.")  # fmt: skip
@click.option("--simulate", is_flag=True, help="Pods are simulated: no process is started.")
@click.option("--nodes", type=TextFile(), default=None,
              help="Nodes to have instead of this machine, as YAML.")  # fmt: skip
@click.option("--gpus", type=click.IntRange(0, 1024), default=None,
              help="Offer so many GPUs, whatever this machine has.")  # fmt: skip
@click.option(
    "--images",
    type=TextFile(),
    default=None,
    help="Which environments of this machine stand for which images, as YAML.",
)
@click.option(
    "--namespaces/--no-namespaces",
    default=True,
    show_default=True,
    help="Give containers a view of this machine of their own, where it allows that.",
)
@click.option("--queues/--no-queues", default=True, show_default=True,
              help="Queue jobs as Kueue does, or leave them alone.")  # fmt: skip
@click.option("--config", type=TextFile(),
              default=None, help="Kueue's configuration file; without one every kind of job is "
              "queued.")  # fmt: skip
@click.option("--feature-gates", default="", help="Kueue's gates: A=true,B=false.")
@dispatch_flags.dispatching
@click.option("--hub/--no-hub", default=False, show_default=True,
              help="Place objects on member clusters, as KubeFleet does.")  # fmt: skip
@click.option("--dashboard-port", type=click.IntRange(0, 65535), default=0, metavar="PORT",
              help="Show queues and workloads in a browser, on this port.")  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="Log what the server does.")
def serve(
    data: Path,
    port: int,
    host: str,
    durability: str,
    token_auth_file: Path | None,
    tls_san: tuple[str, ...],
    runtime: bool,
    simulate: bool,
    nodes: Path | None,
    gpus: int | None,
    images: Path | None,
    namespaces: bool,
    queues: bool,
    config: Path | None,
    feature_gates: str,
    hub: bool,
    dashboard_port: int,
    verbose: bool,
    **given: Any,
) -> None:
    # Nearly all that is made until the server answers stays; collecting meanwhile is waste.
    gc.disable()
    from fleetqueue.app import ServeOptions

    sent = dispatch_flags.taken(given)
    log_lines.begin(logging.INFO if verbose else logging.WARNING)
    live = _live(data, simulate, nodes, gpus, images) if runtime else None
    if live is not None:
        queueing = replace(_kueue(config, feature_gates), **sent) if queues else None
        live = replace(live, namespaces=namespaces, kueue=queueing, hub=_hub() if hub else None)
    options = ServeOptions(
        data, port, host, durability, token_auth_file, tls_san, live, dashboard_port
    )
    with new_runner() as runner:
        runner.run(_serve(options))


def _live(
    data: Path, simulate: bool, nodes: Path | None, gpus: int | None, images: Path | None
) -> "LiveOptions":
    from fleetqueue.embedded.live import LiveOptions
    from fleetqueue.runtime.image_files import read_images
    from fleetqueue.runtime.node_files import read_nodes

    declared = read_nodes(nodes.read_text(), str(nodes)) if nodes is not None else []
    table = read_images(images.read_text(), str(images)) if images is not None else None
    # Processes work in directories of their own.
    return LiveOptions(data.resolve(), declared, simulate, gpus, table)


def _kueue(config: Path | None, feature_gates: str) -> "KueueOptions":
    from fleetqueue.api.kueue.gates import read_gates
    from fleetqueue.kueue import read_options

    text = None if config is None else config.read_text()
    return read_options(text, read_gates(feature_gates), is_embedded=True)


def _hub() -> "HubSettings":
    from fleetqueue.fleet.settings import HubSettings

    return HubSettings()


async def _serve(options: object) -> None:
    from fleetqueue.app import ServeOptions, serving, until_stopped
    from fleetqueue.dashboard.beside import shown_beside

    assert isinstance(options, ServeOptions)
    async with (
        serving(options) as running,
        shown_beside(running.kubeconfig, options.dashboard_port) as page,
    ):
        gc.freeze()
        gc.enable()
        click.echo(f"fleetqueue serves Kubernetes at {running.url}")
        click.echo(f"kubeconfig: {running.kubeconfig}")
        click.echo(f"try: kubectl --kubeconfig {running.kubeconfig} get namespaces")
        if page:
            click.echo(f"dashboard: {page}")
        await until_stopped()
        click.echo("stopping", err=True)
