"""A handler that answers as scripted, a tiny server that remembers, and virtual time for all."""

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from fleetqueue.base.clock import LoopClock
from fleetqueue.base.virtual_time import VirtualTimeLoop
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import Unreachable
from fleetqueue.kube.transport import InProcessTransport, LocalRequest

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def pytest_asyncio_loop_factories(config: Any, item: Any) -> dict[str, Any]:
    return {"virtual": VirtualTimeLoop}


@dataclass
class Response:
    status: int = 200
    object: Any = None
    body: bytes | None = None
    frames: Any = None
    chunks: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    decode: Callable[[], Any] | None = None

    def encoded(self) -> bytes:
        return self.body or b""


@dataclass
class Frame:
    type: str
    object: Any

    @property
    def decode(self) -> Callable[[], Any]:
        return lambda: self.object


def refusal(code: int, reason: str, message: str = "no", **details: Any) -> Response:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message}
    return Response(code, {**status, "reason": reason, "code": code, "details": details})


class Stream:
    """A watch whose events a test writes."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Any] = asyncio.Queue()
        self.is_closed = False

    def send(self, type: str, obj: Any) -> None:
        self._queue.put_nowait(Frame(type, obj))

    def bookmark(self, revision: str, *, ends_initial: bool = False) -> None:
        metadata: dict[str, Any] = {"resourceVersion": revision}
        if ends_initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        self.send("BOOKMARK", {"metadata": metadata})

    def end(self) -> None:
        self._queue.put_nowait(None)

    def break_off(self) -> None:
        self._queue.put_nowait(Unreachable("the connection was reset"))

    async def frames(self) -> AsyncIterator[list[Frame]]:
        try:
            while True:
                found = await self._queue.get()
                if found is None:
                    return
                if isinstance(found, Exception):
                    raise found
                yield [found]
        finally:
            self.is_closed = True


class Script:
    """Answers calls in the order in which a test lists them, and remembers the calls."""

    def __init__(self) -> None:
        self.calls: list[LocalRequest] = []
        self._answers: deque[Any] = deque()

    def then(self, *answers: Any) -> None:
        self._answers.extend(answers)

    async def handle(self, request: LocalRequest) -> Any:
        self.calls.append(request)
        answer = self._answers.popleft() if self._answers else refusal(404, "NotFound")
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Stream):
            return Response(frames=answer.frames())
        return answer if isinstance(answer, Response) else Response(object=answer)

    @property
    def last(self) -> LocalRequest:
        return self.calls[-1]


class Memory:
    """Remembers objects by path and tells watchers; just enough for informers and controllers."""

    def __init__(self) -> None:
        self.revision = 100
        self.objects: dict[str, dict[str, Any]] = {}
        self.calls: list[LocalRequest] = []
        self.failures: deque[Any] = deque()
        self._history: list[tuple[int, str, str, Any]] = []
        self._watchers: list[tuple[str, asyncio.Queue[Any]]] = []
        self._uids = iter(range(1, 10_000))

    @property
    def writes(self) -> list[LocalRequest]:
        return [call for call in self.calls if call.method != "GET"]

    async def handle(self, request: LocalRequest) -> Any:
        self.calls.append(request)
        await asyncio.sleep(0)
        if self.failures and request.method != "GET":
            failure = self.failures.popleft()
            if failure is not None:
                return failure
        path = request.path.removesuffix("/status")
        if request.query.get("watch") == ["true"]:
            return self._watch(path, request)
        if request.method == "POST":
            return self._create(path, request.object)
        if path in self.objects:
            return self._one(path, request)
        if request.method == "GET" and not self._is_item(path):
            return self._list(path)
        if request.method == "PATCH" and "apply" in request.headers["content-type"]:
            return self._create(path.rpartition("/")[0], request.object)
        return refusal(404, "NotFound", f"{path} not found")

    def put(self, path: str, obj: Any, type: str = "MODIFIED") -> Any:
        self.revision += 1
        held = self.objects.get(path, {}).get("metadata", {})
        metadata = {**obj.get("metadata", {}), "resourceVersion": str(self.revision)}
        metadata["uid"] = held.get("uid") or f"uid-{next(self._uids)}"
        self.objects[path] = {**obj, "metadata": metadata}
        self._tell(type if held else "ADDED", path, self.objects[path])
        return self.objects[path]

    def remove(self, path: str) -> Any:
        self.revision += 1
        gone = self.objects.pop(path)
        metadata = {**gone["metadata"], "resourceVersion": str(self.revision)}
        self._tell("DELETED", path, {**gone, "metadata": metadata})
        return gone

    def _is_item(self, path: str) -> bool:
        parts = path.strip("/").split("/")
        fixed = 3 if parts[0] == "apis" else 2
        rest = parts[fixed:]
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            rest = rest[2:]
        return len(rest) > 1

    def _create(self, collection: str, obj: Any) -> Any:
        path = f"{collection}/{obj['metadata']['name']}"
        if path in self.objects:
            return refusal(409, "AlreadyExists", f"{path} already exists")
        return Response(201, self.put(path, obj))

    def _one(self, path: str, request: LocalRequest) -> Any:
        held = self.objects[path]
        if request.method == "GET":
            return Response(object=held)
        if request.method == "DELETE":
            uid = self.remove(path)["metadata"]["uid"]
            return Response(object={"kind": "Status", "status": "Success", "details": {"uid": uid}})
        wanted = (request.object.get("metadata") or {}).get("resourceVersion")
        if wanted and wanted != held["metadata"]["resourceVersion"]:
            return refusal(409, "Conflict", "the object has been modified")
        return Response(object=self.put(path, _merged(held, request.object)))

    def _list(self, collection: str) -> Any:
        items = [obj for path, obj in self.objects.items() if _belongs(path, collection)]
        meta = {"resourceVersion": str(self.revision)}
        return Response(object={"kind": "List", "metadata": meta, "items": items})

    def _watch(self, collection: str, request: LocalRequest) -> Any:
        if request.query.get("sendInitialEvents"):
            return refusal(422, "Invalid", "sendInitialEvents is forbidden for watch")
        since = int(request.query["resourceVersion"][0])
        queue: asyncio.Queue[Any] = asyncio.Queue()
        for revision, type, path, obj in self._history:
            if revision > since and _belongs(path, collection):
                queue.put_nowait(Frame(type, obj))
        self._watchers.append((collection, queue))
        return Response(frames=self._frames(collection, queue))

    async def _frames(self, collection: str, queue: asyncio.Queue[Any]) -> Any:
        try:
            while True:
                try:
                    async with asyncio.timeout(60):
                        yield [await queue.get()]
                except TimeoutError:
                    meta = {"resourceVersion": str(self.revision)}
                    yield [Frame("BOOKMARK", {"metadata": meta})]
        finally:
            self._watchers.remove((collection, queue))

    def _tell(self, type: str, path: str, obj: Any) -> None:
        self._history.append((self.revision, type, path, obj))
        for collection, queue in self._watchers:
            if _belongs(path, collection):
                queue.put_nowait(Frame(type, obj))


def _belongs(path: str, collection: str) -> bool:
    """Whether an object's path is in a collection of one or of all namespaces."""
    parent, _, _ = path.rpartition("/")
    if parent == collection:
        return True
    head, _, tail = parent.partition("/namespaces/")
    return f"{head}/{tail.partition('/')[2]}" == collection


