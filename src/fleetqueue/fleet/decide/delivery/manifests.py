"""The manifests of a Work as objects to be applied: who each one is, whether it can be used at
all, and in which wave it goes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fleetqueue.api.fleet.placement_status import EnvelopeType
from fleetqueue.fleet.decide import confinement, envelopes
from fleetqueue.fleet.decide.confinement import OutOfNamespace
from fleetqueue.fleet.decide.envelopes import BadEnvelope, Envelope

Json = dict[str, Any]
Place = tuple[str, str, str, str]
"""Group, kind, namespace and name of an object."""

DECODING_ERRED = "DecodingErred"
GENERATE_NAME = "FoundGenerateName"
DUPLICATED = "Duplicated"
NO_NAME = "objects with only generate name are not supported"
TWICE = "a duplicate manifest has been found"
LAST_WAVE = 999


@dataclass(frozen=True, slots=True)
class Identity:
    """An object on a member; two manifests of one Work must not have the same."""

    group: str
    version: str
    kind: str
    resource: str
    namespace: str
    name: str

    @property
    def place(self) -> Place:
        """The same whatever the version."""
        return self.group, self.kind, self.namespace, self.name


@dataclass(frozen=True, slots=True)
class Manifest:
    """One entry of a Work, in its place."""

    ordinal: int
    raw: Json
    identity: Identity
    problem: str = ""
    """Why it cannot be used, as the reason of a condition; "" where it can."""
    error: str = ""

    def failed(self, problem: str, error: str) -> "Manifest":
        return replace(self, problem=problem, error=error)

    def found_as(self, resource: str, *, is_namespaced: bool) -> "Manifest":
        """Once the member told which resource serves the kind."""
        namespace = self.identity.namespace if is_namespaced else ""
        identity = replace(self.identity, resource=resource, namespace=namespace)
        return replace(self, identity=identity)

    @property
    def identifier(self) -> Json:
        """As the status of a Work names it; what is empty is left out."""
        one = self.identity
        named = {
            "group": one.group,
            "version": one.version,
            "kind": one.kind,
            "resource": one.resource,
            "namespace": one.namespace,
            "name": one.name,
        }
        kept = {name: value for name, value in named.items() if value}
        return {"ordinal": self.ordinal, **kept}

    @property
    def wave(self) -> int:
        return _WAVES.get((self.identity.group, self.identity.resource), LAST_WAVE)


def read(raws: Iterable[Json]) -> list[Manifest]:
    return [_read(ordinal, raw) for ordinal, raw in enumerate(raws)]


def unknown_kind(manifest: Manifest) -> Manifest:
    """The member serves no such kind."""
    one = manifest.identity
    version = f"{one.group}/{one.version}" if one.group else one.version
    cause = f'no matches for kind "{one.kind}" in version "{version}"'
    lookup = "failed to find GVR from member cluster client REST mapping"
    return manifest.failed(DECODING_ERRED, f"failed to decode manifest: {lookup}: {cause}")


def unwrapped(manifest: Manifest, envelope: Envelope | None, *, is_namespaced: bool) -> Manifest:
    """Out of the envelope that a Work names. The hub may not have known the kind; whoever fills a
    ResourceEnvelope has rights in its namespace, and gets nothing beyond it.
    """
    if envelope is None or envelope.type != EnvelopeType.RESOURCE_ENVELOPE:
        return manifest
    try:
        envelopes.check(manifest.raw, envelope, lambda *kind: is_namespaced)
    except BadEnvelope as refused:
        return manifest.failed(DECODING_ERRED, f"failed to decode manifest: {refused}")
    return manifest


def confined(manifest: Manifest, home: str, *, is_namespaced: bool) -> Manifest:
    """To the namespace of the placement that a Work names ("": it names none). The hub may not have
    known the kind.
    """
    try:
        confinement.check(manifest.raw, home, lambda *kind: is_namespaced)
    except OutOfNamespace as refused:
        return manifest.failed(DECODING_ERRED, f"failed to decode manifest: {refused}")
    return manifest


def checked(found: Iterable[Manifest]) -> list[Manifest]:
    """Those whose name is missing or taken by an earlier one cannot be used."""
    seen: set[Place] = set()
    result = []
    for manifest in found:
        if not manifest.problem and not manifest.identity.name:
            manifest = manifest.failed(GENERATE_NAME, NO_NAME)
        elif not manifest.problem and manifest.identity.place in seen:
            manifest = manifest.failed(DUPLICATED, TWICE)
        if not manifest.problem:
            seen.add(manifest.identity.place)
        result.append(manifest)
    return result


def in_waves(usable: Iterable[Manifest], *, at_once: bool) -> list[list[Manifest]]:
    """One wave after the other; `at_once`: all in one."""
    waves: dict[int, list[Manifest]] = {}
    for manifest in usable:
        waves.setdefault(0 if at_once else manifest.wave, []).append(manifest)
    return [waves[number] for number in sorted(waves)]


def identity_of(identifier: Mapping[str, Any]) -> Identity:
    """Of an entry in a status."""
    names = ("group", "version", "kind", "resource", "namespace", "name")
    return Identity(*(str(identifier.get(name) or "") for name in names))


def _read(ordinal: int, raw: Json) -> Manifest:
    metadata = raw.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    group, _, version = str(raw.get("apiVersion") or "").rpartition("/")
    identity = Identity(
        group=group,
        version=version,
        kind=str(raw.get("kind") or ""),
        resource="",
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or ""),
    )
    manifest = Manifest(ordinal, raw, identity)
    if not identity.kind or not version:
        what = "Object 'Kind' is missing" if not identity.kind else "apiVersion is missing"
        return manifest.failed(DECODING_ERRED, f"failed to decode manifest: {what}")
    return manifest


_IN_WAVES: tuple[dict[str, str], ...] = (
    {"": "namespaces", "scheduling.k8s.io": "priorityclasses"},
    {
        "": "resourcequotas limitranges serviceaccounts secrets configmaps persistentvolumes"
        " persistentvolumeclaims",
        "networking.k8s.io": "networkpolicies ingressclasses",
        "policy": "podsecuritypolicies poddisruptionbudgets",
        "storage.k8s.io": "storageclasses",
        "apiextensions.k8s.io": "customresourcedefinitions",
    },
    {"rbac.authorization.k8s.io": "clusterroles roles"},
    {"rbac.authorization.k8s.io": "clusterrolebindings rolebindings"},
    {
        "": "services pods replicationcontrollers",
        "apps": "daemonsets replicasets deployments statefulsets",
        "autoscaling": "horizontalpodautoscalers",
        "batch": "jobs cronjobs",
        "networking.k8s.io": "ingresses",
    },
    {
        "apiregistration.k8s.io": "apiservices",
        "admissionregistration.k8s.io": "validatingwebhookconfigurations"
        " mutatingwebhookconfigurations",
    },
)
_WAVES = {
    (group, resource): number
    for number, groups in enumerate(_IN_WAVES)
    for group, resources in groups.items()
    for resource in resources.split()
}
