"""One LeaderWorkerSet with all it leaves out filled in, and the keys that its objects carry."""

from dataclasses import dataclass
from typing import Any

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.amounts import scaled

PREFIX = "leaderworkerset.sigs.k8s.io/"
NAME_KEY = f"{PREFIX}name"
GROUP_KEY = f"{PREFIX}group-index"
GROUP_HASH_KEY = f"{PREFIX}group-key"
WORKER_KEY = f"{PREFIX}worker-index"
REVISION_KEY = f"{PREFIX}template-revision-hash"
SIZE_KEY = f"{PREFIX}size"
REPLICAS_KEY = f"{PREFIX}replicas"
LEADER_KEY = f"{PREFIX}leader-name"
EXCLUSIVE_KEY = f"{PREFIX}exclusive-topology"
SUBGROUP_KEY = f"{PREFIX}subgroup-index"
SUBGROUP_HASH_KEY = f"{PREFIX}subgroup-key"
SUBGROUP_SIZE_KEY = f"{PREFIX}subgroup-size"
SUBGROUP_TYPE_KEY = f"{PREFIX}subgroup-policy-type"
SUBGROUP_EXCLUSIVE_KEY = f"{PREFIX}subgroup-exclusive-topology"
SUBDOMAIN_KEY = f"{PREFIX}subdomainPolicy"
AFTER_START_KEY = f"{PREFIX}experimental-recreate-group-after-start"


@dataclass(frozen=True, slots=True)
class LeaderWorkerSet:
    """As the operator reads it."""

    obj: Object

    @property
    def name(self) -> str:
        return str(self.obj["metadata"]["name"])

    @property
    def annotations(self) -> Object:
        return self.obj["metadata"].get("annotations") or {}

    @property
    def spec(self) -> Object:
        spec: Object = self.obj["spec"]
        return spec

    @property
    def template(self) -> Object:
        template: Object = self.spec["leaderWorkerTemplate"]
        return template

    @property
    def replicas(self) -> int:
        return _number(self.spec.get("replicas"), 1)

    @property
    def size(self) -> int:
        return _number(self.template.get("size"), 1)

    @property
    def restart_policy(self) -> str:
        return str(self.template.get("restartPolicy") or "RecreateGroupOnPodRestart")

    @property
    def waits_for_leader(self) -> bool:
        return self.spec.get("startupPolicy") == "LeaderReady"

    @property
    def has_own_subdomains(self) -> bool:
        network = self.spec.get("networkConfig") or {}
        return network.get("subdomainPolicy") == "UniquePerReplica"

    @property
    def partition(self) -> int:
        """Groups below it are not updated."""
        return _number(self._rolling.get("partition"), 0)

    @property
    def surge_max(self) -> int:
        """No need to burst more than the replicas."""
        amount = scaled(self._rolling.get("maxSurge") or 0, self.replicas, up=True)
        return min(amount, self.replicas)

    @property
    def unavailable_max(self) -> int:
        said = self._rolling.get("maxUnavailable")
        return scaled(1 if said is None else said, self.replicas, up=False)

    @property
    def _rolling(self) -> Object:
        strategy = self.spec.get("rolloutStrategy") or {}
        return strategy.get("rollingUpdateConfiguration") or {}


def label(obj: Object, key: str) -> str:
    return str((obj["metadata"].get("labels") or {}).get(key) or "")


def annotation(obj: Object, key: str) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(key) or "")


def _number(value: Any, otherwise: int) -> int:
    return otherwise if value is None else int(value)
