"""Workloads are told of a node that failed, and again where one could not be told."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from fleetqueue.admission import kinds
from fleetqueue.admission.controllers.node_failures import NodeFailures
from fleetqueue.admission.controllers.topology_ungater import TopologyUngater
from fleetqueue.admission.node_health import NodeRules
from fleetqueue.admission.settings import read_settings
from fleetqueue.admission.writing import Writer
from fleetqueue.api.kueue import topology_encoding
from fleetqueue.api.kueue.config import read_configuration
from fleetqueue.api.meta import Key
from fleetqueue.api.times import format_time
from fleetqueue.errors import Refused
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Result

pytestmark = pytest.mark.rule("kueue 8.8")

Json = dict[str, Any]
HOST = "kubernetes.io/hostname"
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
NODE: Json = {"metadata": {"name": "n", "labels": {}}, "status": READY}
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Paper:
    """A cluster with some workloads, nodes and pods."""

    def __init__(
        self, *workloads: Json, nodes: Iterable[Json] = (), pods: Iterable[Json] = ()
    ) -> None:
        self.objects: dict[Any, list[Json]] = {
            kinds.WORKLOAD: list(workloads),
            kinds.NODE: list(nodes),
            kinds.POD: list(pods),
        }
        self._indexes: dict[tuple[Any, str], Callable[[Json], Iterable[Any]]] = {}
        self.clock = self.events = self
        self.ended: list[str] = []

    def now(self) -> datetime:
        return NOW

    def informer(self, kind: Any, indexes: Any = None) -> None:
        for name, function in (indexes or {}).items():
            self._indexes[kind, name] = function

    def cached(self, kind: Any, name: str, namespace: str = "") -> Json | None:
        named = (each for each in self.objects.get(kind, ()) if each["metadata"]["name"] == name)
        return next(named, None)

    def cached_by(self, kind: Any, index: str, value: Any) -> list[Json]:
        function = self._indexes[kind, index]
        return [each for each in self.objects[kind] if value in function(each)]

    async def patch(self, kind: Any, name: str, *_: Any, **__: Any) -> None:
        self.ended.append(name)

    def record(self, *_: Any) -> None: ...


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


def workload(name: str, *failed: str, at: str = "n", **metadata: Any) -> Json:
    """One that runs on one host."""
    domains = [{"values": [at], "count": 1}]
    packed = topology_encoding.pack({"levels": [HOST], "domains": domains})
    assignment = {"name": "main", "count": 1, "topologyAssignment": packed}
    return {
        "metadata": {"name": name, "namespace": "team", **metadata},
        "spec": {"podSets": [{"name": "main", "count": 1, "template": {}}]},
        "status": {
            "conditions": [{"type": "Admitted", "status": "True"}],
            "admission": {"clusterQueue": "q", "podSetAssignments": [assignment]},
            "unhealthyNodes": [{"name": each} for each in failed],
        },
    }


def pod(name: str, of: str, **spec: Any) -> Json:
    metadata = {
        "name": name,
        "namespace": "team",
        "labels": {"kueue.x-k8s.io/podset": "main"},
        "annotations": {"kueue.x-k8s.io/workload": of},
    }
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def known_as(host: str, name: str, ready: str = "True") -> Json:
    """A node whose name is not the host's."""
    metadata = {"name": name, "labels": {HOST: host}}
    return {"metadata": metadata, "status": {"conditions": [{"type": "Ready", "status": ready}]}}


WAITING = pod("waiting", "a", nodeSelector={HOST: "n"})


def on_paper(paper: Paper, pen: Pen, *rules: NodeRules, **options: bool) -> NodeFailures:
    cluster = cast("Cluster", paper)
    TopologyUngater(cluster)
    return NodeFailures(cluster, cast("Writer", pen), *rules, **options)


def controller(pen: Pen, *workloads: Json, nodes: Iterable[Json] = ()) -> NodeFailures:
    return on_paper(Paper(*workloads, nodes=nodes), pen)


def away(seconds: int) -> Json:
    since = format_time(NOW - timedelta(seconds=seconds))
    told = {"type": "Ready", "status": "False", "lastTransitionTime": since}
    return {**NODE, "status": {"conditions": [told]}}


@pytest.mark.rule("kueue 10.3")
@pytest.mark.parametrize(
    ("seconds", "rules", "result", "written"),
    [
        (10, NodeRules(False, True, True), Result(timedelta(seconds=20)), {}),
        (30, NodeRules(False, True, True), DONE, {"a": ["n"]}),
        (99, NodeRules(False, True, False), DONE, {}),
        (10, NodeRules(True, True, False), DONE, {"a": ["n"]}),
    ],
    ids=["it may come back", "too long", "nothing counts", "no pod goes on"],
)
async def test_a_node_that_is_away_is_looked_at_again_in_time(
    seconds: int, rules: NodeRules, result: Result, written: dict[str, list[str]]
) -> None:
    pen = Pen()
    node = away(seconds)
    looking = on_paper(Paper(workload("a"), nodes=[node]), pen, rules)
    assert await looking.reconcile(node) == result
    assert pen.written == written


