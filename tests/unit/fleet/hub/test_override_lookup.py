"""Finding the override snapshots that concern a placement."""

from typing import Any

import pytest

from fleetqueue.api.fleet import labels
from fleetqueue.fleet import kinds
from fleetqueue.fleet.hub import override_lookup
from fleetqueue.kube.informer import Store
from fleetqueue.kube.resources import Resource, key_of

Json = dict[str, Any]


class Caches:
    """As much of a cluster as is asked for."""

    def __init__(self, *objects: Json) -> None:
        self._stores: dict[str, Store[Json]] = {}
        self._objects = objects

    def informer(self, kind: Resource, *, indexes: Any) -> None:
        store = self._stores[kind.kind] = Store[Json](indexes)
        for each in self._objects:
            if each["kind"] == kind.kind:
                store.put(key_of(each), each)

    def cached_by(self, kind: Resource, index: str, value: Any) -> list[Json]:
        return self._stores[kind.kind].by_index(index, value)


def snapshot(override: str, index: int, placement: Json | None = None, *, latest: str) -> Json:
    told = {
        labels.PARENT_OVERRIDE: override,
        labels.OVERRIDE_INDEX: str(index),
        labels.IS_LATEST_SNAPSHOT: latest,
    }
    name = f"{override}-{index}"
    spec = {"overrideSpec": {"placement": placement} if placement else {}}
    metadata = {"name": name, "namespace": "web", "labels": told}
    return {"kind": kinds.OVERRIDE_SNAPSHOT.kind, "metadata": metadata, "spec": spec}


def names(caches: Caches, *placement: str) -> list[str]:
    override_lookup.follow(caches)  # type: ignore[arg-type]
    found = override_lookup.latest(caches, *placement)  # type: ignore[arg-type]
    return sorted(each["metadata"]["name"] for each in found.namespaced)


@pytest.mark.rule("OVR-1")
def test_the_newest_counts_also_while_none_is_marked() -> None:
    caches = Caches(
        snapshot("o", 9, latest="false"),
        snapshot("o", 10, latest="false"),
        snapshot("q", 0, latest="true"),
    )
    assert names(caches, "", "p") == ["o-10", "q-0"]


@pytest.mark.rule("OVR-3")
def test_only_those_for_the_placement_or_for_all_are_looked_at() -> None:
    caches = Caches(
        snapshot("all", 0, latest="true"),
        snapshot("wide", 0, {"name": "p", "scope": "Cluster"}, latest="true"),
        snapshot("own", 0, {"name": "p", "scope": "Namespaced"}, latest="true"),
        snapshot("other", 0, {"name": "q"}, latest="true"),
    )
    assert names(caches, "", "p") == ["all-0", "wide-0"]
    assert names(caches, "web", "p") == ["all-0", "own-0"]
