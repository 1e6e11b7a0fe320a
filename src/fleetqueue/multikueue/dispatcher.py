"""Dispatcher: who picks the workers that a workload is offered to.

One can be installed as an entry point of the group `fleetqueue.dispatchers`, under the name that
the configuration gives.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.settings import DispatchSettings


@dataclass(frozen=True, slots=True)
class Candidate:
    """One worker of the check's configuration."""

    name: str
    is_connected: bool
    takes_kind: bool = True
    """Whether jobs of this kind can be sent there; one where not is offered to no dispatcher."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Those of its MultiKueueCluster."""
    copy: Object | None = None
    """The remote Workload, if one is there."""
    cluster_queues: Sequence[Object] | None = None
    """All ClusterQueues there; None where they cannot be read."""
    local_queues: Sequence[Object] | None = None
    problems: Sequence[str] = ()
    """What the pre-flight found: each a sentence; a worker with problems cannot run it."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A workload that holds quota on the manager and is on no worker yet."""

    workload: Object
    candidates: Sequence[Candidate]
    """In the order of the configuration."""
    nominated: Sequence[str]
    round_started: datetime | None
    """When the names nominated last were written; None where none are."""
    now: datetime
    settings: DispatchSettings


@dataclass(frozen=True, slots=True)
class Nomination:
    """Whom it is offered to now."""

    names: Sequence[str] | None
    """As they are to be stored; None: what is stored stays."""
    after: float | None = None
    """Ask again after so many seconds."""
    note: str = ""
    """For the log."""


class Dispatcher(Protocol):
    """A pure function with a name."""

    name: str

    def nominate(self, offer: Offer, /) -> Nomination: ...
