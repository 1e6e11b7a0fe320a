"""Serves mutating, validating and conversion webhooks to a foreign API server, over HTTPS.

Handlers are plain functions, registered by path; this module knows no kind.
"""

import asyncio
import base64
import inspect
import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Protocol

import msgspec

from fleetqueue.base import codec
from fleetqueue.kube import reviews
from fleetqueue.kube.bind_hosts import bind_host
from fleetqueue.kube.certificates import Bundle
from fleetqueue.kube.door_thread import DoorThread
from fleetqueue.kube.resources import Object
from fleetqueue.kube.review_door import ReviewDoor
from fleetqueue.kube.reviews import BadReview, Conversion, Review, Verdict
from fleetqueue.kube.tls import ORDINARY, ServerRules, load_pair, server_context
from fleetqueue.kube.webhook_certificates import Certificates

BODY_BYTES_MAX = 7 * 1024 * 1024
"""As large as two objects of the largest size, and their frame."""
log = logging.getLogger(__name__)

AdmissionHandler = Callable[[Review], Verdict | Awaitable[Verdict]]
ConversionHandler = Callable[[Object, str], Object]
"""An object and the apiVersion it shall have; gives a new object."""
_Answer = Callable[[Any], Awaitable[Object]]


class Caches(Protocol):
    """What handlers read: a `Cluster`."""

    @property
    def has_synced(self) -> bool: ...

    async def wait_synced(self) -> None: ...


class Webhooks:
    """The handlers by path, and how a body becomes an answer. Knows no HTTP."""

    def __init__(self, caches: Caches | None = None) -> None:
        """`caches` are waited for before anything is admitted: what comes while we start must not
        be judged by what is not known yet.
        """
        self.home: asyncio.AbstractEventLoop | None = None
        """Where the caches are kept, if handlers run elsewhere."""
        self._answers: dict[str, _Answer] = {}
        self._caches = caches

    def admit(self, path: str, handler: AdmissionHandler) -> None:
        """A mutating or a validating webhook; a verdict with an object becomes a JSON patch."""

        async def answer(body: Any) -> Object:
            if self._caches is not None and not self._caches.has_synced:
                await self._wait_synced(self._caches)
            return await _admit(reviews.read_admission(body), handler)

        self._add(path, answer)

    def convert(self, path: str, handler: ConversionHandler) -> None:
        async def answer(body: Any) -> Object:
            return _convert(reviews.read_conversion(body), handler)

        self._add(path, answer)

    async def answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        """An HTTP status and a body."""
        found = self._answers.get(path)
        if found is None:
            return HTTPStatus.NOT_FOUND, b"no webhook is served here\n"
        try:
            return HTTPStatus.OK, codec.encode(await found(codec.decode(body)))
        except (BadReview, msgspec.DecodeError, UnicodeDecodeError) as error:
            return HTTPStatus.BAD_REQUEST, f"{error}\n".encode()

    @property
    def paths(self) -> list[str]:
        return sorted(self._answers)

    async def _wait_synced(self, caches: Caches) -> None:
        if self.home is None:
            await caches.wait_synced()
        else:
            waiting = asyncio.run_coroutine_threadsafe(caches.wait_synced(), self.home)
            await asyncio.wrap_future(waiting)

    def _add(self, path: str, answer: _Answer) -> None:
        assert path.startswith("/"), path
        assert path not in self._answers, path
        self._answers[path] = answer


class WebhookServer:
    """The HTTPS face of the webhooks; its certificate is replaced while it runs."""

    def __init__(
        self,
        webhooks: Webhooks,
        certificates: Certificates,
        *,
        host: str = "0.0.0.0",
        port: int = 9443,
        tls: ServerRules = ORDINARY,
    ) -> None:
        """Handlers run on a thread of their own: of what others change meanwhile they may read
        caches, and nothing else.
        """
        self.port = port
        self._webhooks = webhooks
        self._certificates = certificates
        self._host = bind_host(host)
        self._context = server_context(tls)
        self._listening = asyncio.Event()

    async def run(self) -> None:
        """Serves until it is cancelled; for `Manager.add_task`."""
        self._use(await self._certificates.prepare())
        door = ReviewDoor(self._webhooks.answer, self._context, BODY_BYTES_MAX)
        self._webhooks.home = asyncio.get_running_loop()
        thread = DoorThread(door, self._host, self.port)
        await thread.open()
        try:
            self.port = door.port
            self._listening.set()
            await self._certificates.publish()
            await self._certificates.keep(self._use)
        finally:
            await thread.close()

    @property
    def is_listening(self) -> bool:
        return self._listening.is_set()

    async def wait_listening(self) -> None:
        await self._listening.wait()

    def _use(self, bundle: Bundle) -> None:
        """New handshakes get this certificate; connections that are open keep theirs."""
        load_pair(self._context, bundle.serving.certificate, bundle.serving.key)


async def _admit(review: Review, handler: AdmissionHandler) -> Object:
    try:
        found = handler(review)
        verdict = await found if inspect.isawaitable(found) else found
    except Exception as error:
        log.exception("a webhook failed: kind=%s operation=%s", review.kind, review.operation)
        verdict = reviews.refused(
            f"the webhook failed on this {review.kind}: {_first_line(error)}",
            reason="InternalError",
            code=500,
        )
    answer, patch = reviews.write_admission(review, verdict)
    if patch:
        answer["response"]["patchType"] = "JSONPatch"
        answer["response"]["patch"] = base64.b64encode(codec.encode(patch)).decode()
    return answer


def _convert(conversion: Conversion, handler: ConversionHandler) -> Object:
    try:
        converted = [handler(obj, conversion.api_version) for obj in conversion.objects]
    except Exception as error:
        log.exception("a conversion failed: version=%s", conversion.api_version)
        failure = f"conversion to {conversion.api_version} failed: {_first_line(error)}"
        return reviews.write_conversion(conversion, None, failure)
    return reviews.write_conversion(conversion, converted)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
