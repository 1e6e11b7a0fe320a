"""Which nodes take a pod, and the words for those that do not."""

from typing import Any

import pytest

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.scheduling.cycle import Placed, Waits, schedule
from fleetqueue.runtime.scheduling.fitting import fits
from fleetqueue.runtime.scheduling.pods import PodInfo
from fleetqueue.runtime.scheduling.volumes import Volumes
from support.scheduling import HOST, REQUIRED, cluster_of, node, pod

pytestmark = pytest.mark.rule("jobs C.10")

TAINT = {"key": "a", "value": "b", "effect": "NoSchedule"}
ZONED = {"zone": "z1"}
APP = {"matchLabels": {"app": "web"}}
TERM = {"labelSelector": APP, "topologyKey": "zone"}


def near(*required: Object) -> Object:
    return {"podAffinity": {REQUIRED: list(required)}}


def apart(*required: Object) -> Object:
    return {"podAntiAffinity": {REQUIRED: list(required)}}


def to_nodes(*terms: Object) -> Object:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def spread(skew: int = 1, **more: Any) -> list[Object]:
    base = {"maxSkew": skew, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return [{**base, "labelSelector": APP, **more}]


WEB = pod("web", labels={"app": "web"})
BUSY = {
    "ports": [{"containerPort": 80, "hostPort": 80}],
    "name": "main",
    "image": "i",
}

CASES: dict[str, tuple[Object, Object, list[Object], tuple[str, ...]]] = {
    "an empty node takes anything": (node("n"), pod("p"), [], ()),
    "a cordoned node": (
        node("n", is_cordoned=True),
        pod("p"),
        [],
        ("node(s) were unschedulable",),
    ),
    "a cordoned node and a pod that does not mind": (
        node("n", is_cordoned=True),
        pod("p", tolerations=[{"operator": "Exists"}]),
        [],
        (),
    ),
    "a taint": (
        node("n", taints=[TAINT]),
        pod("p"),
        [],
        ("node(s) had untolerated taint(s)",),
    ),
    "a taint that is tolerated": (
        node("n", taints=[TAINT]),
        pod("p", tolerations=[{"key": "a", "value": "b"}]),
        [],
        (),
    ),
    "a toleration of another value": (
        node("n", taints=[TAINT]),
        pod("p", tolerations=[{"key": "a", "value": "c", "effect": "NoSchedule"}]),
        [],
        ("node(s) had untolerated taint(s)",),
    ),
    "a taint that only advises": (
        node("n", taints=[{**TAINT, "effect": "PreferNoSchedule"}]),
        pod("p"),
        [],
        (),
    ),
    "a node selector": (
        node("n"),
        pod("p", nodeSelector={"gpu": "a100"}),
        [],
        ("node(s) didn't match Pod's node affinity/selector",),
    ),
    "a node affinity of which one term matches": (
        node("n", labels={"gpus": "8"}),
        pod(
            "p",
            affinity=to_nodes(
                {"matchExpressions": [{"key": "gpus", "operator": "DoesNotExist"}]},
                {"matchExpressions": [{"key": "gpus", "operator": "Gt", "values": ["4"]}]},
            ),
        ),
        [],
        (),
    ),
    "a node affinity that asks nothing matches nothing": (
        node("n"),
        pod("p", affinity=to_nodes({})),
        [],
        ("node(s) didn't match Pod's node affinity/selector",),
    ),
    "a node by its name": (
        node("n"),
        pod(
            "p",
            affinity=to_nodes(
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m"]}]}
            ),
        ),
        [],
        ("node(s) didn't satisfy plugin(s) [NodeAffinity]",),
    ),
    "everything that is short is named": (
        node("n", cpu="1", memory="1Gi", pods="1"),
        pod("p", requests={"memory": "2Gi", "nvidia.com/gpu": "1", "cpu": "2"}),
        [pod("other")],
        ("Too many pods", "Insufficient cpu", "Insufficient memory", "Insufficient nvidia.com/gpu"),
    ),
    "what others use is not there": (
        node("n", nvidia_com__gpu="8"),
        pod("p", requests={"nvidia.com/gpu": "4"}),
        [pod("other", requests={"nvidia.com/gpu": "5"})],
        ("Insufficient nvidia.com/gpu",),
    ),
    "a port of the node that is taken": (
        node("n"),
        pod("p", containers=[BUSY]),
        [pod("other", containers=[BUSY])],
        ("node(s) didn't have free ports for the requested pod ports",),
    ),
    "the same port at another address": (
        node("n"),
        pod("p", containers=[{**BUSY, "ports": [{"hostPort": 80, "hostIP": "10.0.0.1"}]}]),
        [pod("other", containers=[{**BUSY, "ports": [{"hostPort": 80, "hostIP": "10.0.0.2"}]}])],
        (),
    ),
    "the same port of another protocol": (
        node("n"),
        pod("p", containers=[{**BUSY, "ports": [{"hostPort": 80, "protocol": "UDP"}]}]),
        [pod("other", containers=[BUSY])],
        (),
    ),
    "pods to be near are missing": (
        node("n", labels=ZONED),
        pod("p", affinity=near(TERM)),
        [],
        ("node(s) didn't match pod affinity rules",),
    ),
    "pods to be near are there": (
        node("n", labels=ZONED),
        pod("p", affinity=near(TERM)),
        [WEB],
        (),
    ),
    "the first of those that want to be together": (
        node("n", labels=ZONED),
        pod("p", labels={"app": "web"}, affinity=near(TERM)),
        [],
        (),
    ),
    "a node outside of every place": (
        node("n"),
        pod("p", labels={"app": "web"}, affinity=near(TERM)),
        [],
        ("node(s) didn't match pod affinity rules",),
    ),
    "all terms must mean the same pods": (
        node("n", labels=ZONED),
        pod(
            "p",
            affinity=near(TERM, {**TERM, "labelSelector": {"matchLabels": {"tier": "front"}}}),
        ),
        [WEB, pod("front", labels={"tier": "front"})],
        ("node(s) didn't match pod affinity rules",),
    ),
    "pods to stay away from": (
        node("n", labels=ZONED),
        pod("p", affinity=apart(TERM)),
        [WEB],
        ("node(s) didn't match pod anti-affinity rules",),
    ),
    "pods of another namespace are not meant": (
        node("n", labels=ZONED),
        pod("p", namespace="other", affinity=apart(TERM)),
        [WEB],
        (),
    ),
    "pods of namespaces that are chosen by label": (
        node("n", labels=ZONED),
        pod(
            "p",
            namespace="other",
            affinity=apart(
                {
                    **TERM,
                    "namespaceSelector": {
                        "matchLabels": {"kubernetes.io/metadata.name": "default"}
                    },
                }
            ),
        ),
        [WEB],
        ("node(s) didn't match pod anti-affinity rules",),
    ),
    "a pod that is there stays away from this one": (
        node("n", labels=ZONED),
        pod("p", labels={"app": "web"}),
        [pod("shy", affinity=apart(TERM))],
        ("node(s) didn't satisfy existing pods anti-affinity rules",),
    ),
    "a pod that is there minds others only": (
        node("n", labels=ZONED),
        pod("p", labels={"app": "db"}),
        [pod("shy", affinity=apart(TERM))],
        (),
    ),
    "a spread over places that the node is outside of": (
        node("n"),
        pod("p", topologySpreadConstraints=spread()),
        [],
        ("node(s) didn't match pod topology spread constraints (missing required label)",),
    ),
    "a spread over too few places": (
        node("n", labels=ZONED),
        pod("p", labels={"app": "web"}, topologySpreadConstraints=spread(minDomains=2)),
        [WEB],
        ("node(s) didn't match pod topology spread constraints",),
    ),
    "pods that are being deleted are not spread": (
        node("n", labels=ZONED),
        pod("p", labels={"app": "web"}, topologySpreadConstraints=spread(minDomains=2)),
        [{**WEB, "metadata": {**WEB["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}],
        (),
    ),
}


@pytest.mark.parametrize(("target", "wanted", "others", "reasons"), CASES.values(), ids=CASES)
def test_a_node_takes_a_pod_or_says_why_not(
    target: Object, wanted: Object, others: list[Object], reasons: tuple[str, ...]
) -> None:
    state = cluster_of(target, placed={"n": others})
    unfit = fits(state, PodInfo(wanted), "n")
    assert (unfit.reasons if unfit else ()) == reasons


def test_places_stay_even() -> None:
    state = cluster_of(
        node("a", labels={"zone": "z1"}),
        node("b", labels={"zone": "z2"}),
        placed={"a": [WEB]},
    )
    info = PodInfo(pod("p", labels={"app": "web"}, topologySpreadConstraints=spread()))
    assert fits(state, info, "a") is not None
    assert fits(state, info, "b") is None


def test_nodes_that_a_pod_cannot_use_are_no_places_to_spread_over() -> None:
    tainted = node("b", labels={"zone": "z2"}, taints=[TAINT])
    state = cluster_of(node("a", labels={"zone": "z1"}), tainted, placed={"a": [WEB]})
    for policy, fits_there in (("Ignore", False), ("Honor", True)):
        constraints = spread(nodeTaintsPolicy=policy)
        info = PodInfo(pod("p", labels={"app": "web"}, topologySpreadConstraints=constraints))
        assert (fits(state, info, "a") is None) == fits_there


def test_a_spread_by_the_labels_a_pod_has() -> None:
    old = pod("old", labels={"app": "web", "hash": "1"})
    state = cluster_of(node("a", labels={"zone": "z1"}), node("b", labels={"zone": "z2"}))
    state.place(PodInfo(old), "a")
    constraints = spread(matchLabelKeys=["hash"])
    labels = {"app": "web", "hash": "2"}
    info = PodInfo(pod("p", labels=labels, topologySpreadConstraints=constraints))
    assert fits(state, info, "a") is None


def test_the_message_counts_reasons_in_the_order_of_their_text() -> None:
    state = cluster_of(
        node("a", cpu="1"),
        node("b", labels={"kind": "big"}, is_cordoned=True),
        node("c", labels={"kind": "big"}, cpu="16"),
    )
    info = PodInfo(pod("p", requests={"cpu": "64"}, nodeSelector={"kind": "big"}))
    decision = schedule(state, info)
    assert decision == Waits(
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node "
        "affinity/selector, 1 node(s) were unschedulable. preemption: 0/3 nodes are available: "
        "3 Preemption is not helpful for scheduling."
    )


def test_the_message_where_there_is_no_node() -> None:
    assert schedule(cluster_of(), PodInfo(pod("p"))) == Waits("no nodes available to schedule pods")


CLAIM_SPEC = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}


def claim(phase: str, **spec: Any) -> Object:
    return {
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {"storageClassName": "local", **spec},
        "status": {"phase": phase},
    }


def looking_up(
    found: Object | None, mode: str = "Immediate", volume: Object | None = None
) -> Volumes:
    return Volumes(
        claim=lambda namespace, name: found,
        volume=lambda _, name: volume,
        storage_class=lambda _, name: {"volumeBindingMode": mode},
    )


CLAIMS: dict[str, tuple[Volumes, str]] = {
    "a claim that does not exist": (
        looking_up(None),
        '0/1 nodes are available: persistentvolumeclaim "data" not found.',
    ),
    "a claim that waits for its volume": (
        looking_up(claim("Pending")),
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
    ),
    "a claim that waits for the pod": (looking_up(claim("Pending"), "WaitForFirstConsumer"), ""),
    "a volume on another node": (
        looking_up(
            claim("Bound", volumeName="pv"),
            volume={
                "spec": {
                    "nodeAffinity": {
                        "required": {
                            "nodeSelectorTerms": [
                                {
                                    "matchExpressions": [
                                        {"key": HOST, "operator": "In", "values": ["other"]}
                                    ]
                                }
                            ]
                        }
                    }
                }
            },
        ),
        "0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity.",
    ),
    "a claim for one pod alone": (
        looking_up(claim("Bound", accessModes=["ReadWriteOncePod"])),
        "0/1 nodes are available: 1 node(s) unavailable due to PersistentVolumeClaim with "
        "ReadWriteOncePod access mode already in-use by another pod.",
    ),
}


@pytest.mark.parametrize(("volumes", "message"), CLAIMS.values(), ids=CLAIMS)
def test_a_pod_waits_for_its_volumes(volumes: Volumes, message: str) -> None:
    state = cluster_of(node("n"), placed={"n": [pod("other", **CLAIM_SPEC)]})
    decision = schedule(state, PodInfo(pod("p", **CLAIM_SPEC)), volumes)
    if message:
        assert isinstance(decision, Waits)
        assert decision.message.split(" preemption: ")[0] == message
    else:
        assert decision == Placed("n")
