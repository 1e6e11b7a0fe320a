"""BestFit: first the worker with most room; the next one at once where it says no.

Workers on which the job cannot run are left out. The others are in a strict order: those with room
in their own free quota, then those that could borrow, then those of which nothing is known, then
those that would have to preempt, then the rest; of each kind those with more room first. About as
much room counts as equal: there a hash of workload and worker decides, so that many jobs at once
spread over equal workers. A worker that said no keeps its copy, so that no job loses its place.
"""

from collections.abc import Iterable
from datetime import timedelta
from enum import Enum
from hashlib import sha256

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue.labels import BEST_FIT_STEP
from fleetqueue.jobs.identity import annotations_of
from fleetqueue.kube.resources import Object, uid_of
from fleetqueue.multikueue import worker_quota
from fleetqueue.multikueue.dispatcher import Candidate, Nomination, Offer
from fleetqueue.multikueue.worker_quota import Demands, Room

STEP = 1
SILENCE_SECONDS = 5.0
"""One that has said nothing by then counts as having said no: its queue may be blocked."""
RETRY_SECONDS = 30.0
"""How often workers with problems are looked at again."""
PREEMPTING = "Pending the preemption of"
FREE, BORROWS, UNKNOWN, PREEMPTS, NEVER = range(5)
Order = tuple[int, int, int, int, bytes, str]
"""What kind of room, how much of it, and what tells equal workers apart; last its name."""


class Answer(Enum):
    YES = "quota is reserved"
    PREEMPTING = "others are preempted for it"
    NONE = "not looked at yet"
    NO = "no room"


class BestFit:
    name = "fleetqueue.dev/dispatcher-best-fit"

    def nominate(self, offer: Offer, /) -> Nomination:
        known = {each.name: each for each in offer.candidates}
        asked = [known[name] for name in dict.fromkeys(offer.nominated) if name in known]
        kept = [each for each in asked if _is_usable(each)]
        names = [each.name for each in kept]
        if any(answer_of(each.copy) is Answer.YES for each in kept):
            return Nomination(_changed(offer, names))
        waits = [left for each in kept if (left := _left(offer, each)) > 0]
        missing = step_of(offer.workload) - len(waits)
        if missing <= 0:
            return Nomination(_changed(offer, names), min(waits))
        return _more(offer, names, waits, missing)


def _more(offer: Offer, kept: list[str], waits: list[float], missing: int) -> Nomination:
    """Those that were asked, and the best of the others; problems may end without a word."""
    others = [each for each in offer.candidates if each.name not in kept]
    usable = [each for each in others if _is_usable(each)]
    more = _best(offer, usable)[:missing]
    waits = [*waits, *(SILENCE_SECONDS for _ in more)]
    if len(usable) < len(others):
        waits.append(RETRY_SECONDS)
    note = "" if kept or usable else _why(offer)
    return Nomination(_changed(offer, [*kept, *more]), min(waits, default=None), note)


def step_of(workload: Object) -> int:
    """How many workers are asked at a time; an annotation that is no such number counts as none."""
    text = annotations_of(workload).get(BEST_FIT_STEP) or ""
    return max(int(text), 1) if text.isascii() and text.isdigit() else STEP


def answer_of(copy: Object | None) -> Answer:
    """What a worker says to its copy."""
    found = None if copy is None else status.find_condition(copy, status.QUOTA_RESERVED)
    if found is None or found["reason"] == status.EXPLICIT.pending:
        return Answer.NONE
    if found["status"] == "True":
        return Answer.YES
    is_preempting = PREEMPTING in str(found.get("message") or "")
    if is_preempting or found["reason"] == "WaitingForPreemptedWorkloads":
        return Answer.PREEMPTING
    return Answer.NO


def _is_usable(candidate: Candidate) -> bool:
    return candidate.is_connected and not candidate.problems


def _left(offer: Offer, candidate: Candidate) -> float:
    """How many seconds more its answer is waited for."""
    answer = answer_of(candidate.copy)
    if answer is Answer.NO:
        return 0.0
    is_preempting = answer is Answer.PREEMPTING
    given = offer.settings.preemption_seconds if is_preempting else SILENCE_SECONDS
    started = offer.now if offer.round_started is None else offer.round_started
    return (started + timedelta(seconds=given) - offer.now).total_seconds()


def _best(offer: Offer, candidates: Iterable[Candidate]) -> list[str]:
    """The names, best first."""
    demands = worker_quota.demands_of(offer.workload)
    ranked = sorted(_order(offer.workload, demands, each) for each in candidates)
    return [order[-1] for order in ranked]


def _order(workload: Object, demands: Demands, candidate: Candidate) -> Order:
    """Room as doublings: 0 where it does not fit, 1 where it fits once, 2 where it fits twice."""
    room = _room(workload, demands, candidate)
    spread = sha256(f"{uid_of(workload)} {candidate.name}".encode()).digest()
    if room is None:
        return UNKNOWN, 0, 0, 0, spread, candidate.name
    own, free = room.guaranteed.bit_length(), room.free.bit_length()
    nominal = room.nominal.bit_length()
    kind = FREE if own else BORROWS if free else PREEMPTS if nominal else NEVER
    return kind, -own, -free, -nominal, spread, candidate.name


def _room(workload: Object, demands: Demands, candidate: Candidate) -> Room | None:
    if candidate.local_queues is None or candidate.cluster_queues is None:
        return None
    queues = candidate.cluster_queues
    queue = worker_quota.cluster_queue_of(workload, candidate.local_queues, queues)
    return None if queue is None else worker_quota.room_for(demands, queue, queues)


def _changed(offer: Offer, names: list[str]) -> list[str] | None:
    return None if names == list(offer.nominated) else names


def _why(offer: Offer) -> str:
    lost = [f'"{each.name}" is not connected.' for each in offer.candidates
            if not each.is_connected]  # fmt: skip
    found = [problem for each in offer.candidates if each.is_connected for problem in each.problems]
    return " ".join(["No worker can run it.", *lost, *found])


DISPATCHER = BestFit()
