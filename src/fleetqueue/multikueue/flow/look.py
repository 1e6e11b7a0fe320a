"""A look at a workload: what is known, and what was decided so far."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels
from fleetqueue.api.times import parse_time
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue import copies
from fleetqueue.multikueue.flow.situation import Site, Situation
from fleetqueue.multikueue.flow.steps import Decision, Remove, SetCheck, Step


@dataclass(slots=True)
class Look:
    """A situation and what was decided so far."""

    seen: Situation
    decision: Decision = field(default_factory=Decision)
    removed: set[str] = field(default_factory=set)

    @property
    def workload(self) -> Object:
        return self.seen.workload

    @property
    def claimed(self) -> str:
        """The worker that has it."""
        return status.cluster_of(self.workload)

    @property
    def state(self) -> str:
        return str(self.seen.check.get("state") or "Pending")

    @property
    def is_taken(self) -> bool:
        """Whether the check stands for a worker that has it. One that took the place of another
        does not say so yet; only so can it wait while there is a worker, for an eviction takes
        that away.
        """
        is_new = self.state == "Pending" and bool(self.claimed) and not self.is_elastic
        return self.state == "Ready" or (is_new and not status.is_evicted(self.workload))

    @property
    def is_elastic(self) -> bool:
        annotations = self.workload["metadata"].get("annotations") or {}
        return self.seen.settings.gates.slices and annotations.get(labels.ELASTIC_JOB) == "true"

    @property
    def awaited(self) -> float:
        """Seconds until it is given up that a worker out of reach still runs what it had."""
        return 0.0 if self.claimed or status.is_evicted(self.workload) else self.doubted

    @property
    def doubted(self) -> float:
        """The same of one that has a worker, or is on its way out."""
        lost = [site for site in self.seen.sites if not site.is_connected]
        left = [seconds_left(self.seen, site) for site in lost if self.had(site)]
        return max(left, default=0.0)

    def had(self, site: Site) -> bool:
        return self.seen.had in (None, site.name)

    def here(self) -> list[Site]:
        """Connected workers with a copy that is not on its way out."""
        return [
            site
            for site in self.seen.sites
            if site.is_connected and site.copy is not None
            if not site.is_leaving and site.name not in self.removed
        ]

    def holders(self) -> list[Site]:
        """Those that may speak for the workload: the one that has it, or all while none has; nobody
        while it may still run elsewhere.
        """
        if self.awaited > 0:
            return []
        return [site for site in self.here() if self.claimed in ("", site.name)]

    def first(self, type: str) -> Site | None:
        """The one whose copy got the condition first; of several the first configured."""
        found = [site for site in self.holders() if status.is_true(site.copy or {}, type)]
        return min(found, key=lambda site: _since(site, type), default=None)

    def was_asked(self, site: Site) -> bool:
        """Whether it can be written down that this worker has it."""
        is_open = not self.claimed and not status.is_evicted(self.workload)
        return not is_open or site.name in nominated(self.workload)

    def add(self, *steps: Step) -> None:
        self.decision.steps += steps

    def remove(self, sites: Iterable[Site]) -> None:
        for site in sites:
            if site.is_connected and not site.is_clean and site.name not in self.removed:
                self.removed.add(site.name)
                self.add(Remove(site.name))

    def retry(self, message: str) -> None:
        self.add(SetCheck("Retry", copies.with_previous(message, self.state)))


def seconds_left(seen: Situation, site: Site) -> float:
    return seen.settings.seconds_left(site.lost_since, seen.now)


def nominated(workload: Object) -> list[str]:
    return list((workload.get("status") or {}).get("nominatedClusterNames") or ())


def with_check(seen: Situation, state: str, message: str) -> Object:
    made = copies.check_state(seen.check, state, message, seen.now)
    checks = [
        made if each["name"] == made["name"] else each for each in status.checks_of(seen.workload)
    ]
    return status.changed(seen.workload, admissionChecks=checks)


def _since(site: Site, type: str) -> datetime:
    found: Any = status.find_condition(site.copy or {}, type)
    return parse_time(found["lastTransitionTime"])
