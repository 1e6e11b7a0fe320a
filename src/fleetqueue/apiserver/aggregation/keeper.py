"""Keeps up with the APIServices of other servers: whether these can be asked, and what they serve.

It is woken by what concerns one of them; one that is well is looked at every half minute, one that
fails sooner.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from fleetqueue.apiserver.aggregation import availability, documents
from fleetqueue.apiserver.aggregation.availability import LOCAL, PASSED, Verdict
from fleetqueue.apiserver.aggregation.proxying import Proxy
from fleetqueue.apiserver.aggregation.services import TABLE, Known
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.internal import Internal
from fleetqueue.apiserver.keepers.working import WorkingKeeper
from fleetqueue.apiserver.reaching import CallFailed
from fleetqueue.apiserver.storage import Change
from fleetqueue.base import codec
from fleetqueue.base.backoff import Backoff

Object = dict[str, Any]

SERVICES, SLICES = "services", "endpointslices.discovery.k8s.io"
SERVICE_OF = "kubernetes.io/service-name"
AGAIN_SECONDS = 30.0
RETRIES = Backoff(0.05, AGAIN_SECONDS)


class RemoteServiceKeeper(WorkingKeeper):
    """Where no APIService names a Service it does nothing."""

    work_name = "API services of others"
    tables = (TABLE, SERVICES, SLICES)

    def __init__(self, core: Core, internal: Internal, proxy: Proxy) -> None:
        super().__init__(core, internal)
        self._remotes = core.remotes
        self._proxy = proxy
        self._timers: dict[str, asyncio.TimerHandle] = {}
        """Of those to look at again; a server that waits for one is idle all the same."""
        self._failures: dict[str, int] = {}

    def start(self) -> None:
        store = self._core.store
        for stored in store.table(TABLE).live.values():
            if self._remotes.put(store.decoded(stored)):
                self._work.add(stored.key)

    def follow(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.resource == TABLE:
                self._take(change)
            elif self._remotes and change.resource in (SERVICES, SLICES):
                self._wake(change)

    async def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        await super().stop()
        await self._proxy.caller.close()

    def _take(self, change: Change) -> None:
        key = change.stored.key
        if change.after is None:
            self._remotes.remove(key)
        elif self._remotes.put(self._core.store.decoded(change.after)):
            self._work.add(key)

    def _wake(self, change: Change) -> None:
        """Whoever is behind the Service that changed."""
        namespace, _, name = change.stored.key.partition("/")
        if change.resource == SLICES:
            metadata = self._core.store.decoded(change.stored)["metadata"]
            name = (metadata.get("labels") or {}).get(SERVICE_OF, "")
        for known in self._remotes:
            if (known.service.namespace, known.service.service) == (namespace, name):
                self._work.add(known.service.name)

    async def _attend(self, key: str) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        known = self._remotes.named(key)
        if known is None:
            self._failures.pop(key, None)
            if self._core.get(TABLE, key) is not None:
                await self._tell(key, LOCAL)
            return
        verdict = await self._check(known)
        await self._tell(key, verdict)
        self._look_again(key, verdict)

    async def _check(self, known: Known) -> Verdict:
        service = known.service
        place = f"{service.namespace}/{service.service}"
        verdict = availability.look(service, self._core.get(SERVICES, place), self._slices(known))
        if verdict is None:
            verdict = await self._ask(known)
        if not verdict.is_available:
            self._remotes.describe(known, None, b"")
        return verdict

    async def _ask(self, known: Known) -> Verdict:
        try:
            address = self._proxy.address(known.service)
        except CallFailed as error:
            return availability.unresolved(str(error))
        url = f"https://{address}{known.service.path}"
        try:
            found = await self._proxy.probe(known.service, address)
            body = found.body or b""
        except CallFailed as error:
            return availability.failed_call(url, str(error))
        if not 200 <= found.status < 300:
            return availability.bad_status(url, found.status)
        if known.described is None or known.resource_list != body:
            await self._describe(known, body)
        return PASSED

    async def _describe(self, known: Known, resource_list: bytes) -> None:
        """What it serves, in the words of the server where it knows the newer form."""
        service = known.service
        described = None
        try:
            found = await self._proxy.ask(service, "/apis", accept=documents.AGGREGATED_TYPES)
            if found.status == 200:
                described = documents.find_version(codec.decode(found.body or b""), service)
            if described is None:
                described = documents.from_resource_list(codec.decode(resource_list), service)
        except (CallFailed, *documents.SENSELESS):
            described = None
        self._remotes.describe(known, described, resource_list)

    async def _tell(self, key: str, verdict: Verdict) -> None:
        resource = self._core.registry.by_table(TABLE)
        assert resource is not None
        now = self._core.now()

        def change(obj: Object) -> None:
            availability.set_condition(obj, verdict, now)

        await self._internal.edit_status(resource, "", key, change)

    def _look_again(self, key: str, verdict: Verdict) -> None:
        seconds = AGAIN_SECONDS
        if verdict.reason == "FailedDiscoveryCheck":
            count = self._failures.get(key, 0)
            self._failures[key] = count + 1
            seconds = RETRIES.plain_delay(count)
        else:
            self._failures.pop(key, None)
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(seconds, self._work.add, key)

    def _slices(self, known: Known) -> list[Object]:
        namespace, name = known.service.namespace, known.service.service
        keys = self._core.store.table(SLICES).select(f"{namespace}/")
        found = [self._core.get(SLICES, key) for key in keys]
        return [
            each
            for each in found
            if each is not None and (each["metadata"].get("labels") or {}).get(SERVICE_OF) == name
        ]
