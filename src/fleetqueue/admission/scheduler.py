"""Waits for heads, has a cycle decide about them, and carries out its plan.

Quota is assumed at once and written by the way: the next cycle does not wait for the writes.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.writing import Writer
from fleetqueue.api.meta import Key
from fleetqueue.kube.resources import uid_of
from fleetqueue.queueing import cycle, nomination
from fleetqueue.queueing.admissibility import NAMESPACE_MISMATCH
from fleetqueue.queueing.assignment import Record
from fleetqueue.queueing.nomination import Head, Problem
from fleetqueue.queueing.plan import (
    WAITS_FOR_PODS,
    Admit,
    Decision,
    Evict,
    FailPlace,
    Migrate,
    Place,
    Plan,
    Preempt,
    Wait,
)
from fleetqueue.queueing.queues import Requeue
from fleetqueue.queueing.workload import Workload

UNPARK_SECONDS = 0.1
"""So long are changes collected before parked workloads are tried again, each tree once."""
PAUSE_SECONDS = 0.001
PAUSE_SECONDS_MAX = 0.010
REST_SECONDS_MAX = 0.25
SECOND_PASS_SECONDS = 1.0
SECOND_PASS_SECONDS_MAX = 30.0
_TRIED_AGAIN = {Requeue.FAILED_AFTER_NOMINATION, Requeue.PREEMPTION_FAILED}
log = logging.getLogger(__name__)


@dataclass(slots=True)
class SecondPass:
    """Of one workload: how often it was tried, and whether its time has come again."""

    tries: int = 0
    is_due: bool = False


class Scheduler:
    """One per cluster, on the leader."""

    def __init__(self, ledger: Ledger, writer: Writer, now: Callable[[], datetime]) -> None:
        self.on_cycle: list[Callable[[Plan], None]] = []
        self.verdicts: dict[Key, Decision] = {}
        """What was decided last about each workload that waits, for those who ask why."""
        self._ledger = ledger
        self._writer = writer
        self._now = now
        self._wake = asyncio.Event()
        self._records: dict[Key, Record] = {}
        self._preemptors: set[Key] = set()
        self._passes: dict[Key, SecondPass] = {}
        self.cycles = 0
        self._is_unparking = False
        self._is_moving = False
        """Whether the cycle that is carried out changes what the next one sees."""
        self._doing: set[asyncio.Task[None]] = set()
        ledger.on_work.append(self._wake.set)
        ledger.on_gone.append(self._forget)

    @property
    def is_busy(self) -> bool:
        """Whether something is under way or about to be."""
        return self._wake.is_set() or bool(self._doing) or self._is_unparking

    async def run(self) -> None:
        """Until it is cancelled; what was begun is then left to the next leader."""
        pause = PAUSE_SECONDS
        # Nobody was tried so far: nobody is parked, whatever has changed.
        self._ledger.due.clear()
        try:
            while True:
                await self._wake.wait()
                await self._writer.caught_up()
                self._wake.clear()
                self._collect()
                heads = self._heads()
                if not heads:
                    continue
                plan = self._decide(heads)
                spent = (self._now() - plan.decided_at).total_seconds()
                await self._carry_out(plan)
                pause = PAUSE_SECONDS if plan.admitted() else min(pause * 2, PAUSE_SECONDS_MAX)
                # Those who wait for answers, of our webhooks too, get as much time as the decision.
                rest = min(spent, REST_SECONDS_MAX) if spent > PAUSE_SECONDS_MAX else 0.0
                await asyncio.sleep(rest if plan.admitted() else max(pause, rest))
                self._wake.set()
        finally:
            for task in self._doing:
                task.cancel()

    # Heads

    def _heads(self) -> list[Head]:
        return [*self._second_passes(), *(self._head(each) for each in self._ledger.pop_heads())]

    def _head(self, workload: Workload) -> Head:
        key = workload.key
        try:
            problem = self._problem(workload)
        except Exception as error:
            self._tell_broken(key, error)
            problem = nomination.broken(error)
        return Head(workload, problem, self._records.get(key), key in self._preemptors)

    def _problem(self, workload: Workload) -> Problem | None:
        obj = self._ledger.workload(workload.key)
        if obj is None:
            return None
        found = self._ledger.problem(obj, workload.cluster_queue)
        if not found:
            return None
        is_mismatch = found == NAMESPACE_MISMATCH
        why = Requeue.NAMESPACE_MISMATCH if is_mismatch else Requeue.GENERIC
        return Problem("Misconfigured", found, why)

    def _second_passes(self) -> list[Head]:
        """Those that are due; the others wake the scheduler when they are."""
        found = []
        # Who needs one again later waits like anybody who is new.
        for key in self._passes.keys() - self._ledger.second_passes.keys():
            del self._passes[key]
        for key, workload in list(self._ledger.second_passes.items()):
            known = self._passes.get(key)
            if known is None:
                self._time_pass(key, 0)
            elif known.is_due:
                found.append(Head(workload))
        return found

    def _time_pass(self, key: Key, tries: int) -> None:
        seconds = min(SECOND_PASS_SECONDS * 2.0**tries, SECOND_PASS_SECONDS_MAX)
        waiting = self._passes[key] = SecondPass(tries)
        asyncio.get_running_loop().call_later(seconds, self._begin_pass, waiting)

    def _begin_pass(self, waiting: SecondPass) -> None:
        """No clock is asked once more: another one may say that it is not time yet."""
        waiting.is_due = True
        self._wake.set()

    def _collect(self) -> None:
        """Starts the wait after which parked workloads are tried again."""
        if self._ledger.due and not self._is_unparking:
            self._is_unparking = True
            asyncio.get_running_loop().call_later(UNPARK_SECONDS, self._unpark)

    def _unpark(self) -> None:
        self._is_unparking = False
        self._ledger.unpark()

    def _decide(self, heads: list[Head]) -> Plan:
        self.cycles += 1
        plan = cycle.decide(self._ledger.state, heads, self._now(), cycle=self.cycles)
        for key, error in plan.failures:
            self._tell_broken(key, error)
        for listener in self.on_cycle:
            listener(plan)
        known = {each.workload.key for each in plan.decisions}
        for head in heads:
            # One that holds quota by now is not decided about.
            if head.workload.key not in known and not head.workload.needs_second_pass:
                self._ledger.drop(head.workload.key)
        return plan

    def _tell_broken(self, key: Key, error: Exception) -> None:
        log.error("nobody can decide about workload %s", key, exc_info=error)

    # The plan

    async def _carry_out(self, plan: Plan) -> None:
        self._is_moving = any(map(_moves, plan.decisions))
        is_late = False
        for decision in plan.decisions:
            key = decision.workload.key
            if not self._is_there(decision.workload):
                continue
            self.verdicts[key] = decision
            if isinstance(decision, Admit):
                is_late |= await self._await_others(decision)
            if is_late and not self._still_holds(decision):
                self.verdicts.pop(key, None)
                self._ledger.requeue(key, Requeue.FAILED_AFTER_NOMINATION, may_do_better=True)
                continue
            try:
                await self._do(key, decision)
            except Exception as error:
                # It comes back when it changes; its queue goes on without it.
                self._tell_broken(key, error)
                self._ledger.drop(key)

    def _is_there(self, workload: Workload) -> bool:
        """While others get their pods ready it may go, and another come under its name."""
        obj = self._ledger.workload(workload.key)
        return obj is not None and uid_of(obj) == workload.uid

    def _still_holds(self, decision: Decision) -> bool:
        """Whether it can be carried out after others got their pods ready. Who goes or moves for
        somebody is decided anew, and so are places.
        """
        if isinstance(decision, Admit):
            return self._ledger.has_room_for(decision)
        return isinstance(decision, Wait)

    async def _do(self, key: Key, decision: Decision) -> None:
        match decision:
            case Admit():
                self._admit(decision)
            case Wait():
                self._wait(decision)
            case Preempt():
                self._preemptors.add(key)
                self._requeue(decision.wait)
                self._start(self._preempt(decision))
            case Migrate():
                self._requeue(decision.wait)
                self._start(self._migrate(decision))
            case Place():
                self._passes.pop(key, None)
                self._ledger.assume(decision.held)
                self._start(self._place(decision))
            case FailPlace():
                self._time_pass(key, self._passes.get(key, SecondPass()).tries + 1)
                self._start(self._fail_place(decision))
            case Evict():
                self._passes.pop(key, None)
                self._start(self._writer.evict(key, decision.reason, decision.message))

    def _admit(self, decision: Admit) -> None:
        key = decision.workload.key
        self._forget_attempts(key)
        queue = self._ledger.state.queues.get(decision.held.cluster_queue)
        if queue is None:
            return  # It went while others got their pods ready.
        self._ledger.assume(replace(decision.held, is_admitted=not queue.checks))
        self._start(self._reserve(decision))

    async def _reserve(self, decision: Admit) -> None:
        key = decision.workload.key
        if await self._writer.reserve(decision):
            self.verdicts.pop(key, None)
        else:
            self._ledger.forget(key)

    async def _place(self, decision: Place) -> None:
        if not await self._writer.place(decision):
            self._ledger.forget(decision.workload.key)

    async def _fail_place(self, decision: FailPlace) -> None:
        """Those who go make room for the next pass."""
        if decision.targets:
            await self._writer.preempt(decision, self._ledger.state)
        await self._writer.fail_place(decision)

    def _wait(self, decision: Wait) -> None:
        self._preemptors.discard(decision.workload.key)
        self._requeue(decision)
        self._start(self._writer.wait(decision))

    def _requeue(self, decision: Wait) -> None:
        key = decision.workload.key
        if decision.record is None:
            self._records.pop(key, None)
        else:
            self._records[key] = decision.record
        self._ledger.requeue(
            key,
            decision.requeue,
            has_more_flavors=decision.has_more_flavors,
            reason=decision.reason,
            may_do_better=self._is_moving and decision.requeue in _TRIED_AGAIN,
        )

    async def _preempt(self, decision: Preempt) -> None:
        if await self._writer.preempt(decision, self._ledger.state):
            await self._writer.wait(decision.wait)
        else:
            self._ledger.retry(decision.workload.key)
            await self._writer.wait(decision.wait_if_failed)

    async def _migrate(self, decision: Migrate) -> None:
        await self._writer.evict(decision.target.key, "FlavorMigration", decision.message)
        await self._writer.wait(decision.wait)

    async def _await_others(self, decision: Admit) -> bool:
        """Where one workload at a time may get its pods ready. Whether there was anybody; who waits
        for a place gets it meanwhile.
        """
        if not self._ledger.settings.blocks_admission or not self._ledger.unready:
            return False
        reason = "WaitingForPodsReady" if self._ledger.settings.explains_waiting else "Waiting"
        wait = Wait(decision.workload, reason, WAITS_FOR_PODS, Requeue.GENERIC)
        self._start(self._writer.wait(wait))
        while self._ledger.unready:
            await self._wake.wait()
            self._wake.clear()
            passes, is_moving = self._second_passes(), self._is_moving
            if passes:
                await self._carry_out(self._decide(passes))
                self._is_moving = is_moving
        return True

    # Work under way

    def _start(self, doing: Awaitable[Any]) -> None:
        async def run() -> None:
            try:
                await doing
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("a decision could not be carried out")

        task = asyncio.get_running_loop().create_task(run())
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)

    def _forget_attempts(self, key: Key) -> None:
        self._records.pop(key, None)
        self._preemptors.discard(key)

    def _forget(self, key: Key) -> None:
        """The workload is gone, finished or not to be admitted."""
        self._forget_attempts(key)
        self._passes.pop(key, None)
        self.verdicts.pop(key, None)


def _moves(decision: Decision) -> bool:
    """Whether this changes what others meet."""
    if isinstance(decision, Preempt | FailPlace):
        return any(not target.workload.is_evicted for target in decision.targets)
    return not isinstance(decision, Wait)
