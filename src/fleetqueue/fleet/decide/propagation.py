"""Which kinds, namespaces and objects may be propagated at all, whoever selects them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.fleet import naming
from fleetqueue.errors import InvalidInput

Json = dict[str, Any]
Kind = tuple[str, str, str]
"""Group, version and kind."""
_SKIPPED_GROUPS = frozenset(
    {
        "cluster.kubernetes-fleet.io",
        "placement.kubernetes-fleet.io",
        "events.k8s.io",
        "coordination.k8s.io",
        "metrics.k8s.io",
    }
)
_SKIPPED_KINDS = frozenset(
    {
        ("networking.fleet.azure.com", "ServiceImport"),
        ("networking.fleet.azure.com", "TrafficManagerProfile"),
        ("networking.fleet.azure.com", "TrafficManagerBackend"),
        ("", "Event"),
        ("", "Pod"),
        ("", "Node"),
    }
)
_KEPT = frozenset(
    {
        ("placement.kubernetes-fleet.io", "ClusterResourceEnvelope"),
        ("placement.kubernetes-fleet.io", "ResourceEnvelope"),
    }
)
ENVELOPES = frozenset(
    {
        ("placement.kubernetes-fleet.io/v1beta1", "ClusterResourceEnvelope"),
        ("placement.kubernetes-fleet.io/v1beta1", "ResourceEnvelope"),
    }
)
_SERVICE_ACCOUNT_TOKEN = "kubernetes.io/service-account-token"
_SLICE_MANAGER = "endpointslice.kubernetes.io/managed-by"


@dataclass(frozen=True, slots=True)
class Apis:
    """A list of groups, versions of groups, and kinds, as a user wrote it in a flag."""

    groups: frozenset[str] = frozenset()
    versions: frozenset[tuple[str, str]] = frozenset()
    kinds: frozenset[Kind] = frozenset()

    def names(self, kind: Kind) -> bool:
        return kind[0] in self.groups or kind[:2] in self.versions or kind in self.kinds

    def __bool__(self) -> bool:
        return bool(self.groups or self.versions or self.kinds)


@dataclass(frozen=True, slots=True)
class Propagation:
    """What a hub was told about that."""

    skipped: Apis = Apis()
    allowed: Apis = Apis()
    """Where it names anything, nothing else is propagated."""
    skipped_namespaces: frozenset[str] = frozenset()
    has_workloads: bool = True
    """Whether pods run on the hub, so that claims belong to it."""

    def allows_kind(self, group: str, version: str, kind: str) -> bool:
        """Kinds that are not allowed are never selected and never watched."""
        if self.allowed:
            return self.allowed.names((group, version, kind))
        return not (_is_skipped(group, kind) or self.skipped.names((group, version, kind)))

    def allows_namespace(self, name: str) -> bool:
        """Whether a namespace may be propagated with what is in it."""
        return naming.is_selectable_namespace(name) and name not in self.skipped_namespaces

    def allows_object(
        self, obj: Json, has_service: Callable[[str, str], bool], *, is_job_aware: bool
    ) -> bool:
        """Whether an object is one that users made; `has_service` is asked by namespace, name.
        `is_job_aware`: Workloads that stand for jobs stay on the hub; members make their own.
        """
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp"):
            return False
        match (_group(obj), obj["kind"]):
            case ("apps", "ReplicaSet" | "ControllerRevision"):
                return not metadata.get("ownerReferences")
            case ("", "ConfigMap"):
                return bool(metadata["name"] != "kube-root-ca.crt")
            case ("", "ServiceAccount"):
                return bool(metadata["name"] != "default")
            case ("", "Secret"):
                return bool(obj.get("type") != _SERVICE_ACCOUNT_TOKEN)
            case ("", "Endpoints"):
                return not has_service(metadata.get("namespace") or "", metadata["name"])
            case ("discovery.k8s.io", "EndpointSlice"):
                return _SLICE_MANAGER not in (metadata.get("labels") or {})
            case ("", "PersistentVolumeClaim"):
                return not self.has_workloads
            case ("kueue.x-k8s.io", "Workload"):
                return not (is_job_aware and metadata.get("ownerReferences"))
        return True


def parse_apis(text: str) -> Apis:
    """Items between semicolons: `group`, `group/version` or `group/version/Kind,Kind`; kinds of
    the core group are `v1/Kind,Kind`.
    """
    groups: set[str] = set()
    versions: set[tuple[str, str]] = set()
    kinds: set[Kind] = set()
    for item in filter(None, (part.strip() for part in text.split(";"))):
        parts = item.split("/")
        if len(parts) == 1:
            groups.add(item)
        elif len(parts) == 3:
            kinds |= _kinds(parts[0], parts[1], parts[2])
        elif len(parts) == 2 and parts[0] == "v1":
            kinds |= _kinds("", "v1", parts[1])
        elif len(parts) == 2:
            versions.add((parts[0], parts[1]))
        else:
            raise InvalidInput(f'"{item}" is no group, group/version or group/version/Kind,Kind')
    return Apis(frozenset(groups), frozenset(versions), frozenset(kinds))


def propagation(
    skipped: str,
    allowed: str,
    skipped_namespaces: Iterable[str],
    *,
    has_workloads: bool,
) -> Propagation:
    """From the flags of a hub; naming both lists is a mistake."""
    if skipped and allowed:
        raise InvalidInput(
            "skipped-propagating-apis and allowed-propagating-apis are mutually exclusive"
        )
    names = frozenset(skipped_namespaces)
    return Propagation(parse_apis(skipped), parse_apis(allowed), names, has_workloads)


def _is_skipped(group: str, kind: str) -> bool:
    if (group, kind) in _KEPT:
        return False
    return group in _SKIPPED_GROUPS or (group, kind) in _SKIPPED_KINDS


def _kinds(group: str, version: str, names: str) -> set[Kind]:
    return {(group, version, name.strip()) for name in names.split(",") if name.strip()}


def _group(obj: Json) -> str:
    return str(obj["apiVersion"]).rpartition("/")[0]
