"""JobKind: all that the queue has to know of a kind of job, as a declaration.

A field takes a path, or the name of a condition; where that cannot say it, a function.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from fleetqueue.api.field_errors import FieldError
from fleetqueue.base import paths
from fleetqueue.errors import FleetqueueError
from fleetqueue.jobs.infos import PodSetInfo
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.plan import Step
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.sources import Source


class NotYet(FleetqueueError):
    """Something that the job needs is missing or busy; it is tried again after a while."""

    who_acts = "user"


@dataclass(frozen=True, slots=True)
class Sight:
    """One job and what is around it."""

    job: Object
    source: Source
    settings: JobSettings
    observed: Mapping[str, Any] = field(default_factory=dict)
    """Objects above the job, by their titles."""
    now: datetime | None = None
    """When it is looked at; not for those who validate it."""

    @property
    def name(self) -> str:
        return str(self.job["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.job["metadata"].get("namespace") or "")

    @property
    def labels(self) -> dict[str, str]:
        return self.job["metadata"].get("labels") or {}

    @property
    def annotations(self) -> dict[str, str]:
        return self.job["metadata"].get("annotations") or {}

    @property
    def spec(self) -> Object:
        return self.job.get("spec") or {}

    @property
    def status(self) -> Object:
        return self.job.get("status") or {}


@dataclass(frozen=True, slots=True)
class PodRole:
    """The pods of one role, by paths; a job without that template has no such role."""

    name: str
    template: str
    count: str = ""
    """Where nothing is there it is one pod."""


@dataclass(frozen=True, slots=True)
class Role:
    """The pods of one role in one job."""

    name: str
    template: str
    """The path of the template; where infos are merged in, and what refusals name."""
    count: int
    pods: Object
    """The template as it counts, which may have more in it than the job."""
    min_count: int | None = None
    pod_index_label: str | None = None
    """Instead of the kind's."""
    sub_group_index_label: str = ""
    sub_group_count: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The conditions of a job that has ended."""

    succeeded: str
    failed: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a job ended."""

    message: str
    is_success: bool


