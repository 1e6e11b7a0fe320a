"""Gives new clusters what all have from birth: made once, in a process that ends, for what this
leaves behind in memory is of no use to anybody.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from fleetqueue import app, kueue
from fleetqueue.app import ServeOptions
from fleetqueue.base import codec
from fleetqueue.embedded import newborn
from fleetqueue.embedded.newborn import Newborn
from fleetqueue.errors import FleetqueueError

logger = logging.getLogger(__name__)


def plant(options: Iterable[ServeOptions]) -> list[int]:
    """The processes that see to those which have never run; to be waited for."""
    new = sorted(filter(_is_new, options), key=_key)
    return [_fork(_plant_all, list(alike)) for _, alike in groupby(new, key=_key)]


def wait(pids: Iterable[int]) -> None:
    for pid in pids:
        os.waitpid(pid, 0)


def _plant_all(options: list[ServeOptions]) -> None:
    """All have the same roles. What is written to disk is waited for side by side."""
    made = asyncio.run(newborn.make(_roles(options[0])))
    wait([_fork(_plant, each, made) for each in options])


def _plant(options: ServeOptions, made: Newborn) -> None:
    try:
        app.plant(options, made)
    except (FleetqueueError, OSError) as error:
        # The cluster will meet the same, and say so.
        logger.info("%s could not be prepared: %s", options.data, error)


def _is_new(options: ServeOptions) -> bool:
    """Those that keep nothing have nothing to find at their start either."""
    keeps = options.durability != "memory"
    return options.live is not None and keeps and not (options.data / "state.db").exists()


def _key(options: ServeOptions) -> bytes:
    return codec.encode(_roles(options))


def _roles(options: ServeOptions) -> list[dict[str, Any]]:
    """What people may do, where there are queues."""
    if options.live is None or options.live.kueue is None:
        return []
    return list(kueue.cluster_roles())


def _fork(work: Callable[..., None], *arguments: Any) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work(*arguments)
        except Exception:
            # Clusters can do without.
            logger.exception("what clusters have from birth could not be made")
        finally:
            os._exit(0)
    return pid
