"""The way from a job on a manager to its pods on a worker, with nothing but the rights of whoever
asks: Workload, worker, its MultiKueueCluster, the Secret with its kubeconfig, and the pods there.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fleetqueue.api.fleet.labels import PLACED
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels
from fleetqueue.api.selectors import labels_from_object
from fleetqueue.errors import Problem, UsageError, UserError
from fleetqueue.jobs import identity, registry
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Forbidden, NotFound, UnknownKind
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.resources import (
    NAMESPACES,
    PODS,
    SECRETS,
    Object,
    Resource,
    key_of,
    split_api_version,
    uid_of,
)
from fleetqueue.multikueue import credentials, kinds
from fleetqueue.multikueue.adapters.owners import Owner, noted_owner, owners_of
from fleetqueue.multikueue.credentials import Loaded, Trouble
from fleetqueue.multikueue.reach.ancestry import Mirror, on, pods_of_mirror
from fleetqueue.multikueue.reach.pods_of import Reference

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
SHORT = {
    "aw": "appwrapper",
    "deploy": "deployment",
    "kueueworkload": "workload",
    "kueueworkloads": "workload",
    "kwl": "workload",
    "lws": "leaderworkerset",
    "po": "pod",
    "sts": "statefulset",
    "wl": "workload",
}
"""What kubectl calls some of the kinds."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A job that was sent away: what its mirrors are called, and where they are."""

    worker: str
    mirrors: tuple[Owner, ...]


# Which job is meant


def kind_and_name(job: str) -> tuple[str, str]:
    """Of NAME or KIND/NAME; the kind may be ""."""
    kind, slash, name = job.partition("/")
    if not name and not slash:
        kind, name = "", kind
    if not name or "/" in name or (slash and not kind):
        fix = "say NAME, KIND/NAME as in job/train, or workload/NAME"
        raise UsageError(Problem(f'"{job}"', "names no job", fix=fix))
    return kind, name


def is_kind(word: str, owner: Owner) -> bool:
    """Whether somebody means an owner's kind: `job`, `jobs`, `Job`, `job.batch`, or `sts`, as short
    as kubectl has it; "" is any.
    """
    name, _, group = word.lower().partition(".")
    name = SHORT.get(name, name)
    known, kind = owner.group_kind
    is_meant = name in ("", kind.lower(), f"{kind.lower()}s")
    return is_meant and (not group or group == known)


def is_workload(word: str) -> bool:
    return bool(word) and is_kind(word, Owner(kinds.WORKLOAD.api_version, "Workload", ""))


def meant_by(workloads: Iterable[Object], kind: str, name: str) -> list[tuple[Object, list[Owner]]]:
    """The Workloads that stand for a job, and what they call it. Raises where several kinds are
    meant. Those that have the name themselves are meant where that is said, or where nothing else
    has it: a group of pods is known by that of its Workload alone.
    """
    workloads = list(workloads)
    named = [(each, list(_owners(each))) for each in workloads if key_of(each).name == name]
    if is_workload(kind):
        return named
    found = []
    for workload in workloads:
        meant = [
            owner for owner in _owners(workload) if owner.name == name and is_kind(kind, owner)
        ]
        if meant:
            found.append((workload, meant))
    titles = sorted({owner.kind for _, owners in found for owner in owners})
    if len(titles) > 1:
        words = " or ".join(f"{each.lower()}/{name}" for each in titles)
        raise UserError(f'several jobs are called "{name}": say {words}')
    return found or ([] if kind else named)


def dispatches_of(workloads: Iterable[Object], kind: str, name: str) -> list[Dispatch]:
    """Of all Workloads that stand for that job, by worker. Raises where several kinds are meant."""
    found: dict[str, dict[Owner, None]] = {}
    for workload, meant in meant_by(workloads, kind, name):
        worker = str((workload.get("status") or {}).get("clusterName") or "")
        found.setdefault(worker, {}).update(dict.fromkeys(_plain(each) for each in meant))
    return [Dispatch(worker, tuple(owners)) for worker, owners in found.items()]


def _owners(workload: Object) -> Sequence[Owner]:
    """A job of several Workloads, or of pods that its operator made, is named beside them."""
    noted = noted_owner(workload)
    return owners_of(workload) if noted is None else [noted, *owners_of(workload)]


