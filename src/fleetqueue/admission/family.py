"""A workload and its variants as one look finds them, and the plan that comes of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from fleetqueue.admission import variant_form
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import workload_names, workloads
from fleetqueue.api.kueue.admission_status import EXPLICIT, Wording
from fleetqueue.api.times import parse_time
from fleetqueue.kube.plan import Apply, Note, Plan
from fleetqueue.queueing.model import ClusterQueue, ConcurrentAdmission

Json = dict[str, Any]


@dataclass
class Family:
    """The parent, its variants, the ClusterQueue that it waits in, where that is known."""

    parent: Json
    found: Sequence[Json]
    queue: ClusterQueue | None
    now: datetime
    wording: Wording = EXPLICIT
    name_length_max: int = workload_names.LENGTH_MAX
    plan: Plan = field(default_factory=Plan)

    @property
    def is_parent(self) -> bool:
        """It says so, or has to say so."""
        if workloads.is_parent(self.parent):
            return True
        is_free = not status.has_quota(self.parent) and not status.is_finished(self.parent)
        return self.policy is not None and is_free and not workloads.is_variant(self.parent)

    @property
    def policy(self) -> ConcurrentAdmission | None:
        return None if self.queue is None else self.queue.concurrent

    @property
    def flavors(self) -> tuple[str, ...]:
        """Those that get a variant, the most wanted first; none without a policy."""
        if self.queue is None or self.queue.concurrent is None:
            return ()
        return tuple(flavor for group in self.queue.groups for flavor in group.flavors)

    @cached_property
    def variants(self) -> list[Json]:
        """Those that exist, the most wanted first."""
        return sorted(self.found, key=lambda each: self.place(variant_form.flavor_of(each)))

    def place(self, flavor: str) -> int:
        """How wanted a flavor is: less is more."""
        flavors = self.flavors
        return flavors.index(flavor) if flavor in flavors else len(flavors)

    @cached_property
    def backing(self) -> Json | None:
        """The variant whose admission the parent has."""
        used = {
            flavor
            for each in status.assignments_of(self.parent)
            for flavor in (each.get("flavors") or {}).values()
        }
        held = [each for each in self.variants if _holds(each) and status.is_admitted(each)]
        return next((each for each in held if used <= {variant_form.flavor_of(each)}), None)

    @cached_property
    def admitted(self) -> Json | None:
        """The variant that counts: the most wanted, or where the first is kept, that one."""
        held = [each for each in self.variants if _holds(each) and status.is_admitted(each)]
        keeps = self.policy is None or self.policy.mode == "RetainFirstAdmission"
        if keeps and status.has_quota(self.parent) and self.backing is not None:
            return self.backing
        return next(iter(held), None)

    @property
    def back_off(self) -> Json | None:
        """The parent's requeue state, while that keeps it from coming back."""
        state: Json = (self.parent.get("status") or {}).get("requeueState") or {}
        at = state.get("requeueAt")
        return state if at and self.now < parse_time(at) else None

    @staticmethod
    def runs(variant: Json) -> bool:
        """Whether a job may run on what the variant holds."""
        is_going = status.is_evicted(variant) or not status.is_active(variant)
        return _holds(variant) and status.is_admitted(variant) and not is_going

    # What is planned

    def write(self, obj: Json, made: Json) -> bool:
        """Applies a status; False where nothing changed."""
        if made.get("status") == obj.get("status"):
            return False
        self.plan.add(Apply(status.admission_patch(made), status.MANAGER, "status"))
        return True

    def evict(self, obj: Json, reason: str, message: str, made: Json | None = None) -> bool:
        self.write(obj, status.evict(made or obj, reason, message, self.now))
        text = status.event_message(message)
        self.plan.add(Note(status.eviction_event(reason, ""), text, about=obj))
        return True

    def reclaim(self, variant: Json, pods: Sequence[Json]) -> None:
        body = status.reclaimable_patch(variant, pods)
        self.plan.add(Apply(body, status.RECLAIMABLE_PODS_MANAGER, "status"))

    def look_again_at(self, moment: datetime) -> None:
        self.plan.look_again(max(0.0, (moment - self.now).total_seconds()))


def _holds(variant: Json) -> bool:
    is_finished = status.is_finished(variant)
    return (
        status.has_quota(variant) and bool(variant["status"].get("admission")) and not is_finished
    )
