"""What a member is about to make for a Work that it has just met. It is noted on the AppliedWork,
so that the objects are found again, whatever happens before the Work itself tells of them.
"""

from collections.abc import Iterable
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.base import codec
from fleetqueue.fleet.decide.delivery import forms, manifests
from fleetqueue.fleet.decide.delivery.manifests import Identity, Manifest

Json = dict[str, Any]

NOTE_BYTES_MAX = 100_000
"""Annotations of an object may have 262,144 in all."""


def note(usable: Iterable[Manifest]) -> Json:
    """The annotation; none where there are so many that the Work itself must tell of them."""
    listed = [each.identifier for each in usable]
    text = codec.encode(listed).decode()
    return {labels.EXPECTED: text} if len(text) <= NOTE_BYTES_MAX else {}


def noted(applied_work: Json) -> list[Identity] | None:
    """None where nothing was noted."""
    try:
        listed = codec.decode(forms.annotation(applied_work, labels.EXPECTED))
    except ValueError:
        return None
    is_list = isinstance(listed, list) and all(isinstance(each, dict) for each in listed)
    return [manifests.identity_of(each) for each in listed] if is_list else None
