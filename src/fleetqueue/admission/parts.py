"""What admission runs on one cluster: the ledger, the scheduler, the controllers."""

from dataclasses import dataclass
from functools import partial

from fleetqueue.admission import workers
from fleetqueue.admission.check_lists import CheckLists
from fleetqueue.admission.controllers import failure_recovery, in_use
from fleetqueue.admission.controllers.cluster_queue import cluster_queue_operator
from fleetqueue.admission.controllers.cohort import cohort_operator
from fleetqueue.admission.controllers.local_queue import local_queue_operator
from fleetqueue.admission.controllers.node_failures import NodeFailures
from fleetqueue.admission.controllers.priority_class import PriorityClassController
from fleetqueue.admission.controllers.topology_ungater import TopologyUngater
from fleetqueue.admission.controllers.variants import variant_operator
from fleetqueue.admission.controllers.workload import workload_operator
from fleetqueue.admission.following import follow
from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.observing import Observer, observe
from fleetqueue.admission.pacing import Pace
from fleetqueue.admission.scheduler import Scheduler
from fleetqueue.admission.settings import AdmissionSettings
from fleetqueue.admission.writing import Writer
from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.manager import Manager
from fleetqueue.metrics.registry import Metrics


@dataclass(frozen=True, slots=True)
class Admission:
    """The parts that others ask."""

    ledger: Ledger
    scheduler: Scheduler
    writer: Writer
    metrics: Metrics
    observer: Observer


def install(
    manager: Manager, settings: AdmissionSettings, metrics: Metrics | None = None
) -> Admission:
    """Adds all of it to a manager, before it runs."""
    cluster = manager.cluster
    now = cluster.clock.now
    ledger = Ledger(settings.queueing, settings.reading, now)
    follow(cluster, ledger)
    lists = CheckLists(now)
    writer = Writer(cluster, ledger, settings.life.wording, now, lists)
    scheduler = Scheduler(ledger, writer, now)
    metrics = metrics or Metrics()
    pace = Pace(now)
    for operator in (
        workload_operator(ledger, settings.life, lists),
        cluster_queue_operator(ledger, pace),
        local_queue_operator(ledger, pace),
        cohort_operator(ledger, pace),
        in_use.flavor_operator(ledger),
        in_use.check_operator(ledger),
        *([in_use.topology_operator(ledger)] if settings.queueing.places_pods else []),
    ):
        manager.add(controller_of(operator)(cluster))
    if settings.queueing.admits_concurrently:
        manager.add(controller_of(variant_operator(ledger, settings.life))(cluster))
    manager.add(PriorityClassController(cluster))
    if settings.queueing.places_pods:
        manager.add(TopologyUngater(cluster))
        if settings.queueing.replaces_nodes:
            leaves_single_pods = settings.queueing.leaves_single_pods
            manager.add(
                NodeFailures(cluster, writer, settings.nodes, leaves_single_pods=leaves_single_pods)
            )
    if settings.recovers_pods:
        manager.add(controller_of(failure_recovery.operator())(cluster))
    manager.add_task(
        "scheduler", scheduler.run, needs_leader=True, is_busy=lambda: scheduler.is_busy
    )
    metrics.sources.append(partial(workers.readings, manager))
    observer = Observer(ledger, metrics, settings.metrics, now)
    observe(cluster, observer, scheduler)
    return Admission(ledger, scheduler, writer, metrics, observer)
