"""Who manages a job that another object controls: the topmost owner that the queue knows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fleetqueue.errors import FleetqueueError
from fleetqueue.jobs.identity import queue_of
from fleetqueue.jobs.kind import JobKind, NotYet
from fleetqueue.jobs.resources import REPLICA_SET
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.resources import Object, Resource, split_api_version

DEPTH_MAX = 10
TOO_DEEP = (
    f"Terminated search for Kueue-managed Job because ancestor depth exceeded limit of {DEPTH_MAX}"
)


class TooDeep(FleetqueueError):
    """The owners go on for too long."""

    who_acts = "user"


@dataclass(frozen=True, slots=True)
class Family:
    """The kinds that owners are looked for among."""

    managed: frozenset[tuple[str, str]]
    """Group and kind of those that the queue manages, here or outside."""
    resources: dict[tuple[str, str], Resource]

    @staticmethod
    def of(kinds: Iterable[JobKind], settings: JobSettings) -> "Family":
        found = [kind.resource for kind in kinds] + list(settings.external)
        by_name = {(each.group, each.kind): each for each in found}
        followed = {**by_name, (REPLICA_SET.group, REPLICA_SET.kind): REPLICA_SET}
        return Family(frozenset(by_name), followed)

    def owner_of(self, obj: Object) -> Object | None:
        """A reference to the object above, as a stub with its uid; None where none is followed."""
        for reference in obj["metadata"].get("ownerReferences") or ():
            if reference.get("controller"):
                is_known = _names(reference) in self.resources
                return _stub(reference) if is_known else None
        return None

    def manages(self, obj: Object) -> bool:
        return _names(obj) in self.managed

    def has_managed_owner(self, obj: Object) -> bool:
        """Whether what controls the object is of a kind that is managed."""
        owner = self.owner_of(obj)
        return owner is not None and self.manages(owner)


Find = Callable[[Object], Object | None]
"""The object that a stub names."""


def ancestor_of(job: Object, family: Family, settings: JobSettings, find: Find) -> Object | None:
    """The owner that manages the job; None where the job stands for itself."""
    found: Object | None = None
    seen = {job["metadata"].get("uid")}
    below = job
    for _ in range(DEPTH_MAX):
        stub = family.owner_of(below)
        if stub is None:
            return found
        owner = find(stub)
        if owner is None:
            raise NotYet(f'{stub["kind"]} "{stub["metadata"]["name"]}" not found')
        if owner["metadata"]["uid"] != stub["metadata"]["uid"]:
            return found
        if owner["metadata"]["uid"] in seen:
            raise TooDeep("cyclic ownership")
        seen.add(owner["metadata"]["uid"])
        if family.manages(owner) and (settings.manages_without_queue_name or queue_of(owner)):
            found = owner
        below = owner
    if family.owner_of(below) is None:
        return found
    raise TooDeep(TOO_DEEP)


def _names(reference: Object) -> tuple[str, str]:
    return split_api_version(reference["apiVersion"])[0], str(reference["kind"])


def _stub(reference: Object) -> Object:
    return {
        "apiVersion": reference["apiVersion"],
        "kind": reference["kind"],
        "metadata": {"name": reference["name"], "uid": reference.get("uid")},
    }
