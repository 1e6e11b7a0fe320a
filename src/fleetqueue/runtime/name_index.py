"""All names of a cluster, kept current one change at a time: what changed is all that costs."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias, TypeVar

from fleetqueue.api.meta import Key
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.runtime import hosts
from fleetqueue.runtime.hosts import Entry, Peer

EntryKey: TypeAlias = tuple[str, str, str]
"""The namespace and name of a Service, and which of its places: "" for its own address, the uid of
a pod, or the name and number of an endpoint that somebody wrote."""

K = TypeVar("K")
L = TypeVar("L")
V = TypeVar("V")
_SERVICE_LABEL = "kubernetes.io/service-name"


class NameIndex:
    """Tell it of pods, Services and EndpointSlices; it says which entries have changed."""

    def __init__(self) -> None:
        self.entries: dict[EntryKey, Entry] = {}
        self._changed: dict[EntryKey, None] = {}
        self._peers: dict[str, dict[str, Peer]] = {}
        self._services: dict[str, dict[str, Object]] = {}
        self._pieces: dict[Key, dict[str, Object]] = {}
        """The slices of each Service."""
        self._owners: dict[Key, Key] = {}
        """The Service of each slice."""
        self._of_service: dict[Key, dict[EntryKey, EntryKey]] = {}

    def set_pod(self, namespace: str, uid: str, peer: Peer | None) -> None:
        """None: no name leads to it any more."""
        if self._peers.get(namespace, {}).get(uid) == peer:
            return
        _set(self._peers, namespace, uid, peer)
        for name, service in self._services.get(namespace, {}).items():
            entry = hosts.pod_entry(service, peer) if peer is not None else None
            self._put((namespace, name, uid), entry)

    def set_service(self, key: Key, service: Object | None) -> None:
        old = self._services.get(key.namespace, {}).get(key.name)
        if old is not None and service is not None and old.get("spec") == service.get("spec"):
            return
        _set(self._services, key.namespace, key.name, service)
        self._replace(key, dict(self._entries_of(service)) if service is not None else {})

    def set_slice(self, key: Key, piece: Object | None) -> None:
        """One that belongs to a Service with a selector changes nothing: the pods say the same."""
        known = self._owners.pop(key, None)
        if known is not None:
            _set(self._pieces, known, key.name, None)
            self._refresh(known)
        name = ((piece or {}).get("metadata", {}).get("labels") or {}).get(_SERVICE_LABEL)
        if piece is not None and name:
            owner = self._owners[key] = Key(key.namespace, name)
            _set(self._pieces, owner, key.name, piece)
            self._refresh(owner)

    def take_changes(self) -> dict[EntryKey, Entry | None]:
        """What became of each entry that changed since this was last asked."""
        changed, self._changed = self._changed, {}
        return {key: self.entries.get(key) for key in changed}

    def services(self, namespace: str) -> Mapping[str, Object]:
        return self._services.get(namespace, {})

    def _refresh(self, key: Key) -> None:
        service = self._services.get(key.namespace, {}).get(key.name)
        if service is not None and not (service.get("spec") or {}).get("selector"):
            self._replace(key, dict(self._entries_of(service)))

    def _entries_of(self, service: Object) -> Iterable[tuple[EntryKey, Entry]]:
        key = key_of(service)
        own = hosts.service_entry(service)
        if own is not None:
            yield (key.namespace, key.name, ""), own
            return
        for uid, peer in self._peers.get(key.namespace, {}).items():
            entry = hosts.pod_entry(service, peer)
            if entry is not None:
                yield (key.namespace, key.name, uid), entry
        for name, piece in self._pieces.get(key, {}).items():
            for number, entry in enumerate(hosts.slice_entries(service, piece)):
                yield (key.namespace, key.name, f"{name}/{number}"), entry

    def _replace(self, key: Key, entries: Mapping[EntryKey, Entry]) -> None:
        for old in list(self._of_service.get(key, ())):
            if old not in entries:
                self._put(old, None)
        for new, entry in entries.items():
            self._put(new, entry)

    def _put(self, key: EntryKey, entry: Entry | None) -> None:
        if self.entries.get(key) == entry:
            return
        _set(self._of_service, Key(key[0], key[1]), key, None if entry is None else key)
        if entry is None:
            del self.entries[key]
        else:
            self.entries[key] = entry
        self._changed[key] = None


def _set(held: dict[K, dict[L, V]], key: K, name: L, value: V | None) -> None:
    """None: it goes, and what it was the last of goes with it."""
    among = held.setdefault(key, {})
    if value is None:
        among.pop(name, None)
    else:
        among[name] = value
    if not among:
        del held[key]
