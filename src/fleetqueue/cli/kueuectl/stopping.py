"""Stops and resumes: queues by their stop policy, workloads by being active."""

from typing import Any

import click

from fleetqueue.api.patches import apply_merge_patch
from fleetqueue.cli.kueuectl import kinds
from fleetqueue.cli.kueuectl.creating import tell
from fleetqueue.cli.kueuectl.dry_runs import DryRun, dry_run_option
from fleetqueue.cli.kueuectl.failures import exactly_one
from fleetqueue.cli.kueuectl.naming import complete_names
from fleetqueue.cli.kueuectl.outputs import Output, output_options
from fleetqueue.cli.kueuectl.session import Session, run
from fleetqueue.cli.kueuectl.verbs import kube_command
from fleetqueue.kube.resources import Resource

Object = dict[str, Any]
KINDS = {
    "clusterqueue": kinds.CLUSTER_QUEUE,
    "localqueue": kinds.LOCAL_QUEUE,
    "workload": kinds.WORKLOAD,
}


def stop_queue(name: str) -> click.Command:
    kind = KINDS[name]

    @kube_command(name, f"Hold a {kind.kind}.")
    @click.argument("name", nargs=-1, shell_complete=complete_names(kind))
    @click.option("--keep-already-running", is_flag=True,
                  help="Admit no more, and leave alone what runs.")  # fmt: skip
    @dry_run_option
    @output_options()
    def command(
        name: tuple[str, ...], keep_already_running: bool, dry_run: DryRun, output: Output
    ) -> Any:
        policy = "Hold" if keep_already_running else "HoldAndDrain"
        return change(kind, exactly_one(name), {"stopPolicy": policy}, "", dry_run, output)

    return command


def resume_queue(name: str) -> click.Command:
    kind = KINDS[name]
    return _plain(name, f"Let a {kind.kind} admit again.", kind, {"stopPolicy": "None"}, "")


def stop_workload(name: str) -> click.Command:
    text = "Take a workload out of its queue; its job is stopped."
    return _plain(name, text, kinds.WORKLOAD, {"active": False}, "stopped")


def resume_workload(name: str) -> click.Command:
    text = "Have a workload queued again."
    return _plain(name, text, kinds.WORKLOAD, {"active": True}, "resumed")


def _plain(name: str, text: str, kind: Resource, spec: Object, verb: str) -> click.Command:
    @kube_command(name, text)
    @click.argument("name", nargs=-1, shell_complete=complete_names(kind))
    @dry_run_option
    @output_options()
    def command(name: tuple[str, ...], dry_run: DryRun, output: Output) -> Any:
        return change(kind, exactly_one(name), spec, verb, dry_run, output)

    return command


def change(
    kind: Resource, name: str, spec: Object, verb: str, dry_run: DryRun, output: Output
) -> Any:
    patch = {"spec": spec}

    async def work(session: Session) -> None:
        space = session.namespace if kind.namespaced else ""
        if dry_run.is_sent:
            is_dry = dry_run is DryRun.SERVER
            made = await session.client.patch(kind, name, patch, space, dry_run=is_dry)
        else:
            made = apply_merge_patch(await session.client.get(kind, name, space), patch)
        tell(made, f"{verb}{dry_run.value}".strip(), output)

    return run(work)