def job_names(workload: Object) -> list[Owner]:
    """What the jobs are called that a Workload stands for, on whichever cluster."""
    return list(dict.fromkeys(_plain(each) for each in _owners(workload)))


def _plain(owner: Owner) -> Owner:
    return Owner(owner.api_version, owner.kind, owner.name)


# Asking the manager


class Search:
    """By one user, in one namespace of a manager."""

    def __init__(self, manager: Client, namespace: str, system_namespace: str) -> None:
        self._manager = manager
        self._namespace = namespace
        self._system_namespace = system_namespace

    async def dispatch(self, kind: str, name: str) -> list[Dispatch]:
        """Where the job is. Raises where it was sent nowhere."""
        listed = await self._manager.list(kinds.WORKLOAD, self._namespace)
        if _is_deployment(kind, name):
            return await self._of_deployment(name, listed.items)
        found = dispatches_of(listed.items, kind, name)
        if not found:
            raise await self._unknown(kind, name)
        there = [each for each in found if each.worker]
        if not there:
            meant = [each for each, _ in meant_by(listed.items, kind, name)]
            raise _nowhere(_shown(kind, name), meant)
        return there

    async def workloads(self, kind: str, name: str) -> list[Object]:
        """All that stand for the job, at least one; or the one of that name itself."""
        listed = (await self._manager.list(kinds.WORKLOAD, self._namespace)).items
        if _is_deployment(kind, name):
            pods = await self._pods_of_deployment(name)
            found = [made for pod in pods for made, _ in meant_by(listed, "pod", pod)]
        else:
            found = [made for made, _ in meant_by(listed, kind, name)]
        if not found:
            raise await self._unknown(kind, name)
        return found

    async def _unknown(self, kind: str, name: str) -> UserError:
        """Why nothing stands for it, as far as that can be known."""
        shown, where = _shown(kind, name), f'namespace "{self._namespace}"'
        plain = UserError(f"no Workload in {where} belongs to {shown}: is it queued?")
        known = [*(each.resource for each in registry.all_kinds()), DEPLOYMENTS]
        meant = [each for each in known if kind and is_kind(kind, _owner(each, name))]
        if kind and not meant and not is_workload(kind):
            return _unknown_kind(kind, known)
        if await self._lacks_namespace():
            fix = "name another one with -n"
            return UserError(Problem(where, "does not exist", fix=fix))
        if is_workload(kind):
            return UserError(f"there is no {shown} in {where}")
        if not meant:
            return plain
        try:
            job = await self._manager.get(meant[0], name, self._namespace)
        except (NotFound, UnknownKind):
            return UserError(f"there is no {shown} in {where}")
        except Forbidden:
            return plain
        if PLACED in identity.annotations_of(job):
            return _placed(shown, self._namespace)
        if not identity.labels_of(job).get(labels.QUEUE_NAME):
            return UserError(f"{shown} is in no queue: it has no label {labels.QUEUE_NAME}")
        return UserError(f"nothing stands for {shown} yet: it has no Workload in {where}")

    async def _lacks_namespace(self) -> bool:
        try:
            await self._manager.get(NAMESPACES, self._namespace)
        except NotFound:
            return True
        except Forbidden:
            return False
        return False

    async def _of_deployment(self, name: str, workloads: Sequence[Object]) -> list[Dispatch]:
        """Each of its pods is a job of its own."""
        found = [
            each
            for pod in await self._pods_of_deployment(name)
            for each in dispatches_of(workloads, "pod", pod)
            if each.worker
        ]
        if not found:
            raise UserError(f"deployment/{name} waits: no worker has admitted a pod of it yet")
        return found

    async def _pods_of_deployment(self, name: str) -> list[str]:
        try:
            deployment = await self._manager.get(DEPLOYMENTS, name, self._namespace)
        except NotFound as error:
            raise await self._unknown("deployment", name) from error
        selector = str(labels_from_object(deployment["spec"]["selector"]))
        listed = await self._manager.list(PODS, self._namespace, label_selector=selector)
        return [key_of(pod).name for pod in listed.items]

    async def access(self, worker: str) -> Access:
        cluster = await self._manager.get(kinds.CLUSTER, worker)
        loaded = await self._loaded(cluster)
        if isinstance(loaded, Trouble):
            raise UserError(f'the worker "{worker}" cannot be reached: {loaded.message}')
        return loaded.access

    async def _loaded(self, cluster: Object) -> Loaded:
        if name := credentials.secret_name(cluster):
            try:
                secret = await self._manager.get(SECRETS, name, self._system_namespace)
            except NotFound:
                return credentials.from_secret(name, None)
            return credentials.from_secret(name, secret)
        path = credentials.path_of(cluster)
        if path is not None and (content := _content(path)) is not None:
            return credentials.from_content(content)
        where = f"the file {path}" if path is not None else "a ClusterProfile"
        return Trouble("", f"its kubeconfig is in {where}, which only the manager can read")


