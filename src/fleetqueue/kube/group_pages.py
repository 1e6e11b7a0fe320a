"""API groups answered beside the API server, which passes requests on to us: discovery, OpenAPI,
and the answers themselves, for those who may.
"""

from collections.abc import Iterable
from typing import Any

from fleetqueue.api import served_documents
from fleetqueue.api.served_groups import GET, Asked, Refused, ServedGroup, unknown
from fleetqueue.base import codec
from fleetqueue.kube.delegated_access import ANONYMOUS, DelegatedAccess, Person
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.page_server import Page, Question

Json = dict[str, Any]


class GroupPages:
    """Answers for a few groups."""

    def __init__(self, groups: Iterable[ServedGroup], access: DelegatedAccess) -> None:
        self._groups = {group.name: group for group in groups}
        self._access = access

    async def answer(self, question: Question) -> Page:
        try:
            return Page(codec.encode(await self._find(question)) + b"\n")
        except Refused as refused:
            return Page(codec.encode(refused.status()) + b"\n", refused.code)

    async def _find(self, question: Question) -> Json:
        person = await self._access.who(question.headers, question.certificate) or ANONYMOUS
        parts = [part for part in question.path.split("/") if part]
        if parts[:1] == ["apis"] and len(parts) > 3:
            group, asked = parts[1], read_asked(parts, question)
            await self._check(person, _wanted(group, asked), _refusal(person, group, asked))
            if group not in self._groups:
                raise unknown()
            return self._groups[group].ask(question.method, asked)
        path = {"path": question.path, "verb": GET}
        text = f'forbidden: User "{person.name}" cannot get path "{question.path}"'
        await self._check(person, {"nonResourceAttributes": path}, Refused(403, "Forbidden", text))
        return self._page(parts)

    async def _check(self, person: Person, wanted: Json, refused: Refused) -> None:
        try:
            is_allowed, reason = await self._access.may(person, wanted)
        except KubeError as error:
            text = f"Internal error occurred: {error}"
            raise Refused(500, "InternalError", text) from error
        if not is_allowed:
            if reason:
                refused.message += f": {reason}"
            raise refused

    def _page(self, parts: list[str]) -> Json:
        match parts:
            case ["apis"]:
                groups = [group.discovered() for group in self._groups.values()]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
            case ["apis", name] if name in self._groups:
                return {"kind": "APIGroup", "apiVersion": "v1", **self._groups[name].discovered()}
            case ["apis", name, version] if name in self._groups:
                group = self._groups[name]
                if version in group.versions:
                    return group.resource_list(version)
            case ["openapi", "v2"]:
                return self._whole()
            case ["openapi", "v3"]:
                names = {name: {"serverRelativeURL": f"/openapi/v3/{name}"} for name in self._v3()}
                return {"paths": names}
            case ["openapi", "v3", *rest] if "/".join(rest) in self._v3():
                return self._v3()["/".join(rest)]
        raise unknown()

    def _v3(self) -> dict[str, Json]:
        return {
            name: document
            for group in self._groups.values()
            for name, document in served_documents.documents(group).items()
        }

    def _whole(self) -> Json:
        made: Json = {}
        for group in self._groups.values():
            found = served_documents.v2(group)
            for part in ("paths", "definitions"):
                found[part] = {**made.get(part, {}), **found[part]}
            made = {**found, "info": made.get("info") or found["info"]}
        return made


def read_asked(parts: list[str], question: Question) -> Asked:
    """`apis/<group>/<version>/[namespaces/<namespace>/]<resource>/<name>/<subresource>`."""
    version, rest, namespace = parts[2], parts[3:], ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    resource, name, subresource = (*rest, "", "", "")[:3]
    return Asked(version, resource, subresource, name, namespace, question.query)


def _wanted(group: str, asked: Asked) -> Json:
    wanted = {
        "verb": GET,
        "group": group,
        "version": asked.version,
        "resource": asked.resource,
        "subresource": asked.subresource,
        "namespace": asked.namespace,
        "name": asked.name,
    }
    return {"resourceAttributes": {name: value for name, value in wanted.items() if value}}


def _refusal(person: Person, group: str, asked: Asked) -> Refused:
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    what = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    text = (
        f'{asked.resource}.{group} "{asked.name}" is forbidden: User "{person.name}" cannot get '
        f'resource "{what}" in API group "{group}" {where}'
    )
    details = {"name": asked.name, "group": group, "kind": asked.resource}
    return Refused(403, "Forbidden", text, details)
