"""One cycle: the heads are nominated, put in order, and decided one by one, each with what those
before it took. The state is left as it was; the plan says what it has to hold from now on.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from fleetqueue.api.meta import Key
from fleetqueue.queueing import nomination
from fleetqueue.queueing.fairness import Tournament
from fleetqueue.queueing.nomination import Entry, Head
from fleetqueue.queueing.plan import FailPlace, Plan, Wait
from fleetqueue.queueing.state import State
from fleetqueue.queueing.turn import Turn

Asked = TypeVar("Asked")
Found = TypeVar("Found")


def decide(state: State, heads: Sequence[Head], now: datetime, *, cycle: int = 0) -> Plan:
    """Decides about every head. `cycle` counts the calls, so that what the cycle before left can be
    told from older things.
    """
    start = state.mark()
    guard = _Guard(state)
    try:
        nominate = partial(nomination.nominate, state, cycle=cycle)
        found = [guard.ask(nominate, head, head) for head in heads]
        told = sorted((each for each in found if isinstance(each, Wait | FailPlace)), key=_name)
        entries = [each for each in found if isinstance(each, Entry)]
        turn = Turn(state, now)
        decided = [guard.ask(turn.decide, entry, entry.head) for entry in _in_order(state, entries)]
        told_all = (*told, *decided)
        return Plan(told_all, now, cycle, tuple(turn.recomputed), tuple(guard.failures))
    finally:
        state.undo(start)


class _Guard:
    """Sees to it that a workload which nobody can decide about does no harm to the others."""

    def __init__(self, state: State) -> None:
        self.failures: list[tuple[Key, Exception]] = []
        self._state = state

    def ask(
        self, decide: Callable[[Asked], Found], about: Asked, head: Head
    ) -> Found | Wait | FailPlace:
        start = self._state.mark()
        try:
            return decide(about)
        except Exception as error:
            self._state.undo(start)
            self.failures.append((head.workload.key, error))
            return nomination.refuse(self._state, head, nomination.broken(error))


def _name(refused: Wait | FailPlace) -> tuple[str, Key]:
    return refused.workload.cluster_queue, refused.workload.key


def _in_order(state: State, entries: list[Entry]) -> Iterable[Entry]:
    """Who holds quota already goes first, then who borrows least, then by priority and time; with
    fair sharing, whoever has the least share when it is somebody's turn.
    """
    if state.settings.fair_sharing is not None:
        return Tournament(
            state,
            entries,
            lambda each: each.assignment.charge(),
            lambda each: each.workload,
            _is_preemptor,
        )
    return sorted(
        entries,
        key=lambda each: (
            not each.is_second_pass,
            state.settings.prefers_preemptors and not _is_preemptor(each),
            each.assignment.borrowing,
            -each.workload.effective_priority if state.settings.sorts_by_priority else 0,
            each.workload.ordered_at,
            each.workload.uid,
            each.workload.key,
        ),
    )


def _is_preemptor(entry: Entry) -> bool:
    return entry.head.is_preemptor or bool(entry.targets)
