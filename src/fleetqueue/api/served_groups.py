"""API groups that are answered rather than stored: what they serve, and who answers.

Whoever runs in the process of an API server has it serve such a group; elsewhere the group is
served beside the API server and registered there by APIServices.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
GET = "get"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request for an answer of a group."""

    version: str
    resource: str
    subresource: str
    name: str
    namespace: str = ""
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def number(self, name: str, default: int) -> int:
        """A parameter that is a number; the default where it is missing or none."""
        values = self.query.get(name) or ()
        try:
            return int(values[0]) if values else default
        except ValueError:
            return default


class Refused(Exception):
    """A refusal that becomes a Status."""

    def __init__(self, code: int, reason: str, message: str, details: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or {}

    def status(self) -> Json:
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.code,
        }


@dataclass(frozen=True, slots=True)
class Answered:
    """A resource of which nothing is served but the answers below its objects' names."""

    plural: str
    singular: str
    kind: str
    is_namespaced: bool
    subresource: str
    answer_kind: str
    queries: tuple[str, ...] = ()
    """Parameters, all of them numbers."""


@dataclass(frozen=True, slots=True)
class ServedGroup:
    """A group whose answers can only be read."""

    name: str
    title: str
    versions: tuple[str, ...]
    """The preferred one first."""
    resources: tuple[Answered, ...]
    schemas: Mapping[str, Json]
    """By kind of answer."""
    answer: Callable[[Asked], Json]

    def find(self, version: str, resource: str) -> Answered | None:
        if version not in self.versions:
            return None
        return next((each for each in self.resources if each.plural == resource), None)

    def ask(self, method: str, asked: Asked) -> Json:
        """The answer; refusals are raised."""
        found = self.find(asked.version, asked.resource)
        is_known = found is not None and asked.subresource == found.subresource
        if found is None or not is_known or found.is_namespaced != bool(asked.namespace):
            raise unknown()
        if method != "GET":
            text = "the server does not allow this method on the requested resource"
            raise Refused(405, "MethodNotAllowed", text)
        return self.answer(asked)

    def discovered(self) -> Json:
        """Its part of an APIGroupList."""
        versions = [
            {"groupVersion": f"{self.name}/{each}", "version": each} for each in self.versions
        ]
        return {"name": self.name, "versions": versions, "preferredVersion": versions[0]}

    def resource_list(self, version: str) -> Json:
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{self.name}/{version}",
            "resources": list(self._listed()),
        }

    def described(self) -> Json:
        """Its part of an APIGroupDiscoveryList."""
        return {
            "metadata": {"name": self.name},
            "versions": [
                {
                    "version": version,
                    "resources": [self._described(version, each) for each in self.resources],
                    "freshness": "Current",
                }
                for version in self.versions
            ],
        }

    def _listed(self) -> Iterator[Json]:
        for each in self.resources:
            shared = {"singularName": "", "namespaced": each.is_namespaced}
            main = {"name": each.plural, **shared, "kind": each.kind, "verbs": []}
            yield main | {"singularName": each.singular}
            name = f"{each.plural}/{each.subresource}"
            yield {"name": name, **shared, "kind": each.answer_kind, "verbs": [GET]}

    def _described(self, version: str, resource: Answered) -> Json:
        home = {"group": self.name, "version": version}
        below = {
            "subresource": resource.subresource,
            "responseKind": {**home, "kind": resource.answer_kind},
            "verbs": [GET],
        }
        return {
            "resource": resource.plural,
            "responseKind": {**home, "kind": resource.kind},
            "scope": "Namespaced" if resource.is_namespaced else "Cluster",
            "singularResource": resource.singular,
            "verbs": [],
            "subresources": [below],
        }


def unknown() -> Refused:
    return Refused(404, "NotFound", "the server could not find the requested resource")


def not_found(group: str, kind: str, name: str) -> Refused:
    details = {"name": name, "group": group, "kind": kind}
    return Refused(404, "NotFound", f'{kind}.{group} "{name}" not found', details)
