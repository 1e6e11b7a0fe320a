"""AllAtOnce: every connected worker gets a copy, and the first that admits has it."""

from fleetqueue.multikueue.dispatcher import Nomination, Offer


class AllAtOnce:
    name = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"

    def nominate(self, offer: Offer, /) -> Nomination:
        names = sorted(each.name for each in offer.candidates if each.is_connected)
        return Nomination(None if set(names) == set(offer.nominated) else names)


DISPATCHER = AllAtOnce()
