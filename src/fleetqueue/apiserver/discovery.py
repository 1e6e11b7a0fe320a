"""Discovery: which groups, versions and resources there are, in both forms clients ask for."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from typing import Any

from fleetqueue.api import kubernetes
from fleetqueue.apiserver import forms, problems
from fleetqueue.apiserver.aggregation import documents as others
from fleetqueue.apiserver.aggregation.services import Known
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.keepers.api_services import priorities_of
from fleetqueue.apiserver.registry import Resource, Subresource, Version
from fleetqueue.apiserver.request import Request, Response
from fleetqueue.base import codec, documents

Object = dict[str, Any]

AGGREGATED = "apidiscovery.k8s.io/v2"
AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
JSON, YAML = "application/json", "application/yaml"
_STABILITY = re.compile(r"^v(\d+)(?:(alpha|beta)(\d+))?$")
OTHER_PATHS = (
    "/.well-known/openid-configuration",
    "/healthz",
    "/livez",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/openid/v1/jwks",
    "/readyz",
    "/version",
)


class Discovery:
    """Answers discovery requests; what it derives from the registry is kept until that changes."""

    def __init__(self, core: Core, address: str = "") -> None:
        self._core = core
        self._address = address
        self._generation = -1
        self._groups: dict[str, dict[str, list[Resource]]] = {}
        self._remote: Mapping[str, Mapping[str, Known]] = {}
        self._answers: dict[tuple[str, str], bytes] = {}

    def answer(self, request: Request, path: str) -> Response | None:
        self._refresh()
        has_index = path in ("/api", "/apis")
        if self._object(path, JSON) is None:
            return None
        form = _form(request.headers.get("accept", ""), has_index)
        body = self._body(path, form)
        response = Response(body=body, content_type=form)
        if has_index:
            response.headers["Vary"] = "Accept"
        if form == AGGREGATED_TYPE:
            response.headers["ETag"] = f'"{hashlib.sha256(body).hexdigest().upper()}"'
            if request.headers.get("if-none-match") == response.headers["ETag"]:
                response.status, response.body = 304, b""
        return response

    def _body(self, path: str, form: str) -> bytes:
        body = self._answers.get((path, form))
        if body is None:
            obj = self._object(path, form)
            assert obj is not None
            body = documents.dump(obj).encode() if form == YAML else codec.encode(obj) + b"\n"
            self._answers[path, form] = body
        return body

    def _refresh(self) -> None:
        if self._generation == self._core.registry.generation:
            return
        self._generation = self._core.registry.generation
        self._answers = {}
        self._groups = {}
        self._remote = self._core.remotes.groups()
        for resource in self._core.registry:
            versions = self._groups.setdefault(resource.group, {})
            for version in resource.served:
                versions.setdefault(version.name, []).append(resource)

    def _object(self, path: str, form: str) -> Object | None:
        parts = [part for part in path.split("/") if part]
        if not parts:
            return {"paths": self._paths()}
        match parts:
            case ["api"] if form == AGGREGATED_TYPE:
                return self._aggregated([""])
            case ["api"]:
                return _api_versions(self._address)
            case ["apis"] if form == AGGREGATED_TYPE:
                return self._with_described(self._aggregated(self._named_groups()))
            case ["apis"]:
                groups = [self._group(name) for name in self._named_groups()]
                groups += [each.discovered() for each in self._core.extensions]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
            case ["api", version]:
                return self._resource_list("", version)
            case ["apis", group] if (found := self._core.extensions.get(group)) is not None:
                return {"kind": "APIGroup", "apiVersion": "v1", **found.discovered()}
            case ["apis", group] if group and (group in self._groups or group in self._remote):
                return {"kind": "APIGroup", "apiVersion": "v1", **self._group(group)}
            case ["apis", group, version] if group in self._core.extensions:
                return self._extension_list(group, version)
            case ["apis", group, version]:
                return self._resource_list(group, version)
        return None

    def _named_groups(self) -> list[str]:
        """Built-in groups in their recorded order, then those of CRDs by name."""
        custom = sorted(
            name
            for name, versions in self._groups.items()
            if name and all(r.is_custom for found in versions.values() for r in found)
        )
        own = [name for name in self._groups if name and name not in custom] + custom
        return self._with_others(own) if self._remote else own

    def _with_others(self, own: list[str]) -> list[str]:
        """Groups that other servers answer for, each in the place of its priority."""
        remote = {
            name: max(known.service.group_priority for known in versions.values())
            for name, versions in self._remote.items()
            if name not in self._groups and name not in self._core.extensions
        }
        ranked = [(name, self._priorities(name, "")[0]) for name in own]
        return others.placed(ranked, sorted(remote.items(), key=lambda one: (-one[1], one[0])))

    def _priorities(self, group: str, version: str) -> tuple[int, int]:
        known = self._remote.get(group, {}).get(version)
        if known is not None:
            return known.service.group_priority, known.service.version_priority
        return priorities_of(group, version)

    def _versions(self, group: str) -> list[str]:
        versions = self._groups.get(group, {})
        remote = self._remote.get(group)
        if remote:
            return sorted(
                {**versions, **remote},
                key=lambda each: (-self._priorities(group, each)[1], priority(each)),
            )
        is_custom = all(r.is_custom for found in versions.values() for r in found)
        return sorted(versions, key=priority) if is_custom else list(versions)

    def _group(self, name: str) -> Object:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version}
            for version in self._versions(name)
        ]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def _resource_list(self, group: str, version: str) -> Object | None:
        found = self._groups.get(group, {}).get(version)
        if found is None:
            return None
        items: list[Object] = []
        for resource in sorted(found, key=lambda r: r.plural):
            items += _listed(resource, resource.versions[version])
        return {
            "kind": "APIResourceList",
            **({"apiVersion": "v1"} if group else {}),
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": items,
        }

    def _aggregated(self, groups: list[str]) -> Object:
        items = []
        for group in groups:
            versions = [
                self._described_version(group, version) for version in self._versions(group)
            ]
            metadata = {"name": group} if group else {}
            items.append({"metadata": metadata, "versions": versions})
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": AGGREGATED,
            "metadata": {},
            "items": items,
        }

    def _described_version(self, group: str, version: str) -> Object:
        known = self._remote.get(group, {}).get(version)
        if known is not None:
            return known.described or others.stale(known.service)
        found = sorted(self._groups[group][version], key=lambda r: r.plural)
        return {
            "version": version,
            "resources": [_described(each, each.versions[version]) for each in found],
            "freshness": "Current",
        }

    def _extension_list(self, group: str, version: str) -> Object | None:
        found = self._core.extensions.get(group)
        if found is None or version not in found.versions:
            return None
        return found.resource_list(version)

    def _with_described(self, document: Object) -> Object:
        described = [each.described() for each in self._core.extensions]
        return {**document, "items": [*document["items"], *described]}

    def _paths(self) -> list[str]:
        paths = ["/api", "/api/v1", "/apis", "/apis/", *OTHER_PATHS]
        for group in self._named_groups():
            paths.append(f"/apis/{group}")
            paths += [f"/apis/{group}/{version}" for version in self._versions(group)]
        for extension in self._core.extensions:
            paths.append(f"/apis/{extension.name}")
            paths += [f"/apis/{extension.name}/{version}" for version in extension.versions]
        return sorted(paths)


def _form(accept: str, has_index: bool) -> str:
    """The content type to answer with; the aggregated form wins wherever it is named."""
    clauses = [_clause(text) for text in accept.split(",")]
    if has_index and any(_is_aggregated(clause) for clause in clauses):
        return AGGREGATED_TYPE
    if not accept:
        return JSON
    for kind, parameters in clauses:
        if "as" not in parameters and kind in (JSON, YAML, "*/*", "application/*"):
            return YAML if kind == YAML else JSON
    accepted = ", ".join(forms.SUPPORTED)
    if any(kind in forms.SUPPORTED for kind, _ in clauses):
        raise problems.not_acceptable(f"only the following media types are accepted: {accepted}")
    error = problems.not_acceptable(f"406: Not Acceptable\n\nAvailable representations: {accepted}")
    error.details = {}
    raise error


def _clause(text: str) -> tuple[str, dict[str, str]]:
    kind, *rest = (part.strip() for part in text.split(";"))
    return kind, dict(part.split("=", 1) for part in rest if "=" in part)


def _is_aggregated(clause: tuple[str, dict[str, str]]) -> bool:
    kind, parameters = clause
    wanted = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}
    return kind == JSON and wanted.items() <= parameters.items()


def priority(version: str) -> tuple[int, int, int, str]:
    """Newest stable first, then beta, then alpha, then anything else by name."""
    found = _STABILITY.match(version)
    if found is None:
        return (3, 0, 0, version)
    rank = {None: 0, "beta": 1, "alpha": 2}[found[2]]
    return (rank, -int(found[1]), -int(found[3] or 0), version)


def _api_versions(address: str) -> Object:
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def _listed(resource: Resource, version: Version) -> list[Object]:
    """A resource and its subresources, as an APIResourceList has them."""
    main: Object = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": version.kind,
        "verbs": _verbs(resource, version),
    }
    if resource.short_names:
        main["shortNames"] = list(resource.short_names)
    if resource.categories:
        main["categories"] = list(resource.categories)
    stored = _storage_hash(resource, version)
    if stored:
        main["storageVersionHash"] = stored
    items = [main]
    for sub in version.subresources.values():
        item: Object = {
            "name": f"{resource.plural}/{sub.name}",
            "singularName": "",
            "namespaced": resource.namespaced,
        }
        if sub.group or sub.version:
            item |= {"group": sub.group, "version": sub.version}
        items.append(item | {"kind": sub.kind, "verbs": list(sub.verbs)})
    return items


def _described(resource: Resource, version: Version) -> Object:
    """The same in the aggregated form."""
    described: Object = {
        "resource": resource.plural,
        "responseKind": _home(resource, version) | {"kind": version.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": _verbs(resource, version),
    }
    if resource.short_names:
        described["shortNames"] = list(resource.short_names)
    if resource.categories:
        described["categories"] = list(resource.categories)
    if version.subresources:
        described["subresources"] = [
            _described_sub(resource, version, sub) for sub in version.subresources.values()
        ]
    return described


def _described_sub(resource: Resource, version: Version, sub: Subresource) -> Object:
    own = {"group": sub.group, "version": sub.version}
    home = own if sub.version else _home(resource, version)
    return {
        "subresource": sub.name,
        "responseKind": home | {"kind": sub.kind},
        "verbs": list(sub.verbs),
    }


def _home(resource: Resource, version: Version) -> Object:
    """Where an answer's kind lives; of a built-in resource it goes without saying."""
    if resource.is_custom:
        return {"group": resource.group, "version": version.name}
    return {"group": "", "version": ""}


def _storage_hash(resource: Resource, version: Version) -> str:
    """Tells clients when the stored form changes; what is never stored has none."""
    if not resource.is_custom:
        return _recorded_hashes().get((resource.group, version.name, resource.plural), "")
    stored = f"{resource.group}/{resource.storage_version}/{resource.kind}"
    return b64encode(hashlib.sha256(stored.encode()).digest()[:8]).decode()


@cache
def _recorded_hashes() -> dict[tuple[str, str, str], str]:
    return {
        (group.name, version.name, resource.name): resource.storage_version_hash
        for group in kubernetes.resources()
        for version in group.versions
        for resource in version.resources
    }


def _verbs(resource: Resource, version: Version) -> list[str]:
    """A custom resource whose definition is being deleted takes no more writes."""
    if not resource.is_going:
        return list(version.verbs)
    return [verb for verb in version.verbs if verb not in ("create", "update", "patch")]
