"""Brings the status of a workload to the API server, and does not give up in doubt: whether it was
written decides whether its quota is taken.
"""

import asyncio
import logging
from typing import Any

from fleetqueue.admission import kinds
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.base.backoff import Backoff
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import Conflict, KubeError, NotFound, Refused, ServerError
from fleetqueue.kube.resources import key_of, uid_of, version_of

Json = dict[str, Any]
AGAIN = Backoff(0.1, 5.0, jitter=0.2)
WATCH_SECONDS_MAX = 2.0
"""So long the watch may take to bring what somebody else wrote, before the server is asked."""
REFUSED_SECONDS = 1.0
"""What the server does not want is not tried again at once."""
log = logging.getLogger(__name__)


async def deliver(cluster: Cluster, made: Json) -> bool:
    """Whether the server has it. Only the state that `made` was made of is overwritten: what
    somebody else wrote meanwhile stays, and the cache knows it when this returns.

    The write is repeated until there is an answer. One that is still on its way cannot be accepted
    after that: it names a state that is gone, or the answer was no.
    """
    body = status.admission_patch(made)
    tries = 0
    while True:
        try:
            await cluster.apply(
                body, force=True, subresource="status", field_manager=status.MANAGER
            )
        except Conflict:
            return await _is_there(cluster, made)
        except NotFound:
            return _is_gone(cluster, made)
        except KubeError as error:
            if _is_answer(error):
                name = made["metadata"]["name"]
                log.info("a workload was not written: name=%s: %s", name, error)
                await asyncio.sleep(REFUSED_SECONDS)
                return False
            await asyncio.sleep(AGAIN.delay(tries, cluster.random))
            tries += 1
        else:
            return True


async def _is_there(cluster: Cluster, made: Json) -> bool:
    """Somebody wrote it, and that may have been us, when the answer was lost."""
    key, tries = key_of(made), 0
    workloads = cluster.informer(kinds.WORKLOAD)
    if await workloads.wait_changed(key, version_of(made), WATCH_SECONDS_MAX):
        return _is_same(workloads.store.get(key), made)
    while True:
        try:
            found = await cluster.client.get(kinds.WORKLOAD, key.name, key.namespace)
        except NotFound:
            return _is_gone(cluster, made)
        except KubeError:
            await asyncio.sleep(AGAIN.delay(tries, cluster.random))
            tries += 1
        else:
            cluster.accept(found)
            return _is_same(found, made)


def _is_gone(cluster: Cluster, made: Json) -> bool:
    """Who asks the cache must not find it there, and try the same at once."""
    cluster.informer(kinds.WORKLOAD).accept_deleted(key_of(made), uid_of(made))
    return False


def _is_same(found: Json | None, made: Json) -> bool:
    if found is None or found["metadata"]["uid"] != made["metadata"]["uid"]:
        return False
    return bool(found.get("status") == made["status"])


def _is_answer(error: KubeError) -> bool:
    return isinstance(error, Refused) and not isinstance(error, ServerError)
