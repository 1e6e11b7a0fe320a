"""Checks the part of the configuration about the process itself: where it listens, how it is
probed, who leads, how fast it asks.
"""

import re
from collections.abc import Iterator

from fleetqueue.api.field_errors import FieldError, forbidden, unsupported, wrong
from fleetqueue.api.kueue.config.checks import check_count, check_span
from fleetqueue.api.kueue.config.manager import ControllerOptions, Health
from fleetqueue.api.kueue.config.types import Configuration

LOCKS = ("leases",)
OFF = ("", "0")
"""Addresses at which nobody listens."""
PORT_MAX = 65535
_PATH = re.compile(r"/?[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*")


def check_process(config: Configuration) -> Iterator[FieldError]:
    lock = config.leader_election.resource_lock
    if lock not in LOCKS:
        yield unsupported("leaderElection.resourceLock", lock, LOCKS)
    yield from _check_port("webhook.port", config.webhook.port)
    yield from _check_port("visibilityServer.bindPort", config.visibility_server.bind_port)
    yield from _check_address("metrics.bindAddress", config.metrics.bind_address)
    yield from _check_health(config.health)
    if config.pprof_bind_address not in OFF:
        message = "is not supported: there are no profiles of a Go program to be served"
        yield forbidden("pprofBindAddress", message)
    yield from _check_controllers(config.controller)
    yield from check_count(config.client_connection.burst, "clientConnection.burst")


def _check_health(health: Health) -> Iterator[FieldError]:
    path = "health"
    yield from _check_address(f"{path}.healthProbeBindAddress", health.health_probe_bind_address)
    ready, alive = health.readiness_endpoint_name, health.liveness_endpoint_name
    for name, value in (("readinessEndpointName", ready), ("livenessEndpointName", alive)):
        if not _PATH.fullmatch(value):
            yield wrong(f"{path}.{name}", value, "must be a path, such as readyz")
    if ready.strip("/") == alive.strip("/"):
        message = "must differ from the readinessEndpointName"
        yield wrong(f"{path}.livenessEndpointName", alive, message)


def _check_controllers(options: ControllerOptions) -> Iterator[FieldError]:
    path = "controller"
    for kind, count in sorted(options.group_kind_concurrency.items()):
        yield from check_count(count, f"{path}.groupKindConcurrency[{kind}]")
    yield from check_span(options.sync_span, f"{path}.cacheSyncTimeout")


def _check_address(path: str, address: str) -> Iterator[FieldError]:
    port = address.rpartition(":")[2]
    is_port = port.isascii() and port.isdecimal() and int(port) <= PORT_MAX
    if address not in OFF and not (":" in address and is_port):
        yield wrong(path, address, "must be a host and a port, such as :8443, or 0 for none")


def _check_port(path: str, port: int) -> Iterator[FieldError]:
    if not 0 <= port <= PORT_MAX:
        yield wrong(path, port, f"must be between 0 and {PORT_MAX}, inclusive")