Roles: TypeAlias = Callable[[Sight], list[Role]]
Says: TypeAlias = Callable[[Sight], bool]
Start: TypeAlias = Callable[[Sight, Sequence[PodSetInfo]], list[Step]]
Stop: TypeAlias = Callable[[Sight, Sequence[PodSetInfo] | None], list[Step]]
"""What stops a job and puts its templates back, if the Workload is known that tells how they were;
no steps where it is stopped already."""
Halt: TypeAlias = Callable[[Sight, str, str], list[Step]]
"""What ends a job that cannot be suspended, given the reason and the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """One kind of job."""

    framework: str
    """Its name in the configuration."""
    resource: Resource
    suspend: str
    """The path of the field that suspends it; "" where `hold` does."""
    roles: Sequence[PodRole] | Roles
    active: str | Says
    """Whether any of its pods may still run: some value at the path is not zero."""
    ready: str | Says
    """Whether all its pods are ready or have succeeded."""
    finished: Outcome | Callable[[Sight], Verdict | None] | None = None
    """None: it never ends by itself."""
    managed_by: str = ""
    own_name: str = ""
    """What `managed_by` says of a job that its own operator handles."""
    hands_over: Callable[[JobSettings], bool] = lambda settings: True
    """Whether `managed_by` may be said at all."""
    priority_class: Sequence[str] = ()
    """Paths of the names of PriorityClasses; the first that is there counts."""
    pod_index_label: str = ""
    keeps_labels: Sequence[str] = ()
    """Labels of templates that an operator puts there: not in pod sets, and never taken away."""
    needs_labels: Sequence[str] = ()
    """Others that are never taken away; a pod set that somebody else wrote may lack them."""
    reclaimable: Callable[[Sight], dict[str, int]] | None = None
    """Pods that will not be needed again, by pod set."""
    is_suspended: Callable[[Object], bool] | None = None
    start: Start | None = None
    stop: Stop | None = None
    halt: Halt | None = None
    finalize: Callable[[Sight], list[Step]] | None = None
    """What lets go of the job itself when its Workload is over, or it is deleted."""
    runs_elsewhere: Callable[[Sight, Object], bool] | None = None
    """Whether its Workload, once admitted, is run by another cluster."""
    follows_queue: Says | None = None
    """Whether its Workload changes queues with it; where nothing is said it does."""
    skip: Says | None = None
    """Whether the queue has nothing to do with a job at all."""
    on_hold: Says | None = None
    stays_out: Callable[[Sight, Object], bool] | None = None
    """Whether a job that was evicted, with its Workload, is not queued again, whatever the
    reason."""
    checks_ancestors: bool = True
    """Whether it may belong to a job that is managed; pods were asked when they were made."""
    queues: bool = True
    """Whether it is queued as it is; others are by way of their pods."""
    needs: Sequence[str] = ()
    """Frameworks that come with it."""
    hold: Callable[[Sight], None] | None = None
    """What its webhook does, in place, to a job that has to wait, where no field suspends it."""
    is_held: Says | None = None
    """Whether it has to wait whatever else it says, since what made it is managed."""
    stays_in_scope: bool = False
    """Whether its webhook leaves namespaces alone that are not managed, queue name or not."""
    warns_of_owner: bool = False
    """Whether one that has the label of managed pods below a managed owner is warned of."""
    defaults_updates: bool = False
    """Whether changes are defaulted too."""
    copies_metadata: bool = True
    """Whether labels and annotations of a template are part of its pod set."""
    default: Callable[[Sight], None] | None = None
    """What its webhook does beyond the common, in place; for a job that is created."""
    validate: Callable[[Sight, Object | None], list[FieldError]] | None = None
    """What is refused beyond the common, given the job as it was."""
    validates_managed_only: bool = False
    validates_changes: Callable[[JobSettings], bool] = lambda settings: True
    """Whether changes of a job are looked at by its webhook, and may be refused."""
    validates_scale: bool = False
    """Whether that holds for a number of replicas that is written as a Scale, too."""
    sorts_refusals: bool = False
    is_part: Says | None = None
    """Whether others are in its pod set too, so that its own size tells nothing."""
    topology_hint: str = ""
    """Put behind refusals of topology annotations, where they are not in the job itself."""
    template_title: Callable[[Role], str] = lambda role: role.template
    """What refusals call a template."""
    name_extra: Callable[[Object], str] = lambda job: str(job["metadata"].get("generation") or 0)
    """What tells the Workloads of one elastic job apart."""
    gates_pods: bool = False
    """Whether its webhook adds the gate of elastic jobs to all templates."""
    owns: Sequence[Resource] = ()
    """Kinds whose objects wake the job that controls them."""
    reads: Sequence[Resource] = ()
    """Other kinds that its functions look at."""
    prepare: Callable[[Sight], list[Step]] | None = None
    """What has to be noted on the job before its Workload is looked for; no steps mostly."""
    is_fixed: bool = False
    """Whether its pods stay as they are while it runs, though what it refers to may change."""
    supports_prebuilt: bool = True
    supports_slices: bool = False

    @property
    def title(self) -> str:
        """As Go prints a kind: `batch/v1, Kind=Job`, `/v1, Kind=Pod`."""
        return f"{self.resource.group}/{self.resource.version}, Kind={self.resource.kind}"

    def skips(self, sight: Sight) -> bool:
        return self.skip is not None and self.skip(sight)

    def suspends(self, job: Object) -> bool:
        if self.is_suspended is not None:
            return self.is_suspended(job)
        return bool(paths.get(job, self.suspend))

    def roles_of(self, sight: Sight) -> list[Role]:
        if callable(self.roles):
            return self.roles(sight)
        return [made for role in self.roles if (made := _role(sight.job, role)) is not None]

    def is_active(self, sight: Sight) -> bool:
        if callable(self.active):
            return self.active(sight)
        return any(paths.find(sight.job, self.active))

    def is_ready(self, sight: Sight) -> bool:
        return self.ready(sight) if callable(self.ready) else holds(sight.job, self.ready)

    def verdict(self, sight: Sight) -> Verdict | None:
        if not isinstance(self.finished, Outcome):
            return None if self.finished is None else self.finished(sight)
        for type, is_success in ((self.finished.succeeded, True), (self.finished.failed, False)):
            found = condition(sight.job, type)
            if found is not None and found["status"] == "True":
                return Verdict(str(found.get("message") or ""), is_success)
        return None


def condition(job: Object, type: str) -> Object | None:
    found = (job.get("status") or {}).get("conditions") or ()
    return next((each for each in found if each["type"] == type), None)


def holds(job: Object, type: str) -> bool:
    """Whether the job has that condition with the status True."""
    found = condition(job, type)
    return found is not None and found["status"] == "True"


def _role(job: Object, role: PodRole) -> Role | None:
    template = paths.get(job, role.template)
    if template is None:
        return None
    count = paths.get(job, role.count) if role.count else None
    return Role(role.name, role.template, 1 if count is None else int(count), template)
