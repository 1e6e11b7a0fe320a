"""Which flavor each resource of each pod set gets, and why not the others."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fleetqueue.api.requirements import SelectorError
from fleetqueue.queueing import flavor_match, flavor_quota, places
from fleetqueue.queueing.amounts import Amounts, Requests, minus, plus
from fleetqueue.queueing.assignment import (
    Assignment,
    Attempt,
    Attempts,
    Cause,
    Chance,
    Choice,
    PodSetResult,
    Record,
)
from fleetqueue.queueing.model import Fungibility, ResourceGroup
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import PodSet, PodSetAssignment, Workload

Only = Mapping[str, Mapping[str, str]]
"""The flavor to look at, by pod set and resource."""
_ALLOWED = "WorkloadAllowedResourceFlavorAnnotation"


def assign(
    state: State,
    workload: Workload,
    *,
    counts: Mapping[str, int] | None = None,
    only: Only | None = None,
    record: Record | None = None,
) -> Assignment:
    """Looks for flavors with the quota that is there now, and then for places. `counts` are the
    pods to look for, where not all; `only` keeps to the flavors of an earlier attempt; `record`
    tells where one that found nothing stopped.
    """
    search = _Search(state, workload, counts or {}, only, record)
    found: list[PodSetResult] = []
    for members in _together(workload.pod_sets):
        found += search.run(members)
        if found[-1].has_failed:
            break
    by_name = {each.name: each for each in found}
    in_order = [by_name[each.name] for each in workload.pod_sets if each.name in by_name]
    return places.place(state, workload, Assignment(tuple(in_order), search.replaced))


def _together(pod_sets: Sequence[PodSet]) -> list[list[PodSet]]:
    """Sets of one group get the same flavors; the group stands where its first member does."""
    groups: dict[tuple[bool, str], list[PodSet]] = {}
    for each in pod_sets:
        group = each.topology.group if each.topology is not None else ""
        groups.setdefault((bool(group), group or each.name), []).append(each)
    return list(groups.values())


@dataclass(frozen=True, slots=True)
class _Found:
    """What the search in one resource group came to."""

    attempts: Attempts
    choices: Mapping[str, Choice]
    """Empty where nothing does."""

    @property
    def reasons(self) -> tuple[str, ...]:
        if self.choices and all(each.chance is Chance.FIT for each in self.choices.values()):
            return ()
        return tuple(reason for each in self.attempts for reason in each.reasons)


class _Search:
    """One attempt; remembers what the pod sets before took."""

    def __init__(
        self,
        state: State,
        workload: Workload,
        counts: Mapping[str, int],
        only: Only | None,
        record: Record | None,
    ) -> None:
        self.state = state
        self.workload = workload
        self.queue = state.queues[workload.cluster_queue]
        self.node = state.node(workload.cluster_queue)
        self.counts = counts
        self.only = only
        self.record = record
        self.replaced = state.replaced_by(workload)
        self.assumed: Amounts = {}
        self.places_all = flavor_match.places_everybody(state, self.queue)
        self.is_elsewhere = self.queue.name in state.dispatching

    def run(self, members: Sequence[PodSet]) -> list[PodSetResult]:
        results = [self._result(each) for each in members]
        wanted = _sum(each.requests for each in results)
        attempts: list[Attempts] = []
        reasons: list[str] = []
        choices: dict[str, Choice] = {}
        for resource, amount in sorted(wanted.items()):
            if resource in choices:
                continue
            group = self.queue.group_of(resource)
            if group is None:
                if amount and not self.state.settings.ignores_undeclared:
                    why = f"resource {resource} unavailable in ClusterQueue"
                    return [
                        _failed(each, attempts, [*reasons, why], Cause.FLAVOR) for each in results
                    ]
                continue
            try:
                found = self._look(results, group, wanted, resource)
            except SelectorError as error:
                failed = [_failed(each, attempts, reasons, Cause.FLAVOR) for each in results]
                return [replace(each, error=str(error)) for each in failed]
            attempts.append(found.attempts)
            reasons += found.reasons
            if not found.choices:
                return [_failed(each, attempts, reasons) for each in results]
            choices |= found.choices
        chosen = [_chosen(each, choices, attempts, reasons) for each in results]
        for each in chosen:
            self._assume(each)
        return chosen

    def _result(self, pods: PodSet) -> PodSetResult:
        count = self.counts.get(pods.name, pods.count)
        requests = pods.total(count)
        if self.queue.group_of("pods") is not None:
            requests["pods"] = count
        return PodSetResult(pods, count, requests)

    def _look(
        self, results: Sequence[PodSetResult], group: ResourceGroup, wanted: Requests, first: str
    ) -> _Found:
        """Goes through the flavors of a group until one is good enough, or takes the best."""
        requests = {name: wanted[name] for name in sorted(group.resources) if name in wanted}
        attempts: list[Attempt] = []
        best: Attempt | None = None
        for flavor in self._flavors(results, group, first):
            attempt = self._try(results, group, flavor, requests)
            attempts.append(attempt)
            if self._is_better(attempt, best):
                best = attempt
            if self._is_enough(attempt):
                best = attempt
                break
        if best is None:
            return _Found(tuple(attempts), {})
        return _Found(tuple(attempts), _choices(best, self._tried(group, attempts[-1])))

    def _flavors(
        self, results: Sequence[PodSetResult], group: ResourceGroup, first: str
    ) -> Sequence[str]:
        if self.only is not None:
            asked = {self.only.get(each.name, {}).get(first) for each in results}
            return [name for name in group.flavors if name in asked]
        start = self.record.start(results[0].name, first) if self.record is not None else 0
        return group.flavors[start:] or group.flavors

    def _tried(self, group: ResourceGroup, last: Attempt) -> int:
        """Where the next attempt goes on; -1: at the beginning."""
        if last.flavor == group.flavors[-1] or not self.state.settings.tries_flavors:
            return -1
        return group.flavors.index(last.flavor)

    def _try(
        self,
        results: Sequence[PodSetResult],
        group: ResourceGroup,
        flavor: str,
        requests: Requests,
    ) -> Attempt:
        why = self._mismatch(results, group, flavor, requests)
        if why:
            return Attempt(flavor, Chance.NO_FIT, reasons=(why,), cause=Cause.FLAVOR)
        trials = []
        for resource, amount in requests.items():
            at = (flavor, resource)
            before = self.assumed.get(at, 0)
            amount = minus(amount, self._held_before(results, resource))
            trials.append(flavor_quota.check(self.state, self.workload, at, before, amount))
        worst = min(trials, key=lambda each: _rank(each.chance, each.borrowing, self._fungibility))
        reasons = tuple(each.why for each in trials if each.why)
        cause = max(each.cause for each in trials)
        return Attempt(flavor, worst.chance, worst.borrowing, reasons, cause, tuple(trials))

    def _mismatch(
        self,
        results: Sequence[PodSetResult],
        group: ResourceGroup,
        flavor: str,
        requests: Requests,
    ) -> str:
        allowed = self.workload.allowed_flavors
        if (
            self.state.settings.admits_concurrently
            and allowed is not None
            and flavor not in allowed
        ):
            return f"skipping flavor {flavor} due to {_ALLOWED} annotation"
        for each in results:
            why = flavor_match.mismatch(
                self.state,
                group,
                flavor,
                each.pod_set,
                places_all=self.places_all,
                is_elsewhere=self.is_elsewhere,
            ) or self._differs(each, flavor, requests)
            if why:
                return why
        return ""

    def _differs(self, result: PodSetResult, flavor: str, requests: Requests) -> str:
        """A slice gets what the one before it has."""
        before = self._before(result.name)
        if before is None:
            return ""
        for resource in requests:
            original = before.flavors.get(resource, flavor)
            if original != flavor:
                return (
                    f"could not assign {flavor} flavor since the original workload is assigned: "
                    f"{original}"
                )
        return ""

    def _before(self, pod_set: str) -> PodSetAssignment | None:
        held = self.replaced.assignments if self.replaced is not None else ()
        return next((each for each in held if each.name == pod_set), None)

    def _held_before(self, results: Sequence[PodSetResult], resource: str) -> int:
        found = (self._before(each.name) for each in results)
        return sum(each.usage.get(resource, 0) for each in found if each is not None)

    def _assume(self, result: PodSetResult) -> None:
        before = self._before(result.name)
        for resource, choice in result.choices.items():
            held = before.usage.get(resource, 0) if before is not None else 0
            at = (choice.flavor, resource)
            more = minus(result.requests[resource], held)
            self.assumed[at] = plus(self.assumed.get(at, 0), more)

    # Preference

    @property
    def _fungibility(self) -> Fungibility:
        return self.queue.fungibility

    def _is_better(self, attempt: Attempt, best: Attempt | None) -> bool:
        if attempt.chance is Chance.NO_FIT:
            return False
        if best is None:
            return True
        if not self.state.settings.tries_flavors:
            return attempt.chance > best.chance
        return _rank(attempt.chance, attempt.borrowing, self._fungibility) > _rank(
            best.chance, best.borrowing, self._fungibility
        )

    def _is_enough(self, attempt: Attempt) -> bool:
        """Whether the search stops here."""
        if not self.state.settings.tries_flavors:
            return attempt.chance is Chance.FIT
        if attempt.chance <= Chance.NO_CANDIDATES:
            return False
        if attempt.chance is not Chance.FIT and not self._fungibility.stops_at_preemption:
            return False
        return not attempt.borrowing or self._fungibility.stops_at_borrowing


def _rank(chance: Chance, borrowing: int, fungibility: Fungibility) -> tuple[int, int, int]:
    """More is better."""
    if chance <= Chance.NO_CANDIDATES or not fungibility.prefers_preemption:
        return (min(chance, Chance.PREEMPT), chance, -borrowing)
    return (Chance.PREEMPT, -borrowing, chance)


def _choices(best: Attempt, tried: int) -> dict[str, Choice]:
    return {
        each.resource: Choice(best.flavor, each.chance, each.borrowing, tried)
        for each in best.trials
    }


def _chosen(
    result: PodSetResult,
    choices: Mapping[str, Choice],
    attempts: Sequence[Attempts],
    reasons: Sequence[str],
) -> PodSetResult:
    own = {name: choices[name] for name in sorted(result.requests) if name in choices}
    return replace(result, choices=own, attempts=tuple(attempts), reasons=tuple(reasons))


def _failed(
    result: PodSetResult,
    attempts: Sequence[Attempts],
    reasons: Sequence[str],
    cause: Cause = Cause.NONE,
) -> PodSetResult:
    told = (tuple(attempts), tuple(reasons))
    return replace(result, attempts=told[0], reasons=told[1], cause=cause, has_failed=True)


def _sum(requests: Iterator[Requests]) -> Requests:
    total: Requests = {}
    for each in requests:
        for name, amount in each.items():
            total[name] = plus(total.get(name, 0), amount)
    return total
