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
from fleetqueue.kube.resources import key_of

Json = dict[str, Any]
AGAIN = Backoff(0.1, 5.0, jitter=0.2)
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
        except KubeError as error:
            if _is_answer(error):
                name = made["metadata"]["name"]
                log.info("a workload was not written: name=%s: %s", name, error)
                return False
            await asyncio.sleep(AGAIN.delay(tries, cluster.random))
            tries += 1
        else:
            return True


async def _is_there(cluster: Cluster, made: Json) -> bool:
    """Somebody wrote it, and that may have been us, when the answer was lost."""
    key, tries = key_of(made), 0
    while True:
        try:
            found = await cluster.client.get(kinds.WORKLOAD, key.name, key.namespace)
        except NotFound:
            return False
        except KubeError:
            await asyncio.sleep(AGAIN.delay(tries, cluster.random))
            tries += 1
        else:
            cluster.accept(found)
            is_same = found["metadata"]["uid"] == made["metadata"]["uid"]
            return bool(is_same and found.get("status") == made["status"])


def _is_answer(error: KubeError) -> bool:
    return isinstance(error, Refused) and not isinstance(error, ServerError)
