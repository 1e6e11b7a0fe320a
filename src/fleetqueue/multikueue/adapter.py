"""Adapter: all that dispatching has to know of a kind of job, as a declaration.

Functions are pure: they take objects as plain JSON and never change them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fleetqueue.api.kueue import labels
from fleetqueue.api.meta import Key
from fleetqueue.jobs import identity
from fleetqueue.kube.calls import Propagation
from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.kube.sources import Source
from fleetqueue.multikueue.settings import DispatchSettings


@dataclass(frozen=True, slots=True)
class Copying:
    """A local job, its mirror, and how the status of the one becomes that of the other."""

    workload: Object
    job: Object
    mirror: Object
    settings: DispatchSettings
    is_final: bool = False
    """Whether the remote Workload has finished: the status is copied whatever the job says."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What becomes of the local job."""

    status: Object | None = None
    """Its whole status; None where it stays as it is."""
    is_postponed: bool = False


Jobs: TypeAlias = Callable[[Object, Source, DispatchSettings], Sequence[Object]]
"""Given a local Workload: the local objects of which a worker gets mirrors."""
Mirror: TypeAlias = Callable[[Object, Object, DispatchSettings], Object]
"""Given a job and its Workload: what is created on the worker."""


def nothing_told(job: Object) -> None:
    """Of a job that says nothing of what runs elsewhere, nothing is to be taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One kind of job."""

    resource: Resource
    framework: str
    managed_by: str = ""
    """The path of the field that hands a job over; "" for kinds whose pods are held by gates."""
    managed_by_title: str = "spec.managedBy"
    """What a refusal calls that field."""
    jobs: Jobs
    mirror: Mirror
    copy: Callable[[Copying], Copied]
    has_ended: Callable[[Object, DispatchSettings], bool] = lambda mirror, settings: False
    """Whether all that a job or its mirror will ever tell is told; False also where nobody can
    say."""
    forward: Callable[[Copying], Object | None] = lambda copying: None
    """A merge patch that brings the mirror up to the job; None where there is nothing to bring."""
    reset: Callable[[Object], Object | None] = nothing_told
    """Given a local job whose worker is lost: its status without what ran there, so that it counts
    as stopped; None where nothing in it says that anything runs."""
    has_place: Callable[[Object], bool] = lambda mirror: False
    """Whether a mirror is one of a group, and counts there: no other can have its place."""
    is_held: Callable[[Object], bool] = lambda job: False
    """Whether a local job can be told of no start, since it was not let go itself."""
    wakes: Callable[[Object, DispatchSettings], Iterable[Key]]
    """Given a mirror: the local Workloads that it belongs to."""
    propagation: Propagation | None = None
    """How a mirror is deleted; None: as the server does by itself."""
    has_components: bool = False
    """Whether one job has several Workloads, which all go to the same worker."""
    disabled: str = ""
    """Why no job of the kind is sent anywhere, though the configuration names it."""

    @property
    def tells_activity(self) -> bool:
        """Whether a local job tells that it runs elsewhere."""
        return self.reset is not nothing_told

    def without_run(self, job: Object, settings: DispatchSettings) -> Object | None:
        """What `reset` makes of a job; one that has ended runs nowhere, and keeps its end."""
        return None if self.has_ended(job, settings) else self.reset(job)

    @property
    def title(self) -> str:
        """As Go prints a kind: `batch/v1, Kind=Job`."""
        group = self.resource.api_version if self.resource.group else f"/{self.resource.version}"
        return f"{group}, Kind={self.resource.kind}"


def prebuilt_key(mirror: Object, settings: DispatchSettings) -> Iterable[Key]:
    """The Workload that most mirrors name."""
    name = identity.prebuilt_of(mirror, settings.jobs)
    return [Key(key_of(mirror).namespace, name)] if name else []


def has_origin(obj: Object, settings: DispatchSettings) -> bool:
    return identity.labels_of(obj).get(labels.MULTIKUEUE_ORIGIN) == settings.origin
