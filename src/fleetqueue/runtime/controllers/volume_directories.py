"""Removes the directory of a local volume before the volume itself is gone, so that the next claim
of the name starts empty.
"""

import asyncio
import os.path
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import VOLUME
from fleetqueue.runtime.ownership import without_finalizer

FINALIZER = "fleetqueue.io/local-directory"


async def remove_tree(path: Path) -> None:
    """Beside the loop, since a directory may be large; what is gone already is fine."""
    await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)


class VolumeDirectories(Controller[Any]):
    """Woken by volumes; touches nothing outside of `root`."""

    kind = VOLUME

    def __init__(
        self,
        cluster: Cluster,
        root: Path,
        remove: Callable[[Path], Awaitable[None]] = remove_tree,
    ) -> None:
        self._cluster = cluster
        self._root = Path(os.path.normpath(root))
        self._remove = remove

    async def reconcile(self, volume: Object, /) -> Result:
        metadata = volume["metadata"]
        if not is_deleting(volume) or FINALIZER not in (metadata.get("finalizers") or ()):
            return DONE
        path = _path(volume)
        if self._root in path.parents:
            await self._remove(path)
        await self._cluster.patch(
            VOLUME, metadata["name"], without_finalizer(FINALIZER), type=PatchType.STRATEGIC
        )
        return DONE


def _path(volume: Object) -> Path:
    """Without `..`, so that it can be told what is below the root."""
    return Path(os.path.normpath((volume["spec"].get("hostPath") or {}).get("path") or "/"))
