"""Writes what a member reports of placed objects into the status of the originals on the hub."""

from collections.abc import Sequence

from fleetqueue.api.fleet import naming
from fleetqueue.fleet.decide import back_reporting, conditions
from fleetqueue.fleet.decide.back_reporting import Report
from fleetqueue.fleet.decide.binding_status import Told
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import Conflict, KubeError, NotFound
from fleetqueue.kube.remembered import Remembered
from fleetqueue.kube.resources import Object, Resource, uid_of

WRITTEN_MAX = 20_000
TRIES_MAX = 3
"""How often an original is read again because somebody else wrote to it in between."""


class BackReporter:
    """Writes each status once: whoever else writes there meanwhile is not fought with."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._written: Remembered[str] = Remembered(WRITTEN_MAX)
        """By binding and object: the hash of the status that was written last."""

    async def report(
        self, placement: Object | None, binding: Object, works: Sequence[Object]
    ) -> Told | None:
        """What the binding says of it; None where the placement does not ask for that."""
        if placement is None or not back_reporting.is_wanted(placement):
            return None
        if refusal := back_reporting.refusal(placement):
            return _told(conditions.FALSE, back_reporting.REFUSED, refusal)
        found = list(back_reporting.reports(works))
        for each in found:
            try:
                await self._write(uid_of(binding), each)
            except KubeError as error:
                text = f"{each.title}: {error}"
                return _told(conditions.FALSE, back_reporting.FAILED, text)
        if not found:
            return None
        return _told(conditions.TRUE, back_reporting.REPORTED, back_reporting.DONE)

    async def _write(self, binding: str, report: Report) -> None:
        key, wanted = (binding, report.title), naming.content_hash(report.status)
        if self._written.get(key) == wanted:
            return
        kind = await self._cluster.client.discovery.resource(report.api_version, report.kind)
        for attempt in range(1, TRIES_MAX + 1):
            try:
                await self._replace(kind, report)
            except Conflict:
                if attempt == TRIES_MAX:
                    raise
            else:
                break
        self._written.put(key, wanted)

    async def _replace(self, kind: Resource, report: Report) -> None:
        original = dict(await self._cluster.client.get(kind, report.name, report.namespace))
        if original.get("status") != report.status:
            await self._update({**original, "status": report.status}, kind)

    async def _update(self, obj: Object, kind: Resource) -> None:
        client = self._cluster.client
        try:
            written = await client.update(obj, subresource="status", resource=kind)
        except NotFound:
            # A kind whose status is a field like any other.
            written = await client.update(obj, resource=kind)
        self._cluster.accept(written)


def _told(status: str, reason: str, message: str) -> Told:
    return Told(back_reporting.CONDITION, status, reason, message)
