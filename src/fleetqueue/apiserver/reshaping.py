"""Custom resources that are older than their schema, as the present schema shows them.

kube-apiserver prunes and defaults every object it reads, by the version that it is stored in. What
was written under the present schema went through that when it was written, so that only older
objects are looked at here, once each.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fleetqueue.apiserver.problems import ApiError
from fleetqueue.apiserver.storage import Store, Stored
from fleetqueue.base import codec

if TYPE_CHECKING:
    from fleetqueue.apiserver.registry import Version

Object = dict[str, Any]

KEPT_MAX = 4_000


class Reshaper:
    """Brings stored objects of one resource to the schema that it has since a revision."""

    def __init__(self, store: Store, versions: Mapping[str, "Version"], since: int) -> None:
        self._store = store
        self._versions = versions
        self.since = since
        """What is stored under this revision, or a later one, needs nothing."""
        self._unchanged: set[int] = set()
        self._reshaped: dict[int, Stored] = {}

    def reshape(self, stored: Stored) -> Stored:
        """The object itself where the schema leaves it alone."""
        if stored.revision in self._unchanged:
            return stored
        found = self._reshaped.get(stored.revision)
        if found is None:
            found = self._reshape(stored)
            if found is stored:
                self._unchanged.add(stored.revision)
            else:
                if len(self._reshaped) >= KEPT_MAX:
                    self._reshaped.clear()
                self._reshaped[stored.revision] = found
        return found

    def _reshape(self, stored: Stored) -> Stored:
        before = self._store.decoded(stored)
        after = shaped(self._versions, before)
        if after == before:
            return stored
        return Stored(stored.key, stored.revision, codec.encode(after))


def shaped(versions: Mapping[str, "Version"], obj: Object) -> Object:
    """The object pruned and defaulted by the version it is in, whichever is asked for."""
    version = versions.get(obj["apiVersion"].rpartition("/")[2])
    if version is None:
        return obj
    try:
        shaped, _ = version.shape.clean(codec.copy(obj))
    except ApiError:
        return obj
    version.shape.default(shaped)
    return shaped


def schemas(definition: Mapping[str, Any]) -> Any:
    """What of a CRD's spec decides the shape of its objects."""
    versions = {version["name"]: version.get("schema") for version in definition["versions"]}
    return versions, bool(definition.get("preserveUnknownFields"))
