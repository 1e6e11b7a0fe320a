"""A client for the cluster that a kubeconfig, or the pod we run in, points to."""

import os
from random import Random

from fleetqueue.base.clock import Clock
from fleetqueue.kube.auth import find_access
from fleetqueue.kube.client import Client
from fleetqueue.kube.http_transport import HttpTransport
from fleetqueue.kube.kubeconfig import Access


def connect(
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str = "",
    *,
    clock: Clock,
    random: Random,
    field_manager: str = "fleetqueue",
) -> Client:
    """Finds the cluster as kubectl does. Nothing is sent yet; close the client when done."""
    return connect_to(
        find_access(kubeconfig, context), clock=clock, random=random, field_manager=field_manager
    )


def connect_to(
    access: Access, *, clock: Clock, random: Random, field_manager: str = "fleetqueue"
) -> Client:
    transport = HttpTransport(access, clock, user_agent=field_manager)
    return Client(transport, random=random, namespace=access.namespace, field_manager=field_manager)
