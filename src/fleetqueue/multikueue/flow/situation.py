"""What is known of a workload that is sent to workers: here, and on each of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from fleetqueue.kube.resources import Object, uid_of
from fleetqueue.multikueue.components import Component
from fleetqueue.multikueue.dispatcher import Nomination
from fleetqueue.multikueue.settings import DispatchSettings


@dataclass(frozen=True, slots=True)
class Site:
    """One worker, and what is there of the workload."""

    name: str
    is_connected: bool = True
    lost_since: datetime | None = None
    copy: Object | None = None
    has_mirror: bool = False
    has_ended: bool = False
    """Whether the job there says that it is over."""
    was_put_out: bool = False
    """Whether the copy was seen evicted since it was claimed, whatever became of it after that."""

    is_alias: bool = False
    """Whether another name leads to the same cluster."""
    is_leaving: bool = False
    """Whether what is there is of one that had this name before, or about to be removed: it says
    nothing of this workload."""

    @property
    def is_clean(self) -> bool:
        return self.copy is None and not self.has_mirror


def without_aliases(sites: Sequence[Site], claimed: str) -> list[Site]:
    """A cluster that two names lead to has what is there once: under the name that has the
    workload, or the first.
    """
    holders: dict[str, str] = {}
    for site in sorted(sites, key=lambda each: each.name != claimed):
        if site.copy is not None:
            holders.setdefault(uid_of(site.copy), site.name)
    return [
        site
        if site.copy is None or holders[uid_of(site.copy)] == site.name
        else Site(site.name, is_alias=True)
        for site in sites
    ]


@dataclass(frozen=True, slots=True)
class Situation:
    """A local workload and all that is known of it elsewhere."""

    workload: Object
    check: Object
    """The state of its MultiKueue check."""
    sites: Sequence[Site]
    """The configured workers, in the order of the configuration."""
    now: datetime
    settings: DispatchSettings
    nominate: Callable[[], Nomination]
    """Asks the dispatcher."""
    former: Sequence[Site] = ()
    """Workers that are not configured any more but still have something of it."""
    components: Sequence[Component] = ()
    """All Workloads of its job, this one too, where there are several."""
    components_wanted: int = 0
    is_activity_mirrored: bool = False
    """Whether the local job says of pods elsewhere that they run."""
    is_held: bool = False
    """Whether the local job can be told of no start yet."""
    runs_here: bool = False
    """Whether the local job, of a kind that nothing hands over, was let go on this very cluster."""
    holder: str = ""
    """Of a slice that was replaced: the worker that has the job now; "" where none has, or the job
    is over."""
    had: str | None = ""
    """The worker that had it last; None: one had it, and nobody knows which."""
    has_leisure: Callable[[], bool] = lambda: True
    """Whether each of its states is shown by a write of its own."""
