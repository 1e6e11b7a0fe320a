"""Keeps each MultiKueueCluster connected and tells in its condition how that goes."""

import logging
from collections.abc import Hashable, Iterable
from datetime import timedelta
from typing import Any, ClassVar, Protocol

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.base.backoff import Attempts, Backoff
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch
from fleetqueue.kube.events import WARNING
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kube.workqueue import WorkQueue
from fleetqueue.multikueue import credentials, kinds, kubeconfig_files
from fleetqueue.multikueue.connection import Connection
from fleetqueue.multikueue.credentials import Loaded, Trouble
from fleetqueue.multikueue.failures import with_attempts
from fleetqueue.multikueue.kubeconfig_files import FollowedFiles
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.multikueue.worker_calls import FIELD_MANAGER

ACTIVE = "Active"
COMPONENT = "multikueue-cluster"
DEPRECATED_PATH = "DeprecatedPathUsage"
DEPRECATED_PATH_TEXT = (
    "Using locationType=Path without MultiKueueKubeConfigPathValidation feature gate is "
    "deprecated and will be removed in a future release. Enable the "
    "MultiKueueKubeConfigPathValidation feature gate and place kubeconfig files under "
    "/etc/multikueue/kubeconfigs/."
)
LOADING = Backoff(0.005, 1000.0)
_SECRETS, _PROFILES = "secret", "profile"
log = logging.getLogger(__name__)


class Keeper(Protocol):
    """Holds the connections."""

    def obtain(self, name: str) -> Connection: ...

    def forget(self, name: str) -> None: ...


class ClusterController(Controller[Any]):
    """Woken by the cluster's spec, by what says how to get there, and by the connection."""

    kind = kinds.CLUSTER
    indexes: ClassVar = {
        _SECRETS: lambda cluster: _named(credentials.secret_name(cluster)),
        _PROFILES: lambda cluster: _named(credentials.profile_name(cluster)),
    }

    def __init__(
        self, cluster: Cluster, settings: DispatchSettings, keeper: Keeper, *, has_profiles: bool
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._keeper = keeper
        self._has_profiles = has_profiles
        self._queue: WorkQueue[Key] | None = None
        self._attempts: dict[str, Attempts] = {}
        """Of loading, by cluster."""
        self.files = FollowedFiles(self._files_changed)
        space = settings.namespace
        self.watches = (Watch(kinds.SECRET, self._users_of_secret, namespace=space),)
        if has_profiles:
            profiles = Watch(kinds.CLUSTER_PROFILE, self._users_of_profile, namespace=space)
            self.watches = (*self.watches, profiles)
        elif settings.gates.cluster_profiles:
            log.info(
                "Skipping MultiKueue ClusterProfile setup "
                "as the ClusterProfile CRD is not installed"
            )

    @property
    def name(self) -> str:
        return COMPONENT

    def woken_by(self, queue: WorkQueue[Key]) -> None:
        self._queue = queue

    def wake(self, name: str) -> None:
        if self._queue is not None:
            self._queue.add(Key("", name))

    def wanted(self, old: Object | None, new: Object | None, /) -> bool:
        """What we write into its status is no news to us."""
        if old is None or new is None:
            return True
        return _generation(old) != _generation(new) or is_deleting(old) != is_deleting(new)

    async def reconcile(self, cluster: Object, /) -> Result:
        name = str(cluster["metadata"]["name"])
        if is_deleting(cluster):
            return await self.gone(Key("", name))
        loaded = self._load(name, cluster)
        connection = self._keeper.obtain(name)
        if isinstance(loaded, Trouble):
            connection.drop()
        else:
            self._attempts.pop(name, None)
            connection.use(loaded)
        await self._write(cluster, describe(loaded, connection))
        return self._again(name, loaded)

    async def gone(self, key: Key, /) -> Result:
        self.files.forget(key.name)
        self._attempts.pop(key.name, None)
        self._keeper.forget(key.name)
        return DONE

    def _load(self, name: str, cluster: Object) -> Loaded:
        path = credentials.path_of(cluster)
        if path is not None:
            return self._load_file(name, cluster, path)
        self.files.forget(name)
        space, settings = self._settings.namespace, self._settings
        if secret := credentials.secret_name(cluster):
            found = self._cluster.cached(kinds.SECRET, secret, space)
            return credentials.from_secret(secret, found)
        if profile := credentials.profile_name(cluster):
            known = self._has_profiles
            held = self._cluster.cached(kinds.CLUSTER_PROFILE, profile, space) if known else None
            is_enabled = settings.gates.cluster_profiles
            return credentials.from_profile(
                profile, held, settings.providers, is_enabled=is_enabled
            )
        return credentials.without_source()

    def _load_file(self, name: str, cluster: Object, path: str) -> Loaded:
        if not self._settings.gates.path_validation:
            self._cluster.events.record(
                cluster, WARNING, DEPRECATED_PATH, DEPRECATED_PATH_TEXT,
                component=COMPONENT, action=DEPRECATED_PATH,
            )  # fmt: skip
        self.files.follow(name, path)
        return kubeconfig_files.load(path, self._settings)

    def _again(self, name: str, loaded: Loaded) -> Result:
        """What another object has to end is not tried again by the clock."""
        if not isinstance(loaded, Trouble) or loaded.waits:
            return DONE
        attempts = self._attempts.setdefault(name, Attempts(LOADING, self._cluster.random))
        return Result(timedelta(seconds=attempts.next_delay()))

    async def _write(self, cluster: Object, told: tuple[bool, str, str] | None) -> None:
        if told is None:
            return
        newest = self._cluster.cached(kinds.CLUSTER, key_of(cluster).name) or cluster
        before = newest.get("status") or {}
        if _says(before, told):
            return
        now, generation = self._cluster.clock.now(), _generation(cluster)
        made = status.set_condition(before, ACTIVE, *told, generation, now)
        await self._cluster.patch(
            kinds.CLUSTER,
            key_of(cluster).name,
            {"status": {"conditions": made["conditions"]}},
            subresource="status",
            field_manager=FIELD_MANAGER,
        )

    def _users_of_secret(self, secret: Object) -> Iterable[Key]:
        return self._indexed(_SECRETS, key_of(secret).name)

    def _users_of_profile(self, profile: Object) -> Iterable[Key]:
        return self._indexed(_PROFILES, key_of(profile).name)

    def _indexed(self, index: str, name: str) -> Iterable[Key]:
        return [key_of(each) for each in self._cluster.cached_by(kinds.CLUSTER, index, name)]

    def _files_changed(self, clusters: Iterable[str]) -> None:
        for name in clusters:
            self.wake(name)


def describe(loaded: Loaded, connection: Connection) -> tuple[bool, str, str] | None:
    """Status, reason and message of the condition; None while that is still open."""
    if isinstance(loaded, Trouble):
        reason, message = loaded.reason, f"load client config failed: {loaded.message}"
    elif connection.is_connected:
        return True, ACTIVE, "Connected"
    elif connection.error:
        reason, message = "ClientConnectionFailed", connection.error
    else:
        return None
    return False, reason, with_attempts(message, connection.failures, connection.next_at)


def _says(before: Object, told: tuple[bool, str, str]) -> bool:
    for each in before.get("conditions") or ():
        if each["type"] == ACTIVE:
            wanted = ("True" if told[0] else "False", *told[1:])
            return (each["status"], each.get("reason"), each.get("message")) == wanted
    return False


def _generation(cluster: Object) -> int:
    return int(cluster["metadata"].get("generation") or 0)


def _named(name: str) -> Iterable[Hashable]:
    return [name] if name else []
