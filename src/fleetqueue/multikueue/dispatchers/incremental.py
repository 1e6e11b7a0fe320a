"""Incremental: a few workers at a time, and a few more each time nobody admits for a while.

Whether a worker is connected plays no part: the order is what the user wrote, and a worker that
comes back finds the workload waiting for it.
"""

from datetime import timedelta

from fleetqueue.multikueue.dispatcher import Nomination, Offer

ALL_NOMINATED = "no more workers to nominate"


class Incremental:
    name = "kueue.x-k8s.io/multikueue-dispatcher-incremental"

    def nominate(self, offer: Offer, /) -> Nomination:
        left = _left_of_round(offer)
        if left is not None:
            return Nomination(None, after=left)
        lasts = offer.settings.round_seconds
        more = _untried(offer)[: offer.settings.step_size]
        if not more:
            return Nomination(None, after=lasts, note=ALL_NOMINATED)
        configured = {each.name for each in offer.candidates}
        kept = [name for name in offer.nominated if name in configured]
        return Nomination([*kept, *more], after=lasts, note=_lost(offer, more))


def _left_of_round(offer: Offer) -> float | None:
    """Its last instant still belongs to a round. One that began nobody knows when begins now: a
    round may be made longer, never shorter.
    """
    if not offer.nominated:
        return None
    started = offer.now if offer.round_started is None else offer.round_started
    left = started + timedelta(seconds=offer.settings.round_seconds) - offer.now
    # A microsecond more, so that the next look comes when the round is over.
    return None if left < timedelta() else left.total_seconds() + 1e-6


def _untried(offer: Offer) -> list[str]:
    names = [each.name for each in offer.candidates if each.name not in offer.nominated]
    return names if offer.settings.gates.config_order else sorted(names)


def _lost(offer: Offer, names: list[str]) -> str:
    lost = [each.name for each in offer.candidates if not each.is_connected and each.name in names]
    return f"nominated while not connected: {', '.join(lost)}" if lost else ""


DISPATCHER = Incremental()
