"""Approval requests of update runs: made where a stage waits for people, marked once they are
approved, and taken away with their run.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.meta import Key
from fleetqueue.api.times import parse_time
from fleetqueue.fleet.decide import conditions, snapshots
from fleetqueue.fleet.decide.update_runs import marks
from fleetqueue.fleet.hub.update_run_metrics import RunMetrics
from fleetqueue.fleet.kinds import Scope
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object, key_of, uid_of

RUN = "update run"
"""The index: namespace and name of the run that a request belongs to."""


class Approvals:
    """Those of the runs of one scope."""

    def __init__(self, cluster: Cluster, scope: Scope, metrics: RunMetrics) -> None:
        self._cluster = cluster
        self._kind = scope.approval_request
        self._metrics = metrics
        cluster.informer(self._kind, indexes={RUN: _runs})

    def of(self, run: Object) -> dict[str, Object]:
        """By name, those that the run asks for and that are there."""
        status, namespace = run.get("status") or {}, key_of(run).namespace
        found = (
            (name, self._cluster.cached(self._kind, name, namespace)) for name in _named(status)
        )
        return {name: request for name, request in found if request is not None}

    async def make(self, run: Object, request: Object) -> None:
        metadata = dict(request["metadata"])
        if namespace := key_of(run).namespace:
            metadata["namespace"] = namespace
        names = {"apiVersion": self._kind.api_version, "kind": self._kind.kind}
        await self._cluster.create(
            {**names, **request, "metadata": metadata}, field_manager=labels.UPDATE_RUN_MANAGER
        )

    async def accept(self, run: Object, request: Object) -> None:
        """From now on nobody can take the approval back."""
        status = request.get("status") or {}
        now = self._cluster.clock.now()
        told = conditions.put(status.get("conditions"), marks.accepted(request, now))
        written = await self._cluster.client.update(
            {**request, "status": {**status, "conditions": told}},
            subresource="status",
            resource=self._kind,
            field_manager=labels.UPDATE_RUN_MANAGER,
        )
        self._cluster.accept(written)
        created = parse_time(request["metadata"]["creationTimestamp"])
        task = snapshots.label(request, labels.TASK_TYPE)
        self._metrics.approved(run, task, (now - created).total_seconds())

    async def remove(self, run: Object) -> bool:
        """Whether none is left."""
        for request in self._all(run):
            key = key_of(request)
            try:
                await self._cluster.delete(self._kind, key.name, key.namespace, uid=uid_of(request))
            except NotFound:
                continue
        return not self._all(run)

    def _all(self, run: Object) -> Sequence[Object]:
        key = key_of(run)
        return self._cluster.cached_by(self._kind, RUN, (key.namespace, key.name))


def run_of(request: Object) -> Iterable[Key]:
    """The run that a request wakes."""
    return [Key(namespace, name) for namespace, name in _runs(request)]


def _runs(request: Any) -> Iterable[tuple[str, str]]:
    name = snapshots.label(request, labels.TARGET_UPDATE_RUN)
    return [(key_of(request).namespace, name)] if name else []


def _named(status: Object) -> Iterable[str]:
    for stage in status.get("stagesStatus") or ():
        for tasks in ("beforeStageTaskStatus", "afterStageTaskStatus"):
            for task in stage.get(tasks) or ():
                if task.get("approvalRequestName"):
                    yield str(task["approvalRequestName"])
