"""Workloads are told of a node that failed, and again where one could not be told."""

from typing import Any, cast

import pytest

from fleetqueue.admission import kinds
from fleetqueue.admission.controllers.node_failures import NodeFailures
from fleetqueue.admission.writing import Writer
from fleetqueue.api.meta import Key
from fleetqueue.errors import Refused
from fleetqueue.kube.cluster import Cluster

pytestmark = pytest.mark.rule("kueue 8.8")

Json = dict[str, Any]
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
NODE: Json = {"metadata": {"name": "n", "labels": {}}, "status": READY}


class Paper:
    """A cluster with some workloads on one node, and no pods."""

    def __init__(self, *workloads: Json) -> None:
        self._workloads = workloads

    def informer(self, *_: Any, **__: Any) -> None: ...

    def cached_by(self, kind: Any, *_: Any) -> list[Json]:
        return list(self._workloads) if kind is kinds.WORKLOAD else []


class Pen:
    """Writes all but some."""

    def __init__(self, *refused: str) -> None:
        self._refused = refused
        self.written: dict[str, list[str]] = {}

    async def write(self, made: Json) -> bool:
        name = made["metadata"]["name"]
        if name in self._refused:
            return False
        nodes = made["status"].get("unhealthyNodes") or []
        self.written[name] = [each["name"] for each in nodes]
        return True

    async def evict(self, key: Key, reason: str, message: str) -> bool:
        self.written[key.name] = [reason]
        return key.name not in self._refused


def workload(name: str, *failed: str) -> Json:
    metadata = {"name": name, "namespace": "team"}
    return {"metadata": metadata, "status": {"unhealthyNodes": [{"name": at} for at in failed]}}


def controller(pen: Pen, *workloads: Json) -> NodeFailures:
    return NodeFailures(cast("Cluster", Paper(*workloads)), cast("Writer", pen))


async def test_all_that_are_on_it_are_told() -> None:
    pen = Pen()
    await controller(pen, workload("a"), workload("b")).gone(Key("", "n"))
    assert pen.written == {"a": ["n"], "b": ["n"]}


async def test_who_knows_already_is_not_told_again() -> None:
    pen = Pen()
    await controller(pen, workload("a", "n")).gone(Key("", "n"))
    assert pen.written == {}


async def test_one_that_could_not_be_told_is_tried_again_and_holds_nobody_up() -> None:
    pen = Pen("a")
    with pytest.raises(Refused, match="could not be told of node n: team/a"):
        await controller(pen, workload("a"), workload("b")).gone(Key("", "n"))
    assert pen.written == {"b": ["n"]}


async def test_one_that_could_not_be_told_of_its_recovery_is_tried_again() -> None:
    pen = Pen("a")
    with pytest.raises(Refused, match="team/a"):
        await controller(pen, workload("a", "n"), workload("b", "n")).reconcile(NODE)
    assert pen.written == {"b": []}


async def test_an_eviction_that_was_refused_is_tried_again() -> None:
    pen = Pen("a")
    with pytest.raises(Refused, match="team/a"):
        await controller(pen, workload("a", "other")).gone(Key("", "n"))
    assert pen.written == {"a": ["NodeFailures"]}
