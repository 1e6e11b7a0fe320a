"""Writes of a status: on what was read alone, and until it is known what became of it."""

import random
from types import SimpleNamespace
from typing import Any

import pytest

from fleetqueue.admission.delivery import deliver
from fleetqueue.kube.errors import Conflict, KubeError, NotFound, Refused, Unreachable
from fleetqueue.kube.resources import Object

pytestmark = pytest.mark.rule("kueue 3.3")

MADE: Object = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "w", "namespace": "default", "uid": "u", "resourceVersion": "7"},
    "status": {"admission": {"clusterQueue": "queue"}},
}
CHANGED: Object = {**MADE, "status": {"conditions": []}}
LOST = Unreachable("the answer was lost")
CONFLICT = Conflict({"code": 409, "reason": "Conflict"})
MISSING = NotFound({"code": 404, "reason": "NotFound"})


class Paper:
    """A cluster whose answers are written down beforehand; None: it is done."""

    def __init__(self, writes: list[KubeError | None], reads: list[Object | KubeError]) -> None:
        self.random = random.Random(1)
        self.client = SimpleNamespace(get=self._get)
        self.sent: list[Object] = []
        self.accepted: list[Object] = []
        self._writes = iter(writes)
        self._reads = iter(reads)

    async def apply(self, body: Object, **options: Any) -> None:
        self.sent.append(body)
        if (error := next(self._writes)) is not None:
            raise error

    async def _get(self, *of: Any) -> Object:
        found = next(self._reads)
        if isinstance(found, KubeError):
            raise found
        return found

    def accept(self, obj: Object) -> None:
        self.accepted.append(obj)


@pytest.mark.parametrize(
    ("writes", "reads", "is_there"),
    [
        pytest.param([None], [], True, id="accepted"),
        pytest.param([LOST, LOST, None], [], True, id="accepted in the end"),
        pytest.param([LOST, CONFLICT], [LOST, MADE], True, id="it was ours that came first"),
        pytest.param([CONFLICT], [CHANGED], False, id="somebody else wrote"),
        pytest.param([CONFLICT], [MISSING], False, id="gone meanwhile"),
        pytest.param([MISSING], [], False, id="gone"),
        pytest.param([Refused({"code": 422})], [], False, id="refused"),
    ],
)
async def test_whether_it_was_written_is_known(
    writes: list[KubeError | None], reads: list[Object | KubeError], is_there: bool
) -> None:
    cluster = Paper(writes, reads)
    assert await deliver(cluster, MADE) is is_there
    assert len(cluster.sent) == len(writes)
    assert {body["metadata"]["resourceVersion"] for body in cluster.sent} == {"7"}
    assert cluster.accepted == [each for each in reads if isinstance(each, dict)]
