"""Kinds that the configuration names, of which nothing is known but `spec.managedBy`."""

from functools import partial

from fleetqueue.base import paths
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.multikueue.adapter import Adapter, Copied, Copying, prebuilt_key
from fleetqueue.multikueue.adapters.managed import copy_status
from fleetqueue.multikueue.adapters.mirrors import bare
from fleetqueue.multikueue.adapters.owners import jobs_of
from fleetqueue.multikueue.settings import DispatchSettings

MANAGED_BY = "spec.managedBy"
NAMED = ("apiVersion", "kind", "metadata")
DISABLED = "MultiKueueAdaptersForCustomJobs feature gate is disabled"


def adapter(resource: Resource, settings: DispatchSettings) -> Adapter:
    return Adapter(
        resource=resource,
        framework=f"{resource.kind}.{resource.version}.{resource.group}",
        managed_by=MANAGED_BY,
        managed_by_title=f".{MANAGED_BY}",
        jobs=partial(jobs_of, resource),
        mirror=partial(mirror, resource),
        copy=copy_if_said,
        wakes=prebuilt_key,
        propagation="Background",
        disabled="" if settings.gates.external_frameworks else DISABLED,
    )


def mirror(resource: Resource, job: Object, workload: Object, settings: DispatchSettings) -> Object:
    name = str(workload["metadata"]["name"])
    made = bare(job, resource, settings, prebuilt=name)
    kept = {field: made[field] for field in (*NAMED, "spec") if field in made}
    return dict(paths.without(kept, MANAGED_BY))


def copy_if_said(copying: Copying) -> Copied:
    return Copied() if copying.mirror.get("status") is None else copy_status(copying)
