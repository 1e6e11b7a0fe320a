"""Keeps the webhook server's certificates: makes them, shares them, renews them, makes them known.

With a Secret several replicas serve under one authority; without one each run makes its own.
"""

import asyncio
import base64
import binascii
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from fleetqueue.api.meta import Key
from fleetqueue.base.certificates import KeyKind
from fleetqueue.base.clock import Clock
from fleetqueue.kube import certificates
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.certificates import Bundle, Pair, Prepared
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from fleetqueue.kube.resources import (
    API_SERVICES,
    CRDS,
    MUTATING_WEBHOOKS,
    SECRETS,
    VALIDATING_WEBHOOKS,
    Object,
    Resource,
    version_of,
)

CHECK_SECONDS = 15.0
"""So long may a registration that lost our authority keep the API server from asking us."""
ATTEMPTS_MAX = 5
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Registration:
    """The objects that must name our authority, so that API servers trust us."""

    mutating: Sequence[str] = ()
    validating: Sequence[str] = ()
    crds: Sequence[str] = ()
    api_services: Sequence[str] = ()


class Certificates(Protocol):
    """What a server shows: `prepare` before serving, `publish` when listening, `keep` for as long
    as it lasts.
    """

    @property
    def bundle(self) -> Bundle: ...

    async def prepare(self) -> Bundle: ...

    async def publish(self) -> None: ...

    async def keep(self, use: Callable[[Bundle], None]) -> None: ...


class CertificateKeeper(Prepared):
    """Certificates that we make."""

    def __init__(
        self,
        names: Sequence[str],
        *,
        clock: Clock,
        client: Client | None = None,
        secret: Key | None = None,
        registration: Registration | None = None,
        key_kind: KeyKind | None = None,
    ) -> None:
        """`key_kind`: what those who connect insist on; None: any will do."""
        super().__init__()
        assert secret is None or client is not None
        self._names = names
        self._clock = clock
        self._client = client
        self._secret = secret
        self._registration = registration or Registration()
        self._key_kind = key_kind

    async def prepare(self) -> Bundle:
        """A bundle that is good now: the shared one, our own, or a new one."""
        if self._secret is None:
            self._bundle = self._fresh(self._bundle)
        else:
            self._bundle = await self._shared(self._secret)
        return self._bundle

    async def publish(self) -> None:
        """Writes the authority into every registration that does not name it yet."""
        if self._client is None:
            return
        trusted = base64.b64encode(self.bundle.trusted).decode()
        for name in self._registration.mutating:
            await publish_to_webhooks(self._client, MUTATING_WEBHOOKS, name, trusted)
        for name in self._registration.validating:
            await publish_to_webhooks(self._client, VALIDATING_WEBHOOKS, name, trusted)
        for name in self._registration.crds:
            await publish_to_crd(self._client, name, trusted)
        for name in self._registration.api_services:
            await publish_to_api_service(self._client, name, trusted)

    async def keep(self, use: Callable[[Bundle], None]) -> None:
        """Checks now and then; a new authority is made known before its certificate is used."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            try:
                await self.check(use)
            except KubeError as error:
                log.warning("certificates could not be checked: %s", error)

    async def check(self, use: Callable[[Bundle], None]) -> None:
        before = self.bundle
        after = await self.prepare()
        await self.publish()
        if after != before:
            use(after)
            log.info("the webhook certificate was replaced: names=%s", ",".join(self._names))

    def _fresh(self, bundle: Bundle | None) -> Bundle:
        now = self._clock.now()
        if bundle is None:
            return certificates.make_bundle(self._names, now, self._key_kind)
        return certificates.renewed(bundle, self._names, now, self._key_kind)

    async def _shared(self, secret: Key) -> Bundle:
        """Whoever writes first decides; the others take what is there."""
        assert self._client is not None
        for _ in range(ATTEMPTS_MAX):
            try:
                held = await self._client.get(SECRETS, secret.name, secret.namespace)
            except NotFound:
                held = None
            known = read_secret(held) if held else None
            bundle = self._fresh(known)
            if bundle == known:
                return bundle
            try:
                await self._store(secret, bundle, held)
            except (AlreadyExists, Conflict):
                continue
            return bundle
        raise Conflict({"message": f"the Secret {secret} keeps changing", "code": 409})

    async def _store(self, secret: Key, bundle: Bundle, held: Object | None) -> None:
        assert self._client is not None
        data = write_data(bundle)
        if held is None:
            body = {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": secret.name, "namespace": secret.namespace},
                "type": "Opaque",
                "data": data,
            }
            await self._client.create(body, resource=SECRETS)
            return
        patch = {"metadata": {"resourceVersion": version_of(held)}, "data": data}
        await self._client.patch(SECRETS, secret.name, patch, secret.namespace)


def write_data(bundle: Bundle) -> dict[str, str]:
    parts = {
        "ca.crt": bundle.authority.certificate,
        "ca.key": bundle.authority.key,
        "tls.crt": bundle.serving.certificate,
        "tls.key": bundle.serving.key,
        "ca-former.crt": bundle.former,
    }
    return {name: base64.b64encode(part).decode() for name, part in parts.items()}


def read_secret(secret: Object) -> Bundle | None:
    """The bundle in a Secret; None where something is missing or broken, so that it is replaced."""
    data = secret.get("data") or {}
    try:
        part = {name: base64.b64decode(value) for name, value in data.items()}
        authority = Pair(part["ca.crt"], part["ca.key"])
        bundle = Bundle(
            authority, Pair(part["tls.crt"], part["tls.key"]), part.get("ca-former.crt", b"")
        )
        certificates.names_of(bundle.serving)
        authority.parsed()
    except (KeyError, ValueError, binascii.Error):
        return None
    return bundle


async def publish_to_webhooks(client: Client, kind: Resource, name: str, trusted: str) -> None:
    """Only what differs is written, and only if the webhooks still stand in the same order."""
    try:
        found = await client.get(kind, name)
    except NotFound:
        log.info("no such webhook configuration yet: kind=%s name=%s", kind.kind, name)
        return
    patch: list[Object] = []
    for index, webhook in enumerate(found.get("webhooks") or ()):
        at = f"/webhooks/{index}"
        if (webhook.get("clientConfig") or {}).get("caBundle") != trusted:
            patch.append({"op": "test", "path": f"{at}/name", "value": webhook["name"]})
            patch.append({"op": "add", "path": f"{at}/clientConfig/caBundle", "value": trusted})
    if patch:
        await client.patch(kind, name, patch, type=PatchType.JSON)


async def publish_to_crd(client: Client, name: str, trusted: str) -> None:
    try:
        found = await client.get(CRDS, name)
    except NotFound:
        log.info("no such CRD yet: name=%s", name)
        return
    conversion = (found.get("spec") or {}).get("conversion") or {}
    webhook = conversion.get("webhook") or {}
    held = (webhook.get("clientConfig") or {}).get("caBundle")
    if conversion.get("strategy") == "Webhook" and held != trusted:
        config = {"clientConfig": {"caBundle": trusted}}
        await client.patch(CRDS, name, {"spec": {"conversion": {"webhook": config}}})


async def publish_to_api_service(client: Client, name: str, trusted: str) -> None:
    try:
        found = await client.get(API_SERVICES, name)
    except NotFound:
        log.info("no such APIService yet: name=%s", name)
        return
    if (found.get("spec") or {}).get("caBundle") != trusted:
        await client.patch(API_SERVICES, name, {"spec": {"caBundle": trusted}})
