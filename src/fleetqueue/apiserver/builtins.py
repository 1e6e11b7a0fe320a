"""The built-in kinds as registry entries: recorded schemas and resources joined with their
strategies.
"""

from fleetqueue.api import kubernetes
from fleetqueue.apiserver.builtin import strategies
from fleetqueue.apiserver.builtin.conversions import CONVERSIONS
from fleetqueue.apiserver.registry import Registry, Resource, Subresource, Version
from fleetqueue.apiserver.shapes import BuiltinShape
from fleetqueue.apiserver.strategy import PLAIN

SHARED_TABLES = {("events.k8s.io", "events"): "events"}
"""One object, two API groups: what is created through one is seen through the other."""
DEPRECATED = {
    ("", "v1", "Endpoints"): (
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    ),
}
"""What every answer of a deprecated kind warns of."""
STORAGE_VERSIONS = {("autoscaling", "horizontalpodautoscalers"): "v2"}


def register(registry: Registry) -> None:
    """Add everything a fresh Kubernetes serves."""
    for group in kubernetes.resources():
        entries: dict[str, Resource] = {}
        for version in group.versions:
            for recorded in version.resources:
                _add_version(entries, group.name, version.name, recorded)
        for entry in entries.values():
            registry.add(entry)


def _add_version(
    entries: dict[str, Resource], group: str, version: str, recorded: kubernetes.Resource
) -> None:
    entry = entries.get(recorded.name)
    if entry is None:
        entry = entries[recorded.name] = _resource(group, version, recorded)
    entry.versions[version] = Version(
        version,
        recorded.kind,
        BuiltinShape(_definition(group, version, recorded.kind), recorded.kind, version),
        subresources={sub.name: _subresource(sub) for sub in recorded.subresources},
        verbs=recorded.verbs,
        warning=DEPRECATED.get((group, version, recorded.kind), ""),
    )


def _resource(group: str, version: str, recorded: kubernetes.Resource) -> Resource:
    where = (group, recorded.name)
    return Resource(
        group=group,
        plural=recorded.name,
        singular=recorded.singular,
        kind=recorded.kind,
        list_kind=f"{recorded.kind}List",
        namespaced=recorded.namespaced,
        versions={},
        storage_version=STORAGE_VERSIONS.get(where, version),
        strategy=strategies().get((group, recorded.kind), PLAIN),
        short_names=recorded.short_names,
        categories=recorded.categories,
        convert=CONVERSIONS.get((group, recorded.kind)),
        table=SHARED_TABLES.get(where, ""),
        stored_as="v1" if where in SHARED_TABLES else "",
    )


def _subresource(recorded: kubernetes.Subresource) -> Subresource:
    return Subresource(
        recorded.name, recorded.kind, recorded.verbs, recorded.group, recorded.version
    )


def _definition(group: str, version: str, kind: str) -> str:
    return kubernetes.definition_names()[group, version, kind]
