"""Finds the dispatcher that the configuration names, ours or an installed one, and keeps it to the
workers that a job may go to.
"""

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from importlib import metadata

from fleetqueue.errors import InvalidInput
from fleetqueue.multikueue import selection
from fleetqueue.multikueue.dispatcher import Dispatcher, Nomination, Offer
from fleetqueue.multikueue.dispatchers import all_at_once, best_fit, external, incremental

ENTRY_POINTS = "fleetqueue.dispatchers"
NAME_LENGTH_MAX = 63
LACKING_SECONDS = 30.0
"""How soon it is asked again whether a worker has got what it lacks for a job."""
_OWN: tuple[Dispatcher, ...] = (
    all_at_once.DISPATCHER,
    incremental.DISPATCHER,
    best_fit.DISPATCHER,
)
OWN: Mapping[str, Dispatcher] = {each.name: each for each in _OWN}


def dispatcher_of(name: str) -> Dispatcher:
    """By the name of the configuration: none is AllAtOnce, one that nobody has is External."""
    if not name:
        return Narrowed(all_at_once.DISPATCHER)
    if name in OWN:
        return Narrowed(OWN[name])
    return Narrowed(_installed(name) or external.DISPATCHER)


def warnings_of(name: str) -> list[str]:
    """What is odd about a name, so that a typing error is noticed at the start."""
    if not name or name in OWN or name in names_installed():
        return []
    meant = get_close_matches(name, _spellings(), n=1, cutoff=0.8)
    odd = _oddities(name, bool(meant))
    if not odd:
        return []
    text = (
        f'multiKueue.dispatcherName is "{name}", {" and ".join(odd)}: no dispatcher has that name,'
        " so workloads wait until another controller writes their status.nominatedClusterNames."
    )
    return [f'{text} Did you mean "{_spellings()[meant[0]]}"?' if meant else text]


def names_installed() -> list[str]:
    return sorted({point.name for point in metadata.entry_points(group=ENTRY_POINTS)})


class Narrowed:
    """A dispatcher that is offered only workers that the job's selector takes, and that follow its
    kind.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self.name = dispatcher.name
        self._dispatcher = dispatcher

    def nominate(self, offer: Offer, /) -> Nomination:
        problem = selection.problem_of(offer.workload)
        if problem:
            return Nomination([] if offer.nominated and self.name else None, note=problem)
        wanted = selection.selector_of(offer.workload)
        allowed = [
            each for each in offer.candidates if each.takes_kind and wanted.matches(each.labels)
        ]
        if len(allowed) == len(offer.candidates) or not self.name:
            return self._dispatcher.nominate(offer)
        return self._narrowed(offer, {each.name for each in allowed})

    def _narrowed(self, offer: Offer, allowed: set[str]) -> Nomination:
        """Names that were nominated before the job said otherwise are taken back."""
        candidates = [each for each in offer.candidates if each.name in allowed]
        kept = [name for name in offer.nominated if name in allowed]
        made = self._dispatcher.nominate(replace(offer, candidates=candidates, nominated=kept))
        if made.names is None and kept != list(offer.nominated):
            made = replace(made, names=kept)
        if all(each.takes_kind for each in offer.candidates):
            return made
        # Nobody tells when a worker gets what it lacks.
        after = LACKING_SECONDS if made.after is None else min(made.after, LACKING_SECONDS)
        return replace(made, after=after)


def _installed(name: str) -> Dispatcher | None:
    points = metadata.entry_points(group=ENTRY_POINTS, name=name)
    if not points:
        return None
    if len(points) > 1:
        raise InvalidInput(f'two dispatchers are installed as "{name}"')
    loaded = next(iter(points)).load()
    if not callable(getattr(loaded, "nominate", None)):
        raise InvalidInput(f'what is installed as the dispatcher "{name}" cannot nominate anybody')
    dispatcher: Dispatcher = loaded
    return dispatcher


def _oddities(name: str, is_close: bool) -> list[str]:
    prefix, slash, _ = name.partition("/")
    found = [
        ("which has no domain as its prefix", not (slash and "." in prefix)),
        (f"which is longer than {NAME_LENGTH_MAX} characters", len(name) > NAME_LENGTH_MAX),
        ("which is close to the name of another", is_close),
    ]
    return [text for text, holds in found if holds]


def _spellings() -> dict[str, str]:
    """What people may type, and the name it stands for."""
    names = [*OWN, *names_installed()]
    short = {name.partition("/")[2]: name for name in names}
    shorter = {each.removeprefix("multikueue-").removeprefix("dispatcher-"): name
               for each, name in short.items()}  # fmt: skip
    return {name: name for name in names} | short | shorter
