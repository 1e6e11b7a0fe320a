"""What a placement of a namespace may deliver: only what is in that namespace. Whoever may write
its snapshots, bindings and overrides has rights there, and gets none beyond it on the members.
"""

from typing import Any

from fleetqueue.api.fleet.placement_status import EnvelopeType
from fleetqueue.fleet.decide import envelopes
from fleetqueue.fleet.decide.envelopes import Envelope, IsNamespaced

Json = dict[str, Any]
ELSEWHERE = "is not in the namespace"
CLUSTER_SCOPED = "is cluster-scoped"


class OutOfNamespace(Exception):
    """Something is outside the namespace of its placement; the text is what people are told."""


def check(manifest: Json, home: str, is_namespaced: IsNamespaced) -> None:
    """`home`: the namespace of the placement; "" for a ClusterResourcePlacement, which may deliver
    everything. A kind that nobody knows here goes by the namespace that it names.
    """
    namespace = str(envelopes.metadata_of(manifest).get("namespace") or "")
    kind = str(manifest.get("apiVersion") or ""), str(manifest.get("kind") or "")
    if home and is_namespaced(*kind) is False:
        raise _refusal(f"the object {envelopes.described(manifest)}", CLUSTER_SCOPED, home)
    if home and namespace != home:
        raise _refusal(f"the object {envelopes.described(manifest)}", ELSEWHERE, home)


def check_envelope(envelope: Envelope, home: str) -> None:
    """What a ResourceEnvelope holds is bound to its namespace by `envelopes.check`."""
    if home and envelope.type != EnvelopeType.RESOURCE_ENVELOPE:
        raise _refusal(f"the {envelope.type} {envelope.name}", CLUSTER_SCOPED, home)
    if home and envelope.namespace != home:
        shown = envelopes.shown(envelope.namespace, envelope.name)
        raise _refusal(f"the {envelope.type} {shown}", ELSEWHERE, home)


def _refusal(what: str, fault: str, home: str) -> OutOfNamespace:
    return OutOfNamespace(
        f"{what} {fault}, and a ResourcePlacement of namespace {home} delivers only what is in it:"
        " select the object with a ClusterResourcePlacement"
    )