def _merged(old: Any, patch: Any) -> Any:
    if not isinstance(patch, dict) or not isinstance(old, dict):
        return patch
    merged = dict(old)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(old.get(name), value)
    return merged


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def new_stream() -> type[Stream]:
    return Stream


@pytest.fixture
def refuse() -> Callable[..., Response]:
    return refusal


@pytest.fixture
def respond() -> type[Response]:
    return Response


@pytest.fixture
def random() -> Random:
    return Random(7)


@pytest.fixture
async def clock() -> LoopClock:
    return LoopClock(asyncio.get_running_loop(), EPOCH)


@pytest.fixture
def client(script: Script, random: Random) -> Client:
    return Client(InProcessTransport(script.handle), random=random, field_manager="tests")


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
def memory_client(memory: Memory, random: Random) -> Client:
    return Client(InProcessTransport(memory.handle), random=random, field_manager="tests")


@pytest.fixture
async def cluster(memory_client: Client, clock: LoopClock, random: Random) -> Cluster:
    return Cluster(memory_client, clock=clock, random=random, component="tests")


@pytest.fixture
def to_json() -> Callable[[Any], bytes]:
    return lambda value: json.dumps(value).encode()


@pytest.fixture
def by_name() -> Callable[[Any], dict[str, Any]]:
    """Groups objects by their names; for looking things up in answers."""

    def group(objects: Any) -> dict[str, Any]:
        found: dict[str, Any] = defaultdict(dict)
        for obj in objects:
            found[obj["metadata"]["name"]] = obj
        return found

    return group
