"""Writes of a status: on what was read alone, and until it is known what became of it."""

import random
from types import SimpleNamespace
from typing import Any

import pytest

from fleetqueue.admission.delivery import deliver
from fleetqueue.api.meta import Key
from fleetqueue.kube.errors import Conflict, KubeError, NotFound, Refused, Unreachable
from fleetqueue.kube.resources import Object, key_of

pytestmark = pytest.mark.rule("kueue 3.3")

MADE: Object = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "w", "namespace": "default", "uid": "u", "resourceVersion": "7"},
    "status": {"admission": {"clusterQueue": "queue"}},
}
CHANGED: Object = {**MADE, "status": {"conditions": []}}
NEWER: Object = {**MADE, "metadata": {**MADE["metadata"], "resourceVersion": "8"}}
LOST = Unreachable("the answer was lost")
CONFLICT = Conflict({"code": 409, "reason": "Conflict"})
MISSING = NotFound({"code": 404, "reason": "NotFound"})


class Paper:
    """A cluster whose answers are written down beforehand; None: it is done."""

    def __init__(
        self,
        writes: list[KubeError | None],
        reads: list[Object | KubeError],
        brought: Object | None = MADE,
    ) -> None:
        self.random = random.Random(1)
        self.store = {} if brought is None else {key_of(MADE): brought}
        self.client = SimpleNamespace(get=self._get)
        self.sent: list[Object] = []
        self.accepted: list[Object] = []
        self.gone: list[tuple[Key, str]] = []
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

    def informer(self, *of: Any) -> "Paper":
        return self

    async def wait_changed(self, key: Key, version: str, seconds: float) -> bool:
        return self.store.get(key) != MADE

    def accept(self, obj: Object) -> None:
        self.accepted.append(obj)

    def accept_deleted(self, key: Key, uid: str) -> None:
        self.gone.append((key, uid))


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


@pytest.mark.parametrize(
    ("brought", "is_there"),
    [
        pytest.param(CHANGED, False, id="somebody else wrote"),
        pytest.param(NEWER, True, id="it was ours, whose answer was lost"),
        pytest.param({**NEWER, "metadata": {"uid": "other"}}, False, id="another one"),
        pytest.param(None, False, id="gone"),
    ],
)
async def test_nobody_is_asked_for_what_the_watch_brings(
    brought: Object | None, is_there: bool
) -> None:
    cluster = Paper([CONFLICT], [], brought)
    assert await deliver(cluster, MADE) is is_there
    assert not cluster.accepted


@pytest.mark.parametrize("writes", [[MISSING], [CONFLICT]], ids=["written", "read"])
async def test_what_is_gone_is_not_found_in_the_cache_any_more(writes: list[KubeError]) -> None:
    """Whoever looks there would try the same, again and again, until the watch brings the end."""
    cluster = Paper(list(writes), [MISSING])
    assert not await deliver(cluster, MADE)
    assert cluster.gone == [(Key("default", "w"), "u")]
