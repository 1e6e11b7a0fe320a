"""The runtime's side of the remote shell: runs in a pod what a peer of the same job asks for.

Who asks is known by its key; whom it may reach is decided here, with what the API says now.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.frame import Caches
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import remote_shell as wire
from fleetqueue.runtime.kinds import POD
from fleetqueue.runtime.pod_worker import PodWorker
from fleetqueue.runtime.processes import CannotStart, Process
from fleetqueue.runtime.remote_shell_access import Access
from fleetqueue.runtime.remote_shell_connection import Malformed, Peer, Wanted
from fleetqueue.runtime.remote_shell_peers import (
    Group,
    Unreachable,
    find_host,
    group_of,
    key_container,
    peers_of,
)

PATIENCE_SECONDS = 60.0
"""How long a pod that is about to run is waited for: launchers often start before their workers."""
HELLO_SECONDS_MAX = 10.0
_WAITING_MAX = 1024
"""A launcher connects to all its workers at once."""

Find = Callable[[str], PodWorker | None]
"""The worker of a pod that runs on this machine, by its uid."""


class RemoteShellServer:
    """Listens for all pods of this machine."""

    def __init__(self, cluster: Cluster, access: Access, find: Find) -> None:
        self._source = Caches(cluster)
        self._access = access
        self._find = find
        self._changed = asyncio.Event()
        self._sessions: set[asyncio.Task[None]] = set()
        cluster.informer(POD).listen(self._wake)

    def _wake(self, old: Object | None, new: Object | None) -> None:
        # Whoever waits looks again, and waits for the next one.
        self._changed.set()
        self._changed = asyncio.Event()

    def open(self) -> None:
        """From now on pods can connect; they are answered once it runs."""
        self._access.install()
        self._socket = _listen(self._access.socket)

    async def run(self) -> None:
        """Until it is cancelled; for a manager."""
        server = await asyncio.start_unix_server(
            self._accept, sock=self._socket, backlog=_WAITING_MAX
        )
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()
            for session in self._sessions:
                session.cancel()
            await asyncio.gather(*self._sessions, return_exceptions=True)
            self._access.socket.unlink(missing_ok=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = asyncio.create_task(self._serve(reader, writer), name="remote shell")
        self._sessions.add(session)
        session.add_done_callback(self._sessions.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        with contextlib.closing(writer), contextlib.suppress(ConnectionError):
            try:
                code = await self._answer(peer)
                await peer.send(wire.EXIT, str(code).encode())
            except (Unreachable, CannotStart) as problem:
                await peer.send(wire.PROBLEM, str(problem).encode())
            except (Malformed, TimeoutError):
                await peer.send(wire.PROBLEM, b"the request cannot be understood")

    async def _answer(self, peer: Peer) -> int:
        """The exit code; raises ConnectionError where the peer leaves before there is one."""
        async with asyncio.timeout(HELLO_SECONDS_MAX):
            wanted = await peer.hello()
        listening = asyncio.create_task(peer.listen())
        running = asyncio.create_task(self._run(peer, wanted))
        try:
            await asyncio.wait((listening, running), return_when=asyncio.FIRST_COMPLETED)
            return running.result() if running.done() else listening.result()
        finally:
            for task in (listening, running):
                task.cancel()
            await asyncio.gather(listening, running, return_exceptions=True)

    async def _run(self, peer: Peer, wanted: Wanted) -> int:
        worker, container, process = await self._target(wanted)
        argv = ["/bin/sh", "-c", wanted.command] if wanted.command else ["/bin/sh"]
        command = await worker.preparation.hook(worker.pod, container, argv, worker.sandbox)
        command = replace(command, tty=False, stdin=wanted.has_input)
        executed, streams = await process.execute(command)
        try:
            return await peer.converse(executed, streams, has_input=wanted.has_input)
        finally:
            streams.close()
            # Where the peer left, nobody wants what it began.
            executed.kill()

    async def _target(self, wanted: Wanted) -> tuple[PodWorker, Object, Process]:
        """Where the command shall run, once that runs itself."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while (found := self._running(wanted)) is None:
                    await self._changed.wait()
                return found
        except TimeoutError:
            text = f"connect to host {wanted.host}: Connection timed out: its pod does not run"
            raise Unreachable(text) from None

    def _running(self, wanted: Wanted) -> tuple[PodWorker, Object, Process] | None:
        pod = find_host(wanted.host, peers_of(self._group(wanted.key), self._source))
        worker, container = self._find(str(pod["metadata"]["uid"])), key_container(pod)
        if worker is None or container is None:
            return None
        for each in worker.workers:
            if each.name == container["name"] and each.process is not None:
                return worker, container, each.process
        return None

    def _group(self, key: str) -> Group:
        """The job whose pod was given the key and runs still."""
        uid = self._access.uid_of(key)
        worker = self._find(uid) if uid is not None else None
        group = group_of(worker.pod, self._source) if worker is not None else None
        if group is None:
            raise Unreachable("Permission denied: only a pod of the same job can be reached")
        return group


def _listen(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    with wire.short_name(str(path)) as name:
        listening.bind(name)
    listening.listen(_WAITING_MAX)
    # A container may run as another user; who asks is known by the key.
    path.chmod(0o666)
    return listening