@pytest.mark.rule("kueue 10.3")
@pytest.mark.parametrize(("counts_taints", "ended"), [(True, ["waiting"]), (False, [])])
async def test_pods_that_wait_for_it_are_ended_where_taints_count(
    counts_taints: bool, ended: list[str]
) -> None:
    paper = Paper(workload("a"), nodes=[away(1)], pods=[WAITING])
    looking = on_paper(paper, Pen(), NodeRules(counts_taints=counts_taints))
    await looking.reconcile(away(1))
    assert paper.ended == ended


async def test_a_node_that_is_known_by_another_name_is_well() -> None:
    pen = Pen()
    looking = controller(pen, workload("a", at="x"), nodes=[known_as("x", "machine-7")])
    await looking.gone(Key("", "x"))
    await looking.reconcile(known_as("x", "machine-7"))
    assert pen.written == {}


async def test_pods_count_that_are_on_the_node_by_its_name() -> None:
    pen, node = Pen(), known_as("x", "machine-7", ready="False")
    paper = Paper(workload("a", at="x"), nodes=[node], pods=[pod("p", "a", nodeName="machine-7")])
    looking = on_paper(paper, pen)
    await looking.reconcile(node)
    assert pen.written == {}
    paper.objects[kinds.POD].clear()
    await looking.reconcile(node)
    assert pen.written == {"a": ["x"]}


async def test_a_node_fails_by_its_host_when_it_is_deleted_or_called_otherwise() -> None:
    pen, node = Pen(), known_as("x", "machine-7")
    paper = Paper(workload("a", at="x"), nodes=[node])
    looking = on_paper(paper, pen)
    await looking.reconcile(node)

    paper.objects[kinds.NODE] = [known_as("y", "machine-7")]
    await looking.reconcile(known_as("y", "machine-7"))
    assert pen.written == {"a": ["x"]}

    pen.written.clear()
    paper.objects[kinds.NODE] = [node]
    await looking.reconcile(node)
    paper.objects[kinds.NODE].clear()
    await looking.gone(Key("", "machine-7"))
    assert pen.written == {"a": ["x"]}


@pytest.mark.parametrize(
    ("at", "selector", "gates", "ended"),
    [
        ("m", "n", [], ["stray"]),
        ("n", "n", [], []),
        ("m", "n", [{"name": "kueue.x-k8s.io/topology"}], []),
        ("m", "other", [], []),
    ],
    ids=["moved on", "still there", "not let go yet", "about another host"],
)
async def test_a_pod_that_waits_for_a_host_its_workload_left_is_ended(
    at: str, selector: str, gates: list[Json], ended: list[str]
) -> None:
    stray = pod("stray", "a", nodeSelector={HOST: selector}, schedulingGates=gates)
    paper = Paper(workload("a", at=at), nodes=[NODE], pods=[stray])
    await on_paper(paper, Pen()).reconcile(NODE)
    assert paper.ended == ended


@pytest.mark.rule("kueue 10.3")
@pytest.mark.parametrize(("leaves", "written"), [(True, {}), (False, {"a": ["n"]})])
async def test_single_pods_are_left_alone_unless_told_otherwise(
    leaves: bool, written: dict[str, list[str]]
) -> None:
    pen, owner = Pen(), {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    paper = Paper(workload("a", ownerReferences=[owner]))
    await on_paper(paper, pen, leaves_single_pods=leaves).gone(Key("", "n"))
    assert pen.written == written


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
    looking = controller(pen, workload("a", "n"), workload("b", "n"), nodes=[NODE])
    with pytest.raises(Refused, match="team/a"):
        await looking.reconcile(NODE)
    assert pen.written == {"b": []}


async def test_an_eviction_that_was_refused_is_tried_again() -> None:
    pen = Pen("a")
    with pytest.raises(Refused, match="team/a"):
        await controller(pen, workload("a", "other")).gone(Key("", "n"))
    assert pen.written == {"a": ["NodeFailures"]}


@pytest.mark.rule("kueue 10.3")
@pytest.mark.parametrize("is_on", [True, False])
def test_a_gate_says_whether_single_pods_are_left_alone(is_on: bool) -> None:
    kind = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    gate = {"featureGates": {"SkipReassignmentForPodOwnedWorkloads": is_on}}
    settings = read_settings(read_configuration({**kind, **gate}))
    assert settings.queueing.leaves_single_pods is is_on
