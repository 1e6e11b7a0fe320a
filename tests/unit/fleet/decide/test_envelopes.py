"""Envelopes: what they hold, in which order, and what may not be in them."""

from typing import Any

import pytest

from fleetqueue.fleet.decide import envelopes
from fleetqueue.fleet.decide.envelopes import BadEnvelope, Envelope

Json = dict[str, Any]
KINDS = {("v1", "ConfigMap"): True, ("rbac.authorization.k8s.io/v1", "ClusterRole"): False}
WIDE = Envelope("ClusterResourceEnvelope", "", "wide")
NARROW = Envelope("ResourceEnvelope", "web", "narrow")


def manifest(api_version: str, kind: str, name: str, namespace: str = "", **more: Any) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


CONFIG = manifest("v1", "ConfigMap", "c", "web")
FOREIGN = manifest("v1", "ConfigMap", "c", "ops")
ROLE = manifest("rbac.authorization.k8s.io/v1", "ClusterRole", "r")
STRANGE = manifest("example.com/v1", "Strange", "s")
# fmt: off
WRAPPED = {
    "a namespaced object, cluster-wide": (CONFIG, WIDE,
        "a namespaced object web/c (/v1, Kind=ConfigMap) has been wrapped in a cluster resource"
        " envelope wide"),
    "a cluster-wide object, namespaced": (ROLE, NARROW,
        "a cluster scope object r (rbac.authorization.k8s.io/v1, Kind=ClusterRole) has been"
        " wrapped in a resource envelope web/narrow"),
    "an object of another namespace": (FOREIGN, NARROW,
        "a namespaced object ops/c (/v1, Kind=ConfigMap) in has been wrapped in a resource envelope"
        " from another namespace (web)"),
    "one where it belongs": (CONFIG, NARROW, ""),
    "a cluster-wide one where it belongs": (ROLE, WIDE, ""),
    "a kind that the hub does not know": (STRANGE, NARROW, ""),
    "such a kind, cluster-wide": (STRANGE, WIDE, ""),
    "such a kind where it says that it belongs": (
        manifest("example.com/v1", "Strange", "s", "web"), NARROW, ""),
    "such a kind of another namespace": (
        manifest("example.com/v1", "Strange", "s", "kube-system"), NARROW,
        "a namespaced object kube-system/s (example.com/v1, Kind=Strange) in has been wrapped in a"
        " resource envelope from another namespace (web)"),
    "one whose metadata is a text": ({**CONFIG, "metadata": "oops"}, NARROW,
        "a namespaced object  (/v1, Kind=ConfigMap) in has been wrapped in a resource envelope"
        " from another namespace (web)"),
}
# fmt: on


@pytest.mark.rule("ENV-2")
@pytest.mark.parametrize(("inner", "envelope", "problem"), WRAPPED.values(), ids=WRAPPED)
def test_what_may_be_wrapped_where(inner: Json, envelope: Envelope, problem: str) -> None:
    told = ""
    try:
        envelopes.check(inner, envelope, lambda *name: KINDS.get(name))
    except BadEnvelope as refused:
        told = str(refused)
    assert told == problem


@pytest.mark.rule("ENV-3")
def test_the_larger_text_comes_first() -> None:
    small, large = ({**CONFIG, "data": {"a": value}} for value in ("1", "2"))
    assert envelopes.ordered([small, large]) == [large, small]
    reversed_keys = dict(reversed(list(large.items())))
    assert envelopes.ordered([small, reversed_keys]) == [large, small]


@pytest.mark.rule("ENV-5")
def test_the_envelope_of_a_work_is_told_by_its_labels() -> None:
    for envelope in (WIDE, NARROW):
        work = {"metadata": {"labels": envelope.labels}}
        assert envelopes.envelope_of_work(work) == envelope
    assert envelopes.envelope_of_work({"metadata": {}}) is None
    assert NARROW.identifier == {"name": "narrow", "namespace": "web", "type": "ResourceEnvelope"}
    assert WIDE.identifier == {"name": "wide", "type": "ClusterResourceEnvelope"}


@pytest.mark.rule("ENV-1")
def test_only_the_kinds_of_placement_are_envelopes() -> None:
    group = "placement.kubernetes-fleet.io/v1beta1"
    envelope = manifest(group, "ResourceEnvelope", "e", "web", data={"b": ROLE, "a": CONFIG})
    assert envelopes.is_envelope(envelope)
    assert list(envelopes.contents(envelope)) == [CONFIG, ROLE]
    assert not envelopes.is_envelope(manifest("example.com/v1", "ResourceEnvelope", "e"))
    assert list(envelopes.contents(CONFIG)) == []
