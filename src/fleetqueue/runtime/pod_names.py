"""Keeps the hosts files of the pods on this machine: one for all that see the same names, written
once for changes that come together.
"""

import asyncio
import hashlib
import os
import shutil
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.runtime import hosts
from fleetqueue.runtime.hosts import View
from fleetqueue.runtime.hosts_files import HostsFile, Write
from fleetqueue.runtime.kinds import ENDPOINT_SLICE, POD, SERVICE
from fleetqueue.runtime.name_index import NameIndex
from fleetqueue.runtime.pod_facts import is_terminal


@dataclass(slots=True)
class _Open:
    """A file that pods look into."""

    view: View
    file: HostsFile
    hostnames: dict[str, str] = field(default_factory=dict)
    """Of each pod, by uid: two that have the same cannot share a file."""


class PodNames:
    """Nothing is done while no pod needs a file. It is told of what changes in the cluster."""

    def __init__(
        self,
        directory: Path,
        existing: Callable[[Resource], Iterable[Object]],
        write: Write = os.pwrite,
    ) -> None:
        """`directory` is where the files lie, `existing` gives all objects of a kind."""
        self._existing = existing
        self._directory = directory
        self._write = write
        self._index: NameIndex | None = None
        self._views: dict[View, _Open] = {}
        self._view_of: dict[str, View] = {}
        self._addresses: dict[str, str] = {}
        """Of the pods of this machine, whose statuses may not show them yet."""
        self._is_due = False
        # Nobody reads what an earlier runtime wrote: its processes are gone.
        shutil.rmtree(directory, ignore_errors=True)

    def open(self, pod: Object, address: str) -> Path:
        """The hosts file of a pod that has this address, with all that is known by now."""
        uid = str(pod["metadata"]["uid"])
        if uid not in self._view_of:
            index = self._index or self._build()
            self._flush()
            self._join(index, pod, uid, address)
            self._addresses[uid] = address
            self._pod_seen(index, pod)
        self._flush()
        return self._views[self._view_of[uid]].file.path

    def close(self, pod: Object) -> None:
        uid = str(pod["metadata"]["uid"])
        view = self._view_of.pop(uid, None)
        self._addresses.pop(uid, None)
        if view is None:
            return
        opened = self._views[view]
        del opened.hostnames[uid]
        if opened.hostnames:
            opened.file.update({("own", uid): None})
            return
        opened.file.remove()
        del self._views[view]
        if not self._views:
            self._index = None

    # What changes

    def _build(self) -> NameIndex:
        index = self._index = NameIndex()
        for service in self._existing(SERVICE):
            index.set_service(key_of(service), service)
        for piece in self._existing(ENDPOINT_SLICE):
            index.set_slice(key_of(piece), piece)
        for pod in self._existing(POD):
            self._pod_seen(index, pod)
        index.take_changes()
        return index

    def _pod_seen(self, index: NameIndex, pod: Object) -> None:
        uid = str(pod["metadata"]["uid"])
        peer = hosts.peer_of(pod, self._addresses.get(uid, ""))
        index.set_pod(pod["metadata"]["namespace"], uid, peer)

    def pod_changed(self, old: Object | None, new: Object | None) -> None:
        if self._index is None:
            return
        for pod in (old, new):
            if pod is not None and (
                new is None or pod["metadata"]["uid"] != new["metadata"]["uid"]
            ):
                metadata = pod["metadata"]
                self._index.set_pod(metadata["namespace"], str(metadata["uid"]), None)
        if new is not None:
            self._pod_seen(self._index, new)
            self._forget_ended(new)
        self._flush_soon()

    def _forget_ended(self, pod: Object) -> None:
        """Nothing runs in it that could ask for its own name, and others must not find it."""
        view = self._view_of.get(str(pod["metadata"]["uid"]))
        if view is not None and is_terminal(pod):
            self._views[view].file.update({("own", pod["metadata"]["uid"]): None})

    def service_changed(self, old: Object | None, new: Object | None) -> None:
        known = new or old
        if self._index is not None and known is not None:
            self._index.set_service(key_of(known), new)
            self._flush_soon()

    def slice_changed(self, old: Object | None, new: Object | None) -> None:
        known = new or old
        if self._index is not None and known is not None:
            self._index.set_slice(key_of(known), new)
            self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._is_due = False
        changes = self._index.take_changes() if self._index is not None else {}
        if not changes:
            return
        for view, opened in self._views.items():
            opened.file.update(
                {
                    key: hosts.entry_line(entry, view) if entry is not None else None
                    for key, entry in changes.items()
                }
            )

    # Who shares a file

    def _join(self, index: NameIndex, pod: Object, uid: str, address: str) -> None:
        hostname, view = hosts.hostname_of(pod), hosts.view_of(pod)
        shared = self._views.get(view)
        taken = shared.hostnames.values() if shared is not None else ()
        services = index.services(view.namespace)
        if hostname in taken or means_another(hostname, pod, services) or waits(pod, services):
            view = hosts.view_of(pod, uid)
        self._view_of[uid] = view
        # Before the lines of Services: a lookup of the host name must find the whole one with it.
        lines: dict[Hashable, str | None] = {("own", uid): hosts.own_line(pod, address)}
        if view not in self._views:
            self._views[view] = self._open(view)
            lines |= {key: hosts.entry_line(entry, view) for key, entry in index.entries.items()}
        self._views[view].hostnames[uid] = hostname
        self._views[view].file.update(lines)

    def _open(self, view: View) -> _Open:
        digest = hashlib.sha256(repr(view).encode()).hexdigest()[:16]
        file = HostsFile(self._directory / digest / "hosts", hosts.header_of(view), self._write)
        return _Open(view, file)


def means_another(hostname: str, pod: Object, services: Mapping[str, Object]) -> bool:
    """Whether others in the namespace find somebody else under a pod's host name."""
    service = services.get(hostname)
    if service is None:
        return False
    selector = (service.get("spec") or {}).get("selector") or {}
    labels = pod["metadata"].get("labels") or {}
    return not (hosts.is_headless(service) and selector and selector.items() <= labels.items())


def waits(pod: Object, services: Mapping[str, Object]) -> bool:
    """Whether a pod knows its whole name before others may find it by that."""
    spec = pod.get("spec") or {}
    service = services.get(spec.get("subdomain") or "") or {}
    publishes = (service.get("spec") or {}).get("publishNotReadyAddresses")
    is_probed = any(each.get("readinessProbe") for each in spec.get("containers") or ())
    return bool(hosts.domain_of(pod)) and is_probed and not publishes
