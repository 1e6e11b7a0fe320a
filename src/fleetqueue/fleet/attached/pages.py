"""What agents of hubs and members show beside their work: metrics, and whether they are well."""

from fleetqueue.base.clock import Clock
from fleetqueue.kube.client import Client
from fleetqueue.kube.delegated_access import DelegatedAccess
from fleetqueue.kube.health_server import HealthServer
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.metrics_page import MetricsPage
from fleetqueue.kube.page_server import PageServer
from fleetqueue.kube.webhook_certificates import CertificateKeeper
from fleetqueue.metrics.registry import Metrics


def show_health(manager: Manager, *addresses: str) -> None:
    """At each address, host and port divided by a colon; "" and "0" are nowhere."""
    for host, port in _places(addresses):
        manager.add_task("probes", HealthServer(lambda: manager.is_ready, host, port).run)


def show_metrics(
    manager: Manager,
    client: Client,
    clock: Clock,
    keeper: CertificateKeeper,
    metrics: Metrics,
    *addresses: str,
) -> None:
    for host, port in _places(addresses):
        access = DelegatedAccess(client, clock)
        page = MetricsPage(metrics.exposed, access)
        server = PageServer(page.answer, keeper, access, host=host, port=port)
        manager.add_task("metrics", server.run)


def _places(addresses: tuple[str, ...]) -> list[tuple[str, int]]:
    found = []
    for address in dict.fromkeys(addresses):
        if address in ("", "0"):
            continue
        host, _, port = address.rpartition(":")
        found.append((host.strip("[]") or "0.0.0.0", int(port)))
    return found
