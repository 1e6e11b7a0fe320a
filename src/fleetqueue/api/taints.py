"""Taints of nodes and the tolerations of pods, as Kubernetes' core API defines them."""

from fleetqueue.api.model import Model
from fleetqueue.api.scalars import Int64, Time


class Taint(Model):
    """Keeps pods off a node unless they tolerate it."""

    key: str
    value: str = ""
    effect: str
    time_added: Time | None = None


class Toleration(Model):
    """Lets a pod onto nodes with a matching taint; an empty key matches every taint."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None
