"""Cheapest: the worker whose MultiKueueCluster has the lowest label `price`, one at a time."""

from fleetqueue.multikueue.dispatcher import Nomination, Offer


class Cheapest:
    name = "example.com/cheapest"

    def nominate(self, offer: Offer, /) -> Nomination:
        usable = [each for each in offer.candidates if each.is_connected and not each.problems]
        usable.sort(key=lambda each: (int(each.labels.get("price", "1000")), each.name))
        names = [each.name for each in usable[:1]]
        return Nomination(None if names == list(offer.nominated) else names, after=60)


DISPATCHER = Cheapest()
