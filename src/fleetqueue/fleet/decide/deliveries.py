"""What a member gets of each shard of a snapshot once the overrides are applied, and whether it may
be delivered. Checks come after the overrides, which can make another object of any.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetqueue.fleet.decide import confinement, envelopes
from fleetqueue.fleet.decide.envelopes import Envelope, IsNamespaced
from fleetqueue.fleet.decide.overrides import Overrides

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Delivery:
    """Of one shard."""

    shard: Json
    plain: Sequence[Json]
    wrapped: Mapping[Envelope, Sequence[Json]]


def overridden(group: Iterable[Json], overrides: Overrides) -> list[Delivery]:
    """`group`: the shards, in whose order the result is. Raises OverrideFailed where a rule does
    not fit.
    """
    return [_overridden(shard, overrides) for shard in group]


def check(delivery: Delivery, home: str, is_namespaced: IsNamespaced) -> None:
    """`home`: the namespace of the placement, or "". Raises OutOfNamespace and BadEnvelope."""
    for manifest in delivery.plain:
        confinement.check(manifest, home, is_namespaced)
    for envelope, manifests in delivery.wrapped.items():
        confinement.check_envelope(envelope, home)
        for manifest in manifests:
            envelopes.check(manifest, envelope, is_namespaced)


def checked_kinds(delivered: Iterable[Delivery], home: str) -> Iterable[tuple[str, str]]:
    """apiVersion and kind of what `check` asks about."""
    found = (manifest for each in delivered for manifest in _asked_about(each, home))
    return dict.fromkeys(
        (str(each.get("apiVersion") or ""), str(each.get("kind") or "")) for each in found
    )


def _asked_about(delivery: Delivery, home: str) -> Iterable[Json]:
    if home:
        yield from delivery.plain
    for manifests in delivery.wrapped.values():
        yield from manifests


def _overridden(shard: Json, overrides: Overrides) -> Delivery:
    plain: list[Json] = []
    wrapped: dict[Envelope, list[Json]] = {}
    for manifest in shard["spec"].get("selectedResources") or ():
        changed = overrides.applied_to(manifest)
        if changed is None:
            continue
        if not envelopes.is_envelope(changed):
            plain.append(changed)
            continue
        inner = (overrides.applied_to(each) for each in envelopes.contents(changed))
        wrapped[envelopes.envelope_of(changed)] = [each for each in inner if each is not None]
    return Delivery(shard, plain, wrapped)
