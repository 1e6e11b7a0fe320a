"""Leader election on a Lease, with client-go's rules, so that both kinds of candidates may meet."""

import asyncio
import logging
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.api.times import format_micro_time
from fleetqueue.base import codec
from fleetqueue.base.clock import Clock
from fleetqueue.errors import ClusterError
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import KubeError, NotFound
from fleetqueue.kube.resources import LEASES, Object

JITTER = 1.2
log = logging.getLogger(__name__)


class LeadershipLost(ClusterError):
    """Another has, or may have, taken over: stop deciding at once."""


@dataclass(frozen=True)
class Terms:
    """How long a lease holds, how long the leader tries to renew it, how often anyone tries."""

    lease: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry: timedelta = timedelta(seconds=2)

    def __post_init__(self) -> None:
        assert self.lease > self.renew_deadline > self.retry * JITTER


@dataclass(frozen=True)
class Record:
    """What a Lease says."""

    holder: str = ""
    lease_seconds: int = 0
    acquired_at: str = ""
    renewed_at: str = ""
    transitions: int = 0


class LeaderElector:
    """`acquire`, then lead while `hold` runs; `release` when done."""

    def __init__(
        self,
        client: Client,
        lease: Key,
        identity: str,
        *,
        clock: Clock,
        random: Random,
        terms: Terms | None = None,
    ) -> None:
        self.identity = identity
        self.terms = terms or Terms()
        self._client = client
        self._lease = lease
        self._clock = clock
        self._random = random
        self._record = Record()
        self._observed_at: float | None = None
        """When the record was last seen to change, on our own clock: others' may be wrong."""
        self._object: Object | None = None

    @property
    def is_leader(self) -> bool:
        return self._record.holder == self.identity

    @property
    def leader(self) -> str:
        """Who leads, as far as is known."""
        return self._record.holder

    async def acquire(self) -> None:
        """Returns when we lead."""
        retry = self.terms.retry.total_seconds()
        while True:
            if await self._try():
                break
            await asyncio.sleep(retry * (1 + JITTER * self._random.random()))
        log.info("became the leader: lease=%s identity=%s", self._lease, self.identity)

    async def hold(self) -> None:
        """Renews for ever; raises LeadershipLost when that did not work in time."""
        deadline = self.terms.renew_deadline.total_seconds()
        retry = self.terms.retry.total_seconds()
        while True:
            try:
                async with asyncio.timeout(deadline):
                    await self._renew(retry)
            except TimeoutError as error:
                self._record = replace(self._record, holder="")
                raise LeadershipLost(f"the lease {self._lease} was not renewed in time") from error
            await asyncio.sleep(retry)

    async def release(self) -> None:
        """Lets the next one in without waiting for the lease to run out."""
        if not self.is_leader or self._object is None:
            return
        now = format_micro_time(self._clock.now())
        record = replace(self._record, holder="", lease_seconds=1, acquired_at=now, renewed_at=now)
        try:
            await self._write(record)
        except KubeError as error:
            log.info("the lease was not released: lease=%s: %s", self._lease, error)
            self._record = replace(self._record, holder="")

    async def _renew(self, retry_seconds: float) -> None:
        while True:
            if await self._try():
                return
            await asyncio.sleep(retry_seconds)

    async def _try(self) -> bool:
        """One attempt to become or to stay the leader."""
        try:
            return await self._acquire_or_renew()
        except KubeError as error:
            log.debug("the lease could not be had: lease=%s: %s", self._lease, error)
            self._object = None
            return False

    async def _acquire_or_renew(self) -> bool:
        now = format_micro_time(self._clock.now())
        wanted = Record(self.identity, int(self.terms.lease.total_seconds()), now, now)
        if not (self.is_leader and self._object is not None and self._is_valid()):
            try:
                self._observe(
                    await self._client.get(LEASES, self._lease.name, self._lease.namespace)
                )
            except NotFound:
                made = await self._client.create(self._body(wanted, None), resource=LEASES)
                self._observe(made)
                return True
        if self._record.holder and not self.is_leader and self._is_valid():
            return False
        await self._write(succeed(self._record, wanted))
        return True

    async def _write(self, record: Record) -> None:
        body = self._body(record, self._object)
        self._observe(await self._client.update(body, resource=LEASES))

    def _observe(self, lease: Object) -> None:
        record = read_record(lease)
        if record != self._record or self._observed_at is None:
            self._record = record
            self._observed_at = self._clock.monotonic()
        self._object = lease

    def _is_valid(self) -> bool:
        if self._observed_at is None:
            return False
        return self._observed_at + self._record.lease_seconds > self._clock.monotonic()

    def _body(self, record: Record, lease: Object | None) -> Object:
        body: Any = codec.copy(lease) if lease is not None else _new(self._lease)
        body["spec"] = {
            **(body.get("spec") or {}),
            "holderIdentity": record.holder,
            "leaseDurationSeconds": record.lease_seconds,
            "acquireTime": record.acquired_at or None,
            "renewTime": record.renewed_at or None,
            "leaseTransitions": record.transitions,
        }
        return dict(body)


def succeed(seen: Record, wanted: Record) -> Record:
    """The next record: a renewal keeps when it began, a change of leader is counted."""
    if seen.holder == wanted.holder:
        return replace(wanted, acquired_at=seen.acquired_at, transitions=seen.transitions)
    return replace(wanted, transitions=seen.transitions + 1)


def read_record(lease: Object) -> Record:
    spec = lease.get("spec") or {}
    return Record(
        holder=spec.get("holderIdentity") or "",
        lease_seconds=spec.get("leaseDurationSeconds") or 0,
        acquired_at=spec.get("acquireTime") or "",
        renewed_at=spec.get("renewTime") or "",
        transitions=spec.get("leaseTransitions") or 0,
    )


def _new(lease: Key) -> Object:
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": lease.name, "namespace": lease.namespace},
    }
