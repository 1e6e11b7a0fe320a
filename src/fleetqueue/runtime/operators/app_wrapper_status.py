"""An AppWrapper's status in the making: its phase, its conditions, and those of its components."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from fleetqueue.api.times import format_time, parse_time
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Note
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions
from fleetqueue.runtime.operators.app_wrapper_pod_sets import pod_sets_of, replicas_of
from fleetqueue.runtime.operators.app_wrapper_settings import Patience
from fleetqueue.runtime.pod_facts import phase

DEPLOYED = "ResourcesDeployed"


class Draft:
    """Starts as the status that is."""

    def __init__(self, wrapper: Object, now: datetime) -> None:
        self._wrapper = wrapper
        self._now = format_time(now)
        self.status: Object = dict(wrapper.get("status") or {})
        self.notes: list[Note] = []

    @property
    def phase(self) -> str:
        return str(self.status.get("phase") or "")

    @property
    def components(self) -> list[Object]:
        return list(self.status.get("componentStatus") or ())

    @property
    def retries(self) -> int:
        return int(self.status.get("resettingCount") or 0)

    @property
    def expected(self) -> int:
        """How many pods the components make."""
        listed = (pod_set for each in self.components for pod_set in each.get("podSets") or ())
        return sum(map(replicas_of, listed))

    def know_components(self) -> None:
        """Their pod sets are kept, so that later looks need not find them again."""
        components = self._wrapper["spec"]["components"]
        if len(self.components) != len(components):
            self.status["componentStatus"] = [
                {"name": "", "kind": "", "apiVersion": "", "podSets": pod_sets_of(each)}
                for each in components
            ]

    def move(self, phase: str) -> None:
        self.status["phase"] = phase

    def set(self, type: str, is_true: bool, reason: str, message: str = "") -> None:
        made = self._condition(type, "True" if is_true else "False", reason, message)
        self.status["conditions"] = conditions.settled(self.status.get("conditions"), made)

    def clear(self, type: str, reason: str, message: str = "") -> None:
        """Not so any more, where it was so."""
        if self.is_true(type):
            self.set(type, False, reason, message)

    def is_true(self, type: str) -> bool:
        return conditions.is_true(self.status.get("conditions"), type)

    def since(self, type: str) -> datetime:
        """When a condition became what it is."""
        found = conditions.find(self.status.get("conditions"), type)
        return parse_time(found["lastTransitionTime"] if found else self._now)

    def blame(self, reason: str, message: str, told: str) -> None:
        self.set("Unhealthy", True, reason, message)
        self.notes.append(Note("Unhealthy", told))

    def reset_or_fail(self, patience: Patience, *, may_be_retried: bool = True) -> None:
        """Another try, if any is left."""
        if not may_be_retried or self.retries >= patience.retries_max:
            self.move("Failed")
        else:
            self.status["resettingCount"] = self.retries + 1
            self.move("Resetting")

    def component_is(self, index: int) -> str:
        """Whether a component is deployed: True, False or Unknown; "" where nothing is known."""
        found = conditions.find(self.components[index].get("conditions"), DEPLOYED)
        return "" if found is None else str(found["status"])

    def mark(self, index: int, obj: Object, status: str, reason: str) -> None:
        """What became of a component, which is known by its name from now on."""
        told = self.components
        made = self._condition(DEPLOYED, status, reason, "")
        told[index] = {
            **told[index],
            "name": (obj.get("metadata") or {}).get("name") or told[index]["name"],
            "kind": obj["kind"],
            "apiVersion": obj["apiVersion"],
            "conditions": conditions.settled(told[index].get("conditions"), made),
        }
        self.status["componentStatus"] = told

    def _condition(self, type: str, status: str, reason: str, message: str) -> Object:
        return {
            "type": type,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": self._now,
        }


@dataclass(slots=True)
class Pods:
    """The pods of a wrapper by their phase."""

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    is_terminal: bool = False
    """Whether one ended in a way that fails the wrapper at once."""
    may_be_retried: bool = True
    """Whether all that failed did so in a way that another try may help."""

    def __str__(self) -> str:
        running = f"{self.pending} pods pending; {self.running} pods running"
        return f"{running}; {self.succeeded} pods succeeded"


def count(pods: Iterable[Object], patience: Patience) -> Pods:
    made = Pods()
    for pod in pods:
        match phase(pod):
            case "Pending":
                made.pending += 1
            case "Running" if not is_deleting(pod):
                made.running += 1
            case "Succeeded":
                made.succeeded += 1
            case "Failed":
                made.failed += 1
                codes, retryable = _exit_codes(pod), patience.retryable_codes
                made.is_terminal |= bool(codes & patience.terminal_codes)
                made.may_be_retried &= not (retryable and codes - retryable)
    return made


def _exit_codes(pod: Object) -> set[int]:
    ends = (each.get("state") or {} for each in pod["status"].get("containerStatuses") or ())
    return {int((end.get("terminated") or {}).get("exitCode") or 0) for end in ends} - {0}
