"""What is to be done about a workload; steps that name a worker are done there."""

from dataclasses import dataclass, field

from fleetqueue.kube.resources import Object

REASON = "MultiKueue"


@dataclass(frozen=True, slots=True)
class Remove:
    """Mirror and copy go."""

    site: str


@dataclass(frozen=True, slots=True)
class MakeCopy:
    """A Workload is made."""

    site: str
    obj: Object


@dataclass(frozen=True, slots=True)
class UpdateCopy:
    """The spec of a copy becomes this."""

    site: str
    copy: Object
    spec: Object


@dataclass(frozen=True, slots=True)
class WriteCopy:
    """The status of a copy becomes what `made` has."""

    site: str
    made: Object


@dataclass(frozen=True, slots=True)
class Sync:
    """The mirror is made, brought up to the job, and its status copied back."""

    site: str
    copy: Object
    makes: bool = True
    is_final: bool = False
    is_stopped: bool = False
    """Nothing of it runs there any more."""


@dataclass(frozen=True, slots=True)
class Test:
    """What has the mirror's name there must be ours, or nothing."""

    site: str
    copy: Object


@dataclass(frozen=True, slots=True)
class Reset:
    """Nothing runs anywhere: what the local job says of that is taken back."""


@dataclass(frozen=True, slots=True)
class Write:
    """The status of the local workload becomes what `made` has."""

    made: Object


@dataclass(frozen=True, slots=True)
class SetCheck:
    """The check alone, by the dispatching controller."""

    state: str
    message: str


@dataclass(frozen=True, slots=True)
class Tell:
    """An event about the local workload."""

    message: str
    type: str = "Normal"
    reason: str = REASON


@dataclass(frozen=True, slots=True)
class Count:
    """One more workload that a worker admitted."""

    site: str


@dataclass(frozen=True, slots=True)
class WakeComponents:
    """The other Workloads of the job have something to do now."""


Step = (
    Remove | MakeCopy | UpdateCopy | WriteCopy | Sync | Test | Reset | Write | SetCheck | Tell
    | Count | WakeComponents
)  # fmt: skip


@dataclass(slots=True)
class Decision:
    """Steps in their order, when to look again, and what is wrong."""

    steps: list[Step] = field(default_factory=list)
    after: float | None = None
    problem: str = ""
    """Logged, and tried again later and later."""
    note: str = ""
