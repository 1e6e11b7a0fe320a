"""Lets a Service's address lead to its pods: a TCP proxy that takes them in turn."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from fleetqueue.api.endpoint_slices import port_numbers
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.listening import Place, listens_everywhere, one_listens

_CHUNK = 64 * 1024
_CONNECT_SECONDS_MAX = 5.0
_LOOK_SECONDS, _LOOK_SECONDS_MAX = 0.05, 1.0

log = logging.getLogger(__name__)


class ServiceProxy:
    """Listens where it is told, and connects whoever comes to one of the places behind.

    Pods share this machine's ports. A program that listens on all addresses could not begin where
    we have its port already, so it goes first; and a Service's address leads to it by itself then.
    """

    def __init__(
        self, place_of: Callable[[str, int], Place] = lambda address, port: (address, port)
    ) -> None:
        self._place_of = place_of
        self._servers: dict[Place, asyncio.Server] = {}
        self._waiting: dict[Place, asyncio.Task[None]] = {}
        """For a pod that may take the port at all addresses."""
        self._backends: dict[Place, list[Place]] = {}
        self._turns: dict[Place, int] = {}
        self._failed: dict[Place, str] = {}
        self._talking: set[asyncio.Task[None]] = set()

    @property
    def failed(self) -> Mapping[Place, str]:
        """Where it could not listen, and why."""
        return self._failed

    async def update(self, wanted: Mapping[Place, Sequence[Place]]) -> None:
        """Opens and closes listeners; connections that are open stay. Where nothing is behind a
        place, nobody listens: whoever comes is refused.
        """
        self._backends = {place: list(behind) for place, behind in wanted.items() if behind}
        for place in [each for each in self._servers if each not in self._backends]:
            self._servers.pop(place).close()
            self._turns.pop(place, None)
        for place in [each for each in self._waiting if each not in self._backends]:
            self._waiting.pop(place).cancel()
        for place in self._backends:
            if place in self._servers or place in self._waiting or await self._open(place):
                continue
            task = asyncio.get_running_loop().create_task(self._open_later(place))
            self._waiting[place] = task

    async def close(self) -> None:
        await self.update({})
        for task in list(self._talking):
            task.cancel()
        await asyncio.gather(*self._talking, return_exceptions=True)

    async def _open(self, place: Place) -> bool:
        """Whether it is clear who listens there: we do, or a pod that has the port everywhere."""
        behind = (self._place_of(*each) for each in self._backends.get(place, ()))
        same_port = [each for each in behind if each[1] == place[1]]
        if same_port and not one_listens(same_port):
            return False
        problem = await self._listen(place)
        if problem is None or (same_port and listens_everywhere(place[1])):
            self._failed.pop(place, None)
        elif place not in self._failed:
            log.warning("cannot serve a Service's address", extra={"place": place})
            self._failed[place] = str(problem)
        return True

    async def _open_later(self, place: Place) -> None:
        """Until then whoever comes is refused, as by a pod that does not listen yet."""
        seconds = _LOOK_SECONDS
        while not await self._open(place):
            await asyncio.sleep(seconds)
            seconds = min(2 * seconds, _LOOK_SECONDS_MAX)
        self._waiting.pop(place, None)

    async def _listen(self, place: Place) -> OSError | None:
        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.get_running_loop().create_task(self._serve(place, reader, writer))
            self._talking.add(task)
            task.add_done_callback(self._talking.discard)

        try:
            self._servers[place] = await asyncio.start_server(connected, *place)
        except OSError as problem:
            return problem
        return None

    async def _serve(
        self, place: Place, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.closing(writer):
            behind = await self._connect(place)
            if behind is None:
                # As a Service without endpoints: the connection is refused, here by a reset.
                writer.transport.abort()
                return
            far_reader, far_writer = behind
            with contextlib.closing(far_writer):
                await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))

    async def _connect(
        self, place: Place
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """The next one in turn; one that does not answer is passed over."""
        behind = self._backends.get(place, [])
        start = self._turns.get(place, 0)
        for step in range(len(behind)):
            chosen = behind[(start + step) % len(behind)]
            self._turns[place] = start + step + 1
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(_CONNECT_SECONDS_MAX):
                    return await asyncio.open_connection(*self._place_of(*chosen))
        return None


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the end of what comes; then the other side hears of the end, too."""
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


def plan_listeners(
    services: Iterable[Object], slices: Iterable[Object], nodes: Sequence[str] = ()
) -> dict[Place, list[Place]]:
    """Where to listen for which places: the Services' own addresses, and node ports on `nodes`."""
    by_service: dict[tuple[str, str], list[Object]] = {}
    for each in slices:
        metadata = each["metadata"]
        name = (metadata.get("labels") or {}).get("kubernetes.io/service-name", "")
        by_service.setdefault((metadata["namespace"], name), []).append(each)
    wanted: dict[Place, list[Place]] = {}
    for service in services:
        metadata, spec = service["metadata"], service.get("spec") or {}
        if not (spec.get("clusterIP") or "").startswith("127."):
            continue
        own = by_service.get((metadata["namespace"], metadata["name"]), [])
        for port in spec.get("ports") or ():
            if (port.get("protocol") or "TCP") != "TCP":
                continue
            behind = _behind(own, port.get("name") or "")
            wanted[spec["clusterIP"], port["port"]] = behind
            if port.get("nodePort"):
                wanted.update({(node, port["nodePort"]): behind for node in nodes})
    return wanted


def _behind(slices: Sequence[Object], port_name: str) -> list[Place]:
    """Ready endpoints of a port; a slice has the numbers of its own pods for a named port."""
    found: list[Place] = []
    for each in slices:
        numbers = port_numbers(each, port_name)
        ready = [
            address
            for endpoint in each.get("endpoints") or ()
            if (endpoint.get("conditions") or {}).get("ready") is not False
            for address in (endpoint.get("addresses") or ())[:1]
        ]
        found += [(address, number) for address in ready for number in numbers]
    return sorted(set(found))
