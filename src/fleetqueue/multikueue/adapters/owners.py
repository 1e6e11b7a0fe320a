"""Whose Workload it is: the jobs of which workers get mirrors, as the Workload names them."""

from collections.abc import Iterable
from dataclasses import dataclass

from fleetqueue.api.kueue import labels
from fleetqueue.jobs import identity
from fleetqueue.kube.resources import Object, Resource, key_of, split_api_version, uid_of
from fleetqueue.kube.sources import Source
from fleetqueue.multikueue.settings import DispatchSettings


@dataclass(frozen=True, slots=True)
class Owner:
    """A job as its Workload names it."""

    api_version: str
    kind: str
    name: str
    uid: str = ""

    @property
    def group_kind(self) -> tuple[str, str]:
        return split_api_version(self.api_version)[0], self.kind

    @property
    def title(self) -> str:
        """As Go prints a kind: `batch/v1, Kind=Job`, `/v1, Kind=Pod`."""
        group, version = split_api_version(self.api_version)
        return f"{group}/{version}, Kind={self.kind}"


def noted_owner(workload: Object) -> Owner | None:
    """The job that several Workloads, or several owners, stand for; named by annotations."""
    notes = identity.annotations_of(workload)
    kind, name = notes.get(labels.JOB_OWNER_GVK) or "", notes.get(labels.JOB_OWNER_NAME) or ""
    api_version, found, kind = kind.partition(", Kind=")
    if not found or not name:
        return None
    return Owner(api_version.removeprefix("/"), kind, name)


def owners_of(workload: Object) -> list[Owner]:
    """By reference; the one that controls it, if any does, is the only one."""
    references = workload["metadata"].get("ownerReferences") or []
    controlling = [each for each in references if each.get("controller")]
    return [
        Owner(each["apiVersion"], each["kind"], each["name"], str(each.get("uid") or ""))
        for each in controlling or references
    ]


def jobs_of(
    resource: Resource, workload: Object, source: Source, settings: DispatchSettings
) -> list[Object]:
    """Those that exist; one that only has the name of an owner is another job."""
    namespace = key_of(workload).namespace
    found = [
        (owner, source.get(resource, namespace, owner.name))
        for owner in _of_kind(workload, resource)
    ]
    return [job for owner, job in found if job is not None and owner.uid in ("", uid_of(job))]


def _of_kind(workload: Object, resource: Resource) -> Iterable[Owner]:
    wanted = (resource.group, resource.kind)
    owned = [owner for owner in owners_of(workload) if owner.group_kind == wanted]
    noted = noted_owner(workload)
    if noted is None or noted.group_kind != wanted:
        return owned
    return [owner for owner in owned if owner.name == noted.name] or [noted]
