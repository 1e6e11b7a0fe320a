"""What dispatching runs on a manager cluster: connections, checks, the flow, quota, clean-up."""

import logging
from collections.abc import Callable, Iterable
from functools import partial

from fleetqueue.admission.writing import Writer
from fleetqueue.api.meta import Key
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.metrics.registry import Metrics
from fleetqueue.multikueue.adapters.registry import adapters
from fleetqueue.multikueue.connections import Connections, install_connections
from fleetqueue.multikueue.controllers.quota import QuotaController
from fleetqueue.multikueue.controllers.workload import DispatchController
from fleetqueue.multikueue.dispatchers.registry import dispatcher_of, warnings_of
from fleetqueue.multikueue.session import Connect
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.multikueue.workers import Farewell, nothing_to_keep

Wakes = Callable[[Object, DispatchSettings], Iterable[Key]]
log = logging.getLogger(__name__)


def install(
    manager: Manager,
    settings: DispatchSettings,
    connect: Connect,
    metrics: Metrics,
    is_served: Callable[[Resource], bool],
    farewell: Farewell = nothing_to_keep,
    writer: Writer | None = None,
) -> Connections:
    """Adds all of it to a manager, before it runs and after the kinds of jobs are followed.

    `writer`: who reserves quota, and then asks at once which workers are nominated.
    """
    for text in warnings_of(settings.dispatcher):
        log.warning("%s", text)
    known = adapters(settings)
    followed = {
        each.resource: partial(_woken, each.wakes, settings)
        for each in known.values()
        if not each.disabled
    }
    connections = install_connections(
        manager, settings, followed, connect, is_served=is_served, follows_queues=True
    )
    for kind in settings.external:
        # Nobody here has a controller for these, but their jobs are looked at.
        manager.cluster.informer(kind)
    dispatcher = dispatcher_of(settings.dispatcher)
    controller = DispatchController(
        manager.cluster, connections, known, dispatcher, settings, metrics, farewell
    )
    controller.follow(manager.add(controller))
    if writer is not None:
        writer.goes_on = controller.nominated
    manager.add_task(
        "errands", controller.errands.run, is_busy=lambda: controller.errands.are_under_way
    )
    quota = QuotaController(manager.cluster, connections, settings)
    quota.follow(manager.add(quota))
    metrics.sources.append(quota.readings)
    metrics.sources.append(connections.readings)
    return connections


def _woken(wakes: Wakes, settings: DispatchSettings, mirror: Object) -> Iterable[Key]:
    return wakes(mirror, settings)
