"""A watch of pods that also tells of those on workers: they are asked again and again, for as long
as somebody waits for a pod to appear.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from fleetqueue.apiserver.request import Frame, Frames, Response
from fleetqueue.base import codec
from fleetqueue.kube.resources import Object, uid_of

POLL_SECONDS = 0.5

Select = Callable[[], Awaitable[Sequence[Object]]]


def watched(answer: Response, select: Select) -> Response:
    if answer.frames is None:
        return answer
    answer.frames = _merged(answer.frames, select)
    return answer


def differences(known: dict[str, Object], pods: Sequence[Object]) -> list[Frame]:
    """The events between two looks; `known` is brought up to the second."""
    found = {uid_of(pod): pod for pod in pods}
    events = [("DELETED", pod) for uid, pod in known.items() if uid not in found]
    for uid, pod in found.items():
        if known.get(uid) != pod:
            events.append(("MODIFIED" if uid in known else "ADDED", pod))
    known.clear()
    known.update(found)
    return [_frame(type, pod) for type, pod in events]


def _frame(type: str, pod: Object) -> Frame:
    line = codec.encode({"type": type, "object": pod}) + b"\n"
    return Frame(type, line, lambda: pod)


async def _merged(here: Frames, select: Select) -> AsyncGenerator[list[Frame], None]:
    known: dict[str, Object] = {}
    waiting: asyncio.Future[list[Frame]] | None = None
    try:
        while True:
            if events := differences(known, await select()):
                yield events
            waiting = waiting or asyncio.ensure_future(here.__anext__())
            await asyncio.wait((waiting,), timeout=POLL_SECONDS)
            if not waiting.done():
                continue
            done, waiting = waiting, None
            try:
                yield done.result()
            except StopAsyncIteration:
                return
    finally:
        if waiting is not None:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        await here.aclose()
