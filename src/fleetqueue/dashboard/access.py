"""Who may look. Without login: everybody who reaches the server, which then listens on this machine
alone. With it: whoever shows a token of the cluster, to what its roles let them read.
"""

import base64
import binascii
import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fleetqueue.admission.kinds import WORKLOAD
from fleetqueue.api.kueue import explanation
from fleetqueue.dashboard.topics import PAGES, Topic
from fleetqueue.errors import UserError
from fleetqueue.kube.delegated_access import DelegatedAccess, Person
from fleetqueue.kube.resources import Resource

PROTOCOL = "v1.dashboard.fleetqueue.io"
TOKEN_PROTOCOL = "base64url.bearer.authorization.k8s.io."
"""How a browser, which cannot give a WebSocket headers, shows a token to Kubernetes."""
SOMEBODY = Person("")
"""Where there is no login."""


@dataclass(frozen=True, slots=True)
class Denied(Exception):
    """An answer with this status and text."""

    status: int
    text: str


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants to read; without a name all of the namespace, or of the cluster."""

    verb: str
    kind: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    def review(self) -> dict[str, Any]:
        wanted = {
            "verb": self.verb,
            "group": self.kind.group,
            "resource": self.kind.plural,
            "subresource": self.subresource,
            "namespace": self.namespace if self.kind.namespaced else "",
            "name": self.name,
        }
        return {"resourceAttributes": {name: value for name, value in wanted.items() if value}}


class Doorkeeper:
    """`reviews` asks the cluster about tokens and rights; None: there is no login."""

    def __init__(self, reviews: DelegatedAccess | None, host: str) -> None:
        self._reviews = reviews
        self._host = host

    @property
    def has_login(self) -> bool:
        return self._reviews is not None

    async def who(self, token: str) -> Person | None:
        if self._reviews is None:
            return SOMEBODY
        if not token:
            return None
        return await self._reviews.who([("authorization", f"Bearer {token}")], None)

    async def admit(self, token: str) -> Person:
        person = await self.who(token)
        if person is None:
            raise Denied(401, "a token of the cluster is needed: log in")
        return person

    async def check(self, person: Person, wishes: Iterable[Wish]) -> None:
        for wish in wishes:
            if not await self.may(person, wish):
                where = f' in the namespace "{wish.namespace}"' if wish.namespace else ""
                text = f'"{person.name}" may not {wish.verb} {wish.kind}{where}'
                raise Denied(403, text)

    async def may(self, person: Person, wish: Wish) -> bool:
        if self._reviews is None:
            return True
        return (await self._reviews.may(person, wish.review()))[0]

    async def topic(self, person: Person, topic: Topic) -> Topic:
        """The topic as this person may have it."""
        await self.check(person, wishes_of(topic))
        if topic.page != "workload":
            return topic
        kind = Resource(explanation.GROUP, explanation.VERSION, WORKLOAD.plural, WORKLOAD.kind)
        wish = Wish("get", kind, topic.namespace, topic.name, "explanation")
        return topic._replace(is_explained=await self.may(person, wish))

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Pages of other sites may not read from here in somebody's browser; nor may a name that
        suddenly leads to this machine.
        """
        host = headers.get("Host", "")
        if is_loopback(self._host) and not is_loopback(_name_of(host)):
            raise Denied(403, "this server answers to the names of this machine alone")
        origin = headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            raise Denied(403, "pages of other sites may not read from here")


def wishes_of(topic: Topic) -> Iterable[Wish]:
    for verb, kind in PAGES[topic.page].rights:
        yield Wish(verb, kind, topic.namespace, topic.name if verb == "get" else "")


def token_of(headers: Mapping[str, str]) -> str:
    """From the Authorization header, or from what a WebSocket proposes to speak."""
    scheme, _, token = headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    for protocol in headers.get("Sec-WebSocket-Protocol", "").split(","):
        if protocol.strip().startswith(TOKEN_PROTOCOL):
            return _decoded(protocol.strip().removeprefix(TOKEN_PROTOCOL))
    return ""


def check_exposure(host: str, *, has_login: bool) -> None:
    """Without login nobody outside of this machine may be let in."""
    if not has_login and not is_loopback(host):
        raise UserError(
            f'without login the dashboard cannot listen on "{host}", where others reach it: add'
            " --login, or listen on 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _name_of(host: str) -> str:
    """Without the port, and without the brackets of IPv6."""
    return urlsplit(f"//{host}").hostname or ""


def _decoded(text: str) -> str:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, ValueError):
        return ""
