"""Envelopes: which manifests wrap others, what they hold, in which order that is delivered, and
what may not be wrapped where.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.fleet.group import PLACEMENT_GROUP
from fleetqueue.api.fleet.placement_status import EnvelopeType
from fleetqueue.api.fleet.text import kind as kind_text
from fleetqueue.base import codec

Json = dict[str, Any]
TYPES = (EnvelopeType.CLUSTER_RESOURCE_ENVELOPE, EnvelopeType.RESOURCE_ENVELOPE)
IsNamespaced = Callable[[str, str], bool | None]
"""Given apiVersion and kind; None where the hub does not know that kind."""


class BadEnvelope(Exception):
    """Something is wrapped that may not be; the text is what people are told."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """Which envelope it is."""

    type: str
    namespace: str
    name: str

    @property
    def identifier(self) -> Json:
        """As lists of objects in trouble name it."""
        found = {"name": self.name, "namespace": self.namespace, "type": self.type}
        return {name: value for name, value in found.items() if value}

    @property
    def labels(self) -> dict[str, str]:
        """Of the Work with its contents."""
        return {
            labels.ENVELOPE_TYPE: self.type,
            labels.ENVELOPE_NAME: self.name,
            labels.ENVELOPE_NAMESPACE: self.namespace,
        }


def is_envelope(manifest: Json) -> bool:
    if manifest.get("kind") not in TYPES:
        return False
    return str(manifest.get("apiVersion") or "").startswith(f"{PLACEMENT_GROUP}/")


def metadata_of(manifest: Json) -> Json:
    """Nobody has checked what an envelope holds: metadata that is no object says nothing."""
    found = manifest.get("metadata")
    return found if isinstance(found, dict) else {}


def envelope_of(manifest: Json) -> Envelope:
    metadata = metadata_of(manifest)
    namespace = str(metadata.get("namespace") or "")
    return Envelope(str(manifest["kind"]), namespace, str(metadata.get("name") or ""))


def envelope_of_work(work: Json) -> Envelope | None:
    """The envelope whose contents a Work carries; None for a Work of plain objects."""
    found: Mapping[str, str] = work["metadata"].get("labels") or {}
    if labels.ENVELOPE_TYPE not in found:
        return None
    return Envelope(
        found[labels.ENVELOPE_TYPE],
        found.get(labels.ENVELOPE_NAMESPACE, ""),
        found.get(labels.ENVELOPE_NAME, ""),
    )


def contents(manifest: Json) -> Iterable[Json]:
    """What an envelope holds, in the order of its file names; nothing for any other object."""
    if not is_envelope(manifest):
        return
    data = manifest.get("data") or {}
    for name in sorted(data):
        if isinstance(data[name], dict):
            yield data[name]


def ordered(manifests: Iterable[Json]) -> list[Json]:
    """By their JSON text, the largest first: of two namesakes that one is applied."""
    return sorted(manifests, key=lambda each: codec.encode_sorted(each), reverse=True)


def check(manifest: Json, envelope: Envelope, is_namespaced: IsNamespaced) -> None:
    """Whether this may be in that envelope; raises BadEnvelope. Of a kind that nobody knows here,
    and that names no namespace, the member decides: it may know the kind.
    """
    api_version = str(manifest.get("apiVersion") or "")
    kind = str(manifest.get("kind") or "")
    namespaced = is_namespaced(api_version, kind)
    namespace = str(metadata_of(manifest).get("namespace") or "")
    what = described(manifest)
    holder = shown(envelope.namespace, envelope.name)
    if envelope.type == EnvelopeType.CLUSTER_RESOURCE_ENVELOPE:
        if namespaced:
            raise BadEnvelope(
                f"a namespaced object {what} has been wrapped in a cluster resource envelope"
                f" {holder}"
            )
        return
    if namespaced is False:
        raise BadEnvelope(
            f"a cluster scope object {what} has been wrapped in a resource envelope {holder}"
        )
    if namespaced is None and not namespace:
        return
    if namespace != envelope.namespace:
        raise BadEnvelope(
            f"a namespaced object {what} in has been wrapped in a resource envelope from another"
            f" namespace ({envelope.namespace})"
        )


def described(manifest: Json) -> str:
    """Name and kind, as refusals tell them."""
    metadata = metadata_of(manifest)
    place = shown(str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))
    group, _, version = str(manifest.get("apiVersion") or "").rpartition("/")
    return f"{place} ({kind_text(group, version, str(manifest.get('kind') or ''))})"


def shown(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name
