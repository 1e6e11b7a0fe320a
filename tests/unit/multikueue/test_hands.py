"""What is done on workers: how the status of a copy is written."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.hands import Subject, returned, write_copy

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COPY = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "w", "namespace": "team", "uid": "1", "resourceVersion": "7"},
    "spec": {"podSets": []},
    "status": {},
}


class Elsewhere:
    """A worker that takes everything and has one copy."""

    def __init__(self) -> None:
        self.written: list[tuple[Any, dict[str, Any]]] = []

    def copy(self, key: Key) -> Object:
        return COPY

    async def patch(self, kind: Any, key: Key, patch: Any, **options: Any) -> Object:
        self.written.append((patch, options))
        return {}


@pytest.mark.rule("FLOW-66")
@pytest.mark.parametrize("merges", [False, True])
async def test_with_merge_patches_nobody_owns_the_status_of_a_copy(merges: bool) -> None:
    worker: Any = Elsewhere()
    target = status.DEACTIVATION_TARGET
    made = status.with_condition(COPY, target, True, "EvictedOnManagerCluster", "why", NOW)
    await write_copy(made, merges, worker)
    [(patch, options)] = worker.written
    [told] = patch["status"]["conditions"]
    assert (told["type"], told["status"]) == (target, "True")
    assert options["subresource"] == "status"
    if merges:
        assert "manager" not in options
        assert "apiVersion" not in patch
    else:
        assert (options["manager"], options["type"]) == (status.MANAGER, PatchType.APPLY)


@pytest.mark.rule("LOST-1", "FLOW-64")
@pytest.mark.parametrize(
    ("mirrors", "gone", "expected"),
    [
        ("", "", []),
        ("w2", "", ["w2"]),
        ("w2", "w2", []),
        ("w1 w2", "", []),
        ("other", "", ["other"]),
    ],
    ids=["nobody", "one is back", "one is lost", "it runs already", "one that was configured"],
)
def test_a_worker_that_is_back_gives_its_mirror_up_before_there_is_another(
    mirrors: str, gone: str, expected: list[str]
) -> None:
    def worker(name: str) -> Any:
        found = [COPY] if name in mirrors.split() else []
        return SimpleNamespace(
            name=name, is_connected=name not in gone.split(), mirrors_of=lambda kind, key: found
        )

    workers: Any = SimpleNamespace(all=lambda: [worker(name) for name in ("w1", "w2", "other")])
    adapter: Any = SimpleNamespace(resource=None)
    subject = Subject(COPY, {}, adapter, [], ["w1", "w2"])
    assert returned(workers, subject, "w1") == expected
