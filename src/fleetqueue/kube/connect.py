"""A client for the cluster that a kubeconfig, or the pod we run in, points to."""

import os
from random import Random

from fleetqueue.base.clock import Clock
from fleetqueue.kube.allowance import PacedTransport, Rate
from fleetqueue.kube.auth import find_access
from fleetqueue.kube.client import Client
from fleetqueue.kube.http_transport import HttpTransport
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.patience import PatientTransport
from fleetqueue.kube.transport import Transport


def connect(
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str = "",
    *,
    clock: Clock,
    random: Random,
    field_manager: str = "fleetqueue",
    rate: Rate | None = None,
) -> Client:
    """Finds the cluster as kubectl does. Nothing is sent yet; close the client when done."""
    return connect_to(
        find_access(kubeconfig, context),
        clock=clock,
        random=random,
        field_manager=field_manager,
        rate=rate,
    )


def connect_to(
    access: Access,
    *,
    clock: Clock,
    random: Random,
    field_manager: str = "fleetqueue",
    rate: Rate | None = None,
    patience_seconds: float | None = None,
) -> Client:
    """`rate`: how often it may call; as often as it likes where nothing is said.
    `patience_seconds`: how long what it reads may take.
    """
    transport: Transport = HttpTransport(access, clock, user_agent=field_manager)
    if patience_seconds is not None:
        transport = PatientTransport(transport, patience_seconds, called(access))
    if rate is not None:
        transport = PacedTransport(transport, rate)
    return Client(transport, random=random, namespace=access.namespace, field_manager=field_manager)


def called(access: Access) -> str:
    """A server, for messages."""
    return f'"{access.name}" ({access.server})' if access.name else access.server
