"""The page with the metrics, for those who may read it."""

from collections.abc import Awaitable, Callable

from fleetqueue.kube.delegated_access import DelegatedAccess
from fleetqueue.kube.page_server import TEXT, Page, Question

PATH = "/metrics"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class MetricsPage:
    """One page; everything else is not found."""

    def __init__(self, expose: Callable[[], Awaitable[bytes]], access: DelegatedAccess) -> None:
        self._expose = expose
        self._access = access

    async def answer(self, question: Question) -> Page:
        person = await self._access.who(question.headers, question.certificate)
        if person is None:
            return Page(b"Unauthorized\n", 401, TEXT)
        wanted = {"nonResourceAttributes": {"path": question.path, "verb": question.method.lower()}}
        is_allowed, _ = await self._access.may(person, wanted)
        if not is_allowed:
            return Page(f"Authorization denied for user {person.name}\n".encode(), 403, TEXT)
        if question.path != PATH:
            return Page(b"404 page not found\n", 404, TEXT)
        return Page(await self._expose(), 200, METRICS_TYPE)
