"""The seam to pods that this server has not: those of jobs that were sent to other clusters."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.request import Response

Object = dict[str, Any]
Answer = Callable[[], Awaitable[Response]]


class PodElsewhere(Protocol):
    """A pod that runs, or ran, in another cluster."""

    @property
    def pod(self) -> Object: ...

    async def connect(self, call: Call) -> Response:
        """Logs, exec, attach, port-forward; the call is allowed, and its form is checked."""


class PodsElsewhere(Protocol):
    """Whoever knows them."""

    async def find(self, call: Call) -> PodElsewhere | None:
        """The pod whose subresource is asked for; this server has none that runs here."""

    def shows(self, call: Call) -> bool:
        """Whether whoever asks for pods gets to see those too."""

    async def read(self, call: Call, here: Answer) -> Response:
        """The answer to a get, list or watch. `here`: what this server alone would say."""
