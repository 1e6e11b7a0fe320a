"""One look at a workload: what is known of it, and the plan that comes of it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fleetqueue.admission.facts import Facts
from fleetqueue.admission.life_settings import LifeSettings
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.patches import create_merge_patch
from fleetqueue.api.times import parse_time
from fleetqueue.kube.plan import Apply, Note, Patch, Plan
from fleetqueue.kube.resources import version_of

Json = dict[str, Any]


@dataclass(slots=True)
class Turn:
    """One look at a workload, and the plan that comes of it."""

    workload: Json
    facts: Facts
    settings: LifeSettings
    now: datetime
    plan: Plan = field(default_factory=Plan)

    def write(self, made: Json) -> bool:
        """Applies the status as it is now; False where nothing changed."""
        if made.get("status") == self.workload.get("status"):
            return False
        self.plan.add(Apply(status.admission_patch(made), status.MANAGER, "status"))
        return True

    def update(self, made: Json) -> bool:
        """Writes the difference alone, and removes what is missing whoever wrote it: an apply
        would leave there what is somebody else's.
        """
        change = create_merge_patch(self.workload.get("status") or {}, made["status"])
        if not change:
            return False
        version = {"resourceVersion": version_of(self.workload)}
        patch = {"metadata": version, "status": change}
        self.plan.add(Patch(self.workload, patch, "status"))
        return True

    def note(self, reason: str, message: str, kind: str = "Normal") -> None:
        text = status.event_message(message)
        self.plan.add(Note(reason, text, "Warning" if kind == "Warning" else "Normal"))

    def evict(
        self, reason: str, message: str, *, cause: str = "", made: Json | None = None
    ) -> bool:
        done = status.evict(made or self.workload, reason, message, self.now, cause=cause)
        self.write(done)
        if status.has_quota(self.workload):
            self.note(status.eviction_event(reason, cause), message)
        return True

    def condition(self, type: str) -> Json | None:
        return status.find_condition(self.workload, type)

    def reason(self, type: str, value: str) -> str:
        """Why the condition has that status; "" where it has another."""
        found = self.condition(type)
        return str(found["reason"]) if found is not None and found["status"] == value else ""

    def requeue_at(self) -> datetime | None:
        state = (self.workload.get("status") or {}).get("requeueState") or {}
        return parse_time(state["requeueAt"]) if state.get("requeueAt") else None

    def look_again_at(self, moment: datetime) -> None:
        self.plan.look_again(max(0.0, (moment - self.now).total_seconds()))
