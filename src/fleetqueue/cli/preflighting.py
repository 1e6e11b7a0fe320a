"""Which workers a workload may go to, and what it would miss there: asked by one user, who may not
be allowed to read everything. What is not known is no problem.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.cli.lost_workers import lost_by
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Forbidden, NotFound, UnknownKind
from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.kube.transport import Call
from fleetqueue.multikueue import checks, kinds, selection
from fleetqueue.multikueue.adapters.owners import Owner, noted_owner, owners_of
from fleetqueue.multikueue.preflight import Facts, Needed, namespace_of, needed_by, problems_of
from fleetqueue.multikueue.reach.search import resource_of
from fleetqueue.multikueue.references import DEVICE_CLAIMS, device_classes_of, references_of

T = TypeVar("T")
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
"""Whether a Secret is there says its metadata; its content stays where it is."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A workload, and the job that it stands for where that can be read."""

    workload: Object
    owner: Owner | None = None
    job: Object | None = None
    references: Sequence[Needed] = ()
    """What its pods name."""


class Sight(StrEnum):
    """What comes of looking for an object."""

    THERE = "there"
    MISSING = "missing"
    FORBIDDEN = "may not be read"
    NOT_SERVED = "kind not served"


@dataclass(frozen=True, slots=True)
class Findings:
    """On one worker, in sentences."""

    problems: Sequence[str] = ()
    """What keeps the workload from running there."""
    unknown: str = ""
    """What could not be looked for."""


# Asking the manager


async def subject_of(manager: Client, workload: Object) -> Subject:
    owners = [owner for owner in (noted_owner(workload), *owners_of(workload)) if owner is not None]
    owner = owners[0] if owners else None
    job = None if owner is None else await _job(manager, owner, key_of(workload).namespace)
    return Subject(workload, owner, job, await _references(manager, workload, job))


async def _job(manager: Client, owner: Owner, namespace: str) -> Object | None:
    try:
        return await manager.get(await resource_of(manager, owner), owner.name, namespace)
    except (Forbidden, NotFound, UnknownKind):
        return None


async def _references(manager: Client, workload: Object, job: Object | None) -> list[Needed]:
    """Also the device classes that its claims ask for, where these can be read."""
    named = references_of(workload, job)
    claims = [
        await _read(manager.get(each.kind, each.key.name, each.key.namespace))
        for each in named
        if each.kind in DEVICE_CLAIMS
    ]
    return [*named, *device_classes_of(each for each in claims if each is not None)]


async def workers_of(manager: Client, workload: Object) -> dict[str, Object]:
    """The MultiKueueClusters of its queue that the workload may go to; none where it is not to be
    sent anywhere.
    """
    found = {}
    for name in await _configured(manager, workload):
        cluster = await _read(manager.get(kinds.CLUSTER, name))
        labels = {} if cluster is None else cluster["metadata"].get("labels") or {}
        if cluster is not None and selection.may_go_to(workload, labels):
            found[name] = cluster
    return found


async def _configured(manager: Client, workload: Object) -> Sequence[str]:
    for name in await _checks(manager, workload):
        check = await _read(manager.get(kinds.ADMISSION_CHECK, name))
        config = checks.config_of(check) if check is not None else ""
        if config:
            found = await _read(manager.get(kinds.CONFIG, config))
            return [] if found is None else list(found["spec"].get("clusters") or ())
    return []


async def _checks(manager: Client, workload: Object) -> Sequence[str]:
    """Before it has quota, those of the queue that it waits for."""
    if told := status.checks_of(workload):
        return [str(each["name"]) for each in told]
    queue, space = workload["spec"].get("queueName") or "", key_of(workload).namespace
    local = await _read(manager.get(kinds.LOCAL_QUEUE, queue, space)) if queue else None
    if local is None:
        return []
    found = await _read(manager.get(kinds.CLUSTER_QUEUE, local["spec"]["clusterQueue"]))
    strategy = ((found or {}).get("spec") or {}).get("admissionChecksStrategy") or {}
    return [str(each["name"]) for each in strategy.get("admissionChecks") or ()]