def _nowhere(shown: str, workloads: Sequence[Object]) -> UserError:
    if any(status.is_admitted(each) or status.is_finished(each) for each in workloads):
        text = f"{shown} was sent to no worker: its pods are, or were, on this cluster itself"
        return UserError(f"{text}, where kubectl reaches them")
    return UserError(f"{shown} waits: no worker has admitted it yet")


def _placed(shown: str, namespace: str) -> UserError:
    what = "is placed: members of the fleet run it, and this cluster does not"
    fix = (
        f"ask there; `kubectl get resourceplacements -n {namespace}` and"
        " `kubectl get clusterresourceplacements` name what takes it to which"
    )
    return UserError(Problem(shown, what, fix=fix))


def _unknown_kind(kind: str, known: Iterable[Resource]) -> UserError:
    """The kinds of external frameworks are known by the Workloads of their jobs alone."""
    words = sorted({each.kind.lower() for each in (*known, kinds.WORKLOAD)})
    what = "is no kind of job that is known, and no Workload here belongs to one"
    return UserError(Problem(f'"{kind}"', what, fix=f"say one of: {', '.join(words)}"))


def _owner(kind: Resource, name: str) -> Owner:
    return Owner(kind.api_version, kind.kind, name)


def _is_deployment(kind: str, name: str) -> bool:
    return bool(kind) and is_kind(kind, Owner("apps/v1", "Deployment", name))


def _shown(kind: str, name: str) -> str:
    return f"{kind}/{name}" if kind else name


def _content(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None


# Asking the worker


async def pods_there(worker: Client, namespace: str, dispatch: Dispatch) -> list[Object]:
    """The pods of a job's mirrors, by name."""
    return await _pods_of(worker, namespace, dispatch.mirrors, _is_mirror)


async def pods_here(client: Client, namespace: str, workload: Object) -> list[Object]:
    """The pods of a job that runs on the cluster of its Workload, by name."""
    uids = {owner.uid for owner in _owners(workload)}

    def is_owner(job: Object) -> bool:
        return "" in uids or uid_of(job) in uids

    return await _pods_of(client, namespace, job_names(workload), is_owner)


async def _pods_of(
    client: Client, namespace: str, owners: Iterable[Owner], is_it: Callable[[Object], bool]
) -> list[Object]:
    """`is_it`: whether what has an owner's name is the owner."""
    found: dict[str, Object] = {}
    for owner in owners:
        try:
            kind = await resource_of(client, owner)
            job = await client.get(kind, owner.name, namespace)
        except (NotFound, UnknownKind):
            continue
        if is_it(job):
            pods = await pods_of_mirror(client, on(client, _only(kind, job)), kind, job)
            found |= {uid_of(pod): pod for pod in pods}
    return sorted(found.values(), key=lambda pod: key_of(pod).name)


def _is_mirror(job: Object) -> bool:
    return labels.MULTIKUEUE_ORIGIN in identity.labels_of(job)


def _only(kind: Resource, mirror: Object) -> Callable[[Reference, str], Mirror | None]:
    """An answer to who is a mirror of ours: this one alone."""

    def is_mirror(owner: Reference, namespace: str) -> Mirror | None:
        same = (owner.group, owner.kind) == (kind.group, kind.kind)
        is_it = owner.uid == uid_of(mirror) or (not owner.uid and owner.name == key_of(mirror).name)
        return (kind, mirror) if same and is_it else None

    return is_mirror


async def resource_of(client: Client, owner: Owner) -> Resource:
    """Kinds that we know are what we know of them; others are what the cluster says."""
    group = split_api_version(owner.api_version)[0]
    for kind in registry.all_kinds():
        if (kind.resource.group, kind.resource.kind) == (group, owner.kind):
            return kind.resource
    return await client.discovery.resource(owner.api_version, owner.kind)
