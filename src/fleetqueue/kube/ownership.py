"""Whether owners that objects are about to get are still there, where a cache may be behind."""

from collections.abc import Hashable
from datetime import datetime, timedelta
from typing import Any

from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import Conflict, NotFound
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.remembered import Remembered
from fleetqueue.kube.resources import Object, key_of, uid_of

AGAIN = timedelta(seconds=10)
"""What is done twice within this time is done for an owner that may be gone."""


class Ownership:
    """Asks the server, but only about what was done a moment ago and has to be done again: the
    garbage collector undoes it, and would again and again.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._done: Remembered[datetime] = Remembered()
        """When an object was made last, or got owners."""
        self._uids: Remembered[str] = Remembered()
        """Of objects that were applied."""

    async def has_owner(self, obj: Object) -> bool:
        """Whether there is any use in making it; False: it would be collected at once."""
        name, owners = obj["metadata"].get("name"), obj["metadata"].get("ownerReferences")
        if not name or not owners:
            return True
        if not self._is_again((str(obj["kind"]), key_of(obj))):
            return True
        found = await self._owner(owners[0], key_of(obj).namespace)
        return found is not None and not is_deleting(found)

    async def may_stay(self, obj: Object) -> bool:
        """Whether there is any use in applying it: what was collected a moment ago will be again
        where its owner is gone.
        """
        owners, before = obj["metadata"].get("ownerReferences"), self._done.get(_collected(obj))
        if not owners or before is None or self._cluster.clock.now() - before > AGAIN:
            return True
        return await self._owner(owners[0], key_of(obj).namespace) is not None

    def applied(self, obj: Object) -> None:
        """What came of it: another object of that name says that the one before was collected."""
        if not obj["metadata"].get("ownerReferences"):
            return
        identity = _collected(obj)
        before = self._uids.get(identity)
        self._uids.put(identity, uid_of(obj))
        if before not in (None, uid_of(obj)):
            self._done.put(identity, self._cluster.clock.now())

    async def check_added(self, obj: Object, patch: Any) -> None:
        """Raises where one of the owners that a patch adds is no more."""
        added = _added(obj, patch)
        uids = tuple(sorted(each["uid"] for each in added))
        if not added or not self._is_again((str(obj["kind"]), key_of(obj), uids)):
            return
        for each in added:
            if await self._owner(each, key_of(obj).namespace) is None:
                raise Conflict({"message": f"the {each['kind']} {each['name']} is gone"})

    def _is_again(self, identity: Hashable) -> bool:
        """Whether the same was done a moment ago."""
        before, now = self._done.get(identity), self._cluster.clock.now()
        self._done.put(identity, now)
        return before is not None and now - before <= AGAIN

    async def _owner(self, reference: Object, namespace: str) -> Object | None:
        """As the server has it, not a cache."""
        stub = {**reference, "metadata": {"name": reference["name"]}}
        kind = await self._cluster.client.discovery.resource_of(stub)
        space = namespace if kind.namespaced else ""
        try:
            found = dict(await self._cluster.client.get(kind, reference["name"], space))
        except NotFound:
            return None
        return found if uid_of(found) == reference["uid"] else None


def _collected(obj: Object) -> Hashable:
    return ("collected", str(obj["kind"]), key_of(obj))


def _added(obj: Object, patch: Any) -> list[Object]:
    metadata = patch.get("metadata") if isinstance(patch, dict) else None
    wanted = (metadata or {}).get("ownerReferences") or ()
    known = {each["uid"] for each in obj["metadata"].get("ownerReferences") or ()}
    return [each for each in wanted if each["uid"] not in known]
