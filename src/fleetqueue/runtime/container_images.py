"""Gets the image of a container, and tells what a kubelet tells while it cannot be had."""

import asyncio
from collections.abc import Callable

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.pod_status import Waiting
from fleetqueue.runtime.preparation import Image, NotReady
from fleetqueue.runtime.surroundings import Surroundings

PULL_BACKOFF_SECONDS = (10.0, 300.0)
SHOWN_SECONDS = 1.0
"""How long a pull that failed is shown before the wait for the next one is."""
PULL_FAILED = "ErrImagePull"
_EVENTS = {"ErrImageNeverPull": "ErrImageNeverPull", "InvalidImageName": "InspectFailed"}

Show = Callable[[Waiting], None]


async def obtain(around: Surroundings, container: Object, show: Show) -> Image:
    """Waits until it is there."""
    reference = str(container.get("image") or "")
    first, cap = PULL_BACKOFF_SECONDS
    attempt = 0
    while True:
        try:
            image = await around.preparation.image(around.pod, container)
        except NotReady as missing:
            show(Waiting(missing.reason, missing.message))
            wait = min(first * 2**attempt, cap)
            if missing.reason == PULL_FAILED:
                await _back_off(around, reference, missing.message, show)
                wait -= SHOWN_SECONDS
            else:
                reason = _EVENTS.get(missing.reason, "Failed")
                around.note("Warning", reason, missing.message)
                around.note("Warning", "Failed", f"Error: {missing.reason}")
            await asyncio.sleep(wait)
            attempt += 1
        else:
            text = f'Container image "{reference}" already present on machine'
            around.note("Normal", "Pulled", text)
            return image


async def _back_off(around: Surroundings, reference: str, why: str, show: Show) -> None:
    around.note("Normal", "Pulling", f'Pulling image "{reference}"')
    around.note("Warning", "Failed", f'Failed to pull image "{reference}": {why}')
    around.note("Warning", "Failed", f"Error: {PULL_FAILED}")
    await asyncio.sleep(SHOWN_SECONDS)
    text = f'Back-off pulling image "{reference}"'
    show(Waiting("ImagePullBackOff", f"{text}: {PULL_FAILED}: {why}"))
    around.note("Normal", "BackOff", text)
    around.note("Warning", "Failed", "Error: ImagePullBackOff")
