"""Marks the jobs that placements take to members, so that nobody runs them on the hub."""

import logging
from collections.abc import Iterable

from fleetqueue.api.fleet import labels
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import Forbidden, NotFound
from fleetqueue.kube.resources import Object, key_of

logger = logging.getLogger(__name__)

MARK = {"metadata": {"annotations": {labels.PLACED: "true"}}}


async def mark(cluster: Cluster, jobs: Iterable[Object]) -> None:
    """For good: that a placement goes does not mean that its jobs shall run here."""
    for job in jobs:
        key = key_of(job)
        try:
            kind = await cluster.client.discovery.resource(job["apiVersion"], job["kind"])
            await cluster.patch(
                kind, key.name, MARK, key.namespace, field_manager=labels.PLACEMENT_MANAGER
            )
        except NotFound:
            continue
        except Forbidden as refusal:
            # The rights of a hub that runs nothing itself; the placement goes on.
            logger.warning(
                "cannot mark a job as placed",
                extra={"job": str(key), "kind": job["kind"], "error": str(refusal)},
            )
