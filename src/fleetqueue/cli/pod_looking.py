"""Looks at the pods of a workload's job, and at the events about them, on the cluster where they
are or were.
"""

import re
from collections.abc import Sequence

from fleetqueue.api.times import parse_time
from fleetqueue.cli.pod_reading import happened_at, involved
from fleetqueue.cli.pod_words import Seen
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Forbidden
from fleetqueue.kube.resources import EVENTS, PODS, Object, key_of
from fleetqueue.multikueue.adapters.owners import Owner
from fleetqueue.multikueue.reach import pods_of
from fleetqueue.multikueue.reach.remembered import pods_remembered
from fleetqueue.multikueue.reach.search import Dispatch, job_names, pods_here, pods_there

CREATED = re.compile(r"created? (?:\w+ )*pod:? (\S+)", re.IGNORECASE)
"""As `Created pod: NAME` of a Job, and `create Pod NAME in StatefulSet …`."""
BETWEEN = {each.kind for each in pods_of.INTERMEDIATE} - {PODS.kind}


async def on_worker(worker: Client, name: str, workload: Object, copy: Object) -> Seen:
    """`copy`: of the workload there; older events are about others of the same names."""
    space = key_of(workload).namespace
    pods = await pods_there(worker, space, Dispatch(name, tuple(job_names(workload))))
    return await _with_events(worker, workload, pods, copy)


async def on_this_cluster(client: Client, workload: Object) -> Seen:
    pods = await pods_here(client, key_of(workload).namespace, workload)
    return await _with_events(client, workload, pods, workload)


async def left_of(manager: Client, worker: Client, name: str, workload: Object) -> Seen:
    """Of a job that is over: its pods may be gone from the worker, and remembered here."""
    seen = await on_worker(worker, name, workload, workload)
    if seen.pods:
        return seen
    dispatch = Dispatch(name, tuple(job_names(workload)))
    pods = await pods_remembered(manager, key_of(workload).namespace, dispatch)
    return Seen(pods, seen.pod_warnings, seen.job_warnings, seen.reads_events)


async def _with_events(
    client: Client, workload: Object, pods: Sequence[Object], copy: Object
) -> Seen:
    owners, space = job_names(workload), key_of(workload).namespace
    if not owners:
        return Seen(pods)
    try:
        listed = await client.list(EVENTS, space, field_selector="type=Warning")
        names = {key_of(pod).name for pod in pods} or await _made_for(client, owners, space)
    except Forbidden:
        return Seen(pods, reads_events=False)
    since = parse_time(copy["metadata"]["creationTimestamp"])
    recent = [each for each in listed.items if happened_at(each) >= since]
    newest = sorted(recent, key=happened_at, reverse=True)
    return Seen(
        pods,
        [each for each in newest if _is_of_pod(each, names, owners)],
        [each for each in newest if _is_of_job(each, owners)],
    )


async def _made_for(client: Client, owners: Sequence[Owner], namespace: str) -> set[str]:
    """The names of pods that are gone, as those tell who made them for the job."""
    found = set[str]()
    for owner in owners:
        about = f"involvedObject.kind={owner.kind},involvedObject.name={owner.name}"
        for event in (await client.list(EVENTS, namespace, field_selector=about)).items:
            found.update(CREATED.findall(str(event.get("message") or "")))
    return found


def _is_of_pod(event: Object, names: set[str], owners: Sequence[Owner]) -> bool:
    """Where no names are known, those that begin with the job's are taken for its own."""
    kind, name = involved(event)
    if kind != PODS.kind:
        return False
    if names:
        return name in names
    return any(name == each.name or name.startswith(f"{each.name}-") for each in owners)


def _is_of_job(event: Object, owners: Sequence[Owner]) -> bool:
    """Or of what lies between it and its pods, which has its name and more."""
    kind, name = involved(event)
    kinds = {each.kind for each in owners}
    if any((kind, name) == (each.kind, each.name) for each in owners):
        return kind != PODS.kind
    return kind in BETWEEN - kinds and any(name.startswith(f"{each.name}-") for each in owners)