# Asking a worker


def lost(subject: Subject, cluster: Object) -> list[str]:
    """What is told of a worker that the manager does not reach; nothing where it does."""
    if (told := lost_by(cluster)) is None:
        return []
    texts = problems_of(subject.workload, "", Facts(key_of(cluster).name, is_connected=False))
    return [*texts, str(told.get("message") or "")]


async def findings(worker: Client, name: str, subject: Subject) -> Findings:
    """What the workload would miss there."""
    workload, owner = subject.workload, subject.owner
    space = key_of(workload).namespace
    has_namespace = not await _lacks(worker, namespace_of(workload))
    seen = await _look_for(worker, subject.references, has_namespace)
    missing = [each for each, sight in seen.items() if sight is Sight.MISSING]
    facts = Facts(
        name,
        takes_kind=None if owner is None else await _takes(worker, owner),
        has_namespace=has_namespace,
        local_queues=await _all(worker, kinds.LOCAL_QUEUE, space),
        cluster_queues=await _all(worker, kinds.CLUSTER_QUEUE, ""),
        absent=[*[each for each in _needed(subject) if await _lacks(worker, each)], *missing],
    )
    problems = problems_of(workload, "" if owner is None else owner.title, facts)
    return Findings(problems, unknown_of(name, seen))


def unknown_of(worker: str, seen: Mapping[Needed, Sight]) -> str:
    """A sentence about what may be there or not; "" where all is known."""
    unknown = [
        f'{each.kind.kind} "{each.key}" ({sight})'
        for each, sight in seen.items()
        if sight in (Sight.FORBIDDEN, Sight.NOT_SERVED)
    ]
    if not unknown:
        return ""
    return f'It is not known whether worker "{worker}" has {", ".join(unknown)}.'


def _needed(subject: Subject) -> list[Needed]:
    return [] if subject.job is None else needed_by(subject.job)


async def _look_for(
    worker: Client, references: Sequence[Needed], has_namespace: bool
) -> dict[Needed, Sight]:
    """Nothing can be in a namespace that is missing, which is told already."""
    wanted = [each for each in references if has_namespace or not each.kind.namespaced]
    seen = await asyncio.gather(*(_look(worker, each) for each in wanted))
    return dict(zip(wanted, seen, strict=True))


async def _look(worker: Client, needed: Needed) -> Sight:
    path = worker.path(needed.kind, needed.key.namespace, needed.key.name)
    try:
        await worker.call(Call("GET", path, headers={"accept": METADATA_ONLY}))
    except Forbidden:
        return Sight.FORBIDDEN
    except NotFound as error:
        # Only who knows the kind says which object it does not have.
        return Sight.MISSING if error.details.get("name") else Sight.NOT_SERVED
    return Sight.THERE


async def _takes(worker: Client, owner: Owner) -> bool:
    """With the manager's rights: it must follow all that it sent there."""
    try:
        served = await worker.discovery.resource(owner.api_version, owner.kind)
        await worker.list_page(served, limit=1)
    except (Forbidden, NotFound, UnknownKind):
        return False
    return True


async def _all(worker: Client, kind: Resource, namespace: str) -> Sequence[Object] | None:
    found = await _read(worker.list(kind, namespace))
    return None if found is None else found.items


async def _lacks(worker: Client, needed: Needed) -> bool:
    try:
        await worker.get(needed.kind, needed.key.name, needed.key.namespace)
    except NotFound:
        return True
    except Forbidden:
        return False
    return False


async def _read(reading: Awaitable[T]) -> T | None:
    """Nothing where there is nothing, or nobody may read it."""
    try:
        return await reading
    except (Forbidden, NotFound):
        return None
