"""`kueuectl create resourceflavor`."""

from collections.abc import Sequence
from typing import Any

import click

from fleetqueue.cli.kueuectl.creating import create, new_object
from fleetqueue.cli.kueuectl.dry_runs import DryRun, dry_run_option
from fleetqueue.cli.kueuectl.failures import exactly_one
from fleetqueue.cli.kueuectl.kinds import RESOURCE_FLAVOR
from fleetqueue.cli.kueuectl.outputs import Output, output_options
from fleetqueue.cli.kueuectl.pairs import read_pairs, read_taints, read_tolerations
from fleetqueue.cli.kueuectl.session import run
from fleetqueue.cli.kueuectl.verbs import kube_command

Object = dict[str, Any]


@kube_command("resourceflavor", "Create a ResourceFlavor.")
@click.argument("name", nargs=-1)
@click.option("--node-labels", multiple=True, metavar="KEY=VALUE,…",
              help="Labels of the nodes that it stands for.")  # fmt: skip
@click.option("--node-taints", multiple=True, metavar="KEY=VALUE:EFFECT,…",
              help="Taints of those nodes.")  # fmt: skip
@click.option("--tolerations", multiple=True, metavar="KEY[=VALUE][:EFFECT],…",
              help="Tolerations that workloads get.")  # fmt: skip
@dry_run_option
@output_options()
def resource_flavor(
    name: tuple[str, ...],
    node_labels: tuple[str, ...],
    node_taints: tuple[str, ...],
    tolerations: tuple[str, ...],
    dry_run: DryRun,
    output: Output,
) -> Any:
    obj = build(exactly_one(name), node_labels, node_taints, tolerations)
    return run(lambda session: create(session, RESOURCE_FLAVOR, obj, dry_run, output))


def build(
    name: str, labels: Sequence[str], taints: Sequence[str], tolerations: Sequence[str]
) -> Object:
    spec: Object = {
        "nodeLabels": read_pairs(labels, "--node-labels"),
        "nodeTaints": read_taints(taints),
        "tolerations": read_tolerations(tolerations),
    }
    given = {field: value for field, value in spec.items() if value}
    return new_object(RESOURCE_FLAVOR, name, given)
