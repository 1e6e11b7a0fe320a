"""Answers a foreign API server that asks a hub's webhooks."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter

from fleetqueue.fleet.webhooks.declared import Around, Declared
from fleetqueue.kube.reviews import ALLOWED, Review, Verdict, changed, refused
from fleetqueue.kube.webhook import Webhooks


def serve(webhooks: Webhooks, declared: Iterable[Declared], around: Around) -> None:
    """Several may share a path; what concerns a write answers."""
    ordered = sorted(declared, key=attrgetter("path"))
    for path, found in groupby(ordered, key=attrgetter("path")):
        webhooks.admit(path, partial(answer, list(found), around))


def answer(declared: Sequence[Declared], around: Around, review: Review) -> Verdict:
    for each in declared:
        if not each.concerns(review, around.source):
            continue
        if each.default is not None and review.object is not None:
            return changed(each.default(review.object))
        if each.refuse is not None and (text := each.refuse(review, around)):
            return refused(text)
    return ALLOWED
