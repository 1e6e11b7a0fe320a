"""`kueuectl create clusterqueue`."""

from typing import Any

import click

from fleetqueue.cli.kueuectl.creating import create, new_object
from fleetqueue.cli.kueuectl.dry_runs import DryRun, dry_run_option
from fleetqueue.cli.kueuectl.failures import exactly_one
from fleetqueue.cli.kueuectl.kinds import CLUSTER_QUEUE
from fleetqueue.cli.kueuectl.outputs import Output, output_options
from fleetqueue.cli.kueuectl.pairs import read_pairs
from fleetqueue.cli.kueuectl.quotas import resource_groups
from fleetqueue.cli.kueuectl.session import run
from fleetqueue.cli.kueuectl.verbs import kube_command

Object = dict[str, Any]
STRATEGIES = click.Choice(["BestEffortFIFO", "StrictFIFO"])
RECLAIM = click.Choice(["Never", "LowerPriority", "Any"])
WITHIN = click.Choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"])
QUOTA = "FLAVOR:RESOURCE=QUANTITY;…"


@kube_command("clusterqueue", "Create a ClusterQueue.")
@click.argument("name", nargs=-1)
@click.option("--cohort", default="", help="The cohort it belongs to.")
@click.option("--queuing-strategy", type=STRATEGIES, default="BestEffortFIFO", show_default=True,
              help="In which order workloads are admitted.")  # fmt: skip
@click.option("--namespace-selector", multiple=True, metavar="KEY=VALUE,…",
              help="Labels of the namespaces that may use it; all may where nothing is said.",
              )  # fmt: skip
@click.option("--reclaim-within-cohort", type=RECLAIM, default="Never", show_default=True,
              help="Which workloads of the cohort it preempts for what it lent.")  # fmt: skip
@click.option("--preemption-within-cluster-queue", type=WITHIN, default="Never",
              show_default=True, help="Which of its own workloads it preempts.")  # fmt: skip
@click.option("--nominal-quota", multiple=True, metavar=QUOTA, help="Quotas; repeatable.")
@click.option("--borrowing-limit", multiple=True, metavar=QUOTA, help="How much it may borrow.")
@click.option("--lending-limit", multiple=True, metavar=QUOTA, help="How much it may lend.")
@dry_run_option
@output_options()
def cluster_queue(name: tuple[str, ...], dry_run: DryRun, output: Output, **flags: Any) -> Any:
    obj = build(exactly_one(name), **flags)
    return run(lambda session: create(session, CLUSTER_QUEUE, obj, dry_run, output))


def build(
    name: str,
    *,
    cohort: str = "",
    queuing_strategy: str = "BestEffortFIFO",
    namespace_selector: tuple[str, ...] = (),
    reclaim_within_cohort: str = "Never",
    preemption_within_cluster_queue: str = "Never",
    nominal_quota: tuple[str, ...] = (),
    borrowing_limit: tuple[str, ...] = (),
    lending_limit: tuple[str, ...] = (),
) -> Object:
    labels = read_pairs(namespace_selector, "--namespace-selector")
    spec: Object = {
        "queueingStrategy": queuing_strategy,
        "namespaceSelector": {"matchLabels": labels} if labels else {},
        "preemption": {
            "reclaimWithinCohort": reclaim_within_cohort,
            "withinClusterQueue": preemption_within_cluster_queue,
        },
    }
    if cohort:
        spec["cohortName"] = cohort
    groups = resource_groups(nominal_quota, borrowing_limit, lending_limit)
    if groups:
        spec["resourceGroups"] = groups
    return new_object(CLUSTER_QUEUE, name, spec)
