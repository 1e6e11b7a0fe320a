"""Where a simulated pod is in its life at a given moment: pure, from when it began and its stages.

Nothing is remembered between two looks, so that a simulation that starts again goes on.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256

from fleetqueue.kube.resources import Object
from fleetqueue.runtime import stages
from fleetqueue.runtime.pod_status import (
    DEADLINE_EXCEEDED,
    ContainerFacts,
    PodFacts,
    Running,
    Terminated,
    Waiting,
    is_sidecar,
)
from fleetqueue.runtime.stages import Profile

TERMINATED_BY_SIGNAL = 143
BACKOFF_RESET_SECONDS = 600.0
CYCLE_SECONDS_MIN = 1.0
"""A container is started again at most so often, however fast simulated time runs."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A pod at one moment, and when it will look different, if ever."""

    facts: PodFacts
    changes_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Life:
    """What does not change while a pod lives: when it began, and how often its like failed."""

    pod: Object
    began_at: datetime
    profile: Profile
    attempt: int = 0

    def at(self, now: datetime, *, was_running: bool) -> Moment:
        """`was_running`: it was seen to run, so its end may show; nobody ends unseen."""
        deadline = self._deadline()
        if deadline is not None and now >= deadline:
            return Moment(self._ended_at(deadline))
        moment = self._unbounded(now, was_running)
        if moment.facts.is_over or deadline is None:
            return moment
        upcoming = deadline if moment.changes_at is None else min(deadline, moment.changes_at)
        return replace(moment, changes_at=upcoming)

    def stopped(self, now: datetime) -> PodFacts:
        """As it is left when it is deleted: what ran was ended by a signal."""
        moment = self._unbounded(now, was_running=True)
        return self._stop_all(moment.facts, now)

    def _unbounded(self, now: datetime, was_running: bool) -> Moment:
        created_at = self.began_at + self._delay("pod-create")
        if now < created_at:
            return Moment(PodFacts(has_sandbox=False), created_at)
        facts = PodFacts(started_at=self.began_at)
        ready_from = created_at
        if self.pod["spec"].get("initContainers"):
            initial = self._initializing(facts, created_at, now)
            if isinstance(initial, Moment):
                return initial
            facts, ready_from = initial
        running_at = ready_from + self._delay("pod-ready")
        if now < running_at:
            return Moment(facts, running_at)
        return self._running(facts, running_at, now, was_running)

    def _initializing(
        self, facts: PodFacts, created_at: datetime, now: datetime
    ) -> Moment | tuple[PodFacts, datetime]:
        """Init containers run together, then are done together; sidecars go on."""
        inits = self.pod["spec"]["initContainers"]
        running_at = created_at + self._delay("pod-init-container-running")
        if now < running_at:
            return Moment(facts, running_at)
        running = {each["name"]: self._fresh(each["name"], running_at) for each in inits}
        fails = stages.fails(
            self.pod,
            "pod-init-container-running-failed",
            "pod-init-container-completed",
            self.profile,
        )
        if fails:
            failed_at = running_at + self._delay("pod-init-container-running-failed")
            facts = replace(facts, containers=running)
            if now < failed_at:
                return Moment(facts, failed_at)
            return Moment(self._fail(facts, "pod-init-container-running-failed", failed_at))
        done_at = running_at + self._delay("pod-init-container-completed")
        if now < done_at:
            return Moment(replace(facts, containers=running), done_at)
        done = {
            each["name"]: running[each["name"]]
            if is_sidecar(each)
            else _terminated(running[each["name"]], 0, done_at)
            for each in inits
        }
        return replace(facts, containers=done), done_at

    def _running(
        self, facts: PodFacts, running_at: datetime, now: datetime, was_running: bool
    ) -> Moment:
        ready_after = stages.ready_seconds(self.pod, self.profile)
        ready_at = None if ready_after is None else running_at + timedelta(seconds=ready_after)
        names = [container["name"] for container in self.pod["spec"]["containers"]]
        if stages.fails(self.pod, "pod-container-running-failed", "pod-complete", self.profile):
            failed_at = running_at + self._delay("pod-container-running-failed")
            if now >= failed_at and was_running:
                facts = self._with_running(facts, names, running_at)
                return Moment(self._fail(facts, "pod-container-running-failed", failed_at))
            return self._lasting(facts, names, running_at, ready_at, now, failed_at)
        if not stages.ends(self.pod):
            return self._lasting(facts, names, running_at, ready_at, now, None)
        ends_at = running_at + timedelta(seconds=stages.run_seconds(self.pod, self.profile))
        if now < ends_at or not was_running:
            return self._lasting(facts, names, running_at, ready_at, now, ends_at)
        return self._ending(facts, names, running_at, ready_at, now)

    def _lasting(
        self,
        facts: PodFacts,
        names: list[str],
        running_at: datetime,
        ready_at: datetime | None,
        now: datetime,
        next_at: datetime | None,
    ) -> Moment:
        is_ready = ready_at is not None and now >= ready_at
        facts = self._with_running(facts, names, running_at, is_ready=is_ready)
        upcoming = [at for at in (next_at, None if is_ready else ready_at) if at is not None]
        return Moment(facts, min(upcoming, default=None))

    def _ending(
        self,
        facts: PodFacts,
        names: list[str],
        running_at: datetime,
        ready_at: datetime | None,
        now: datetime,
    ) -> Moment:
        """Each container ends, and starts again where the pod says so."""
        attempts = {name: self._attempt(name, running_at, ready_at, now) for name in names}
        containers = {name: found for name, (found, _) in attempts.items()}
        upcoming = [at for _, at in attempts.values() if at is not None]
        facts = replace(facts, containers={**facts.containers, **containers})
        if upcoming:
            return Moment(facts, min(upcoming))
        ended_at = max(
            found.state.finished_at
            for found in containers.values()
            if isinstance(found.state, Terminated) and found.state.finished_at
        )
        # Sidecars end when all else has.
        return Moment(replace(self._stop_all(facts, ended_at), is_over=True))

    def _attempt(
        self, name: str, running_at: datetime, ready_at: datetime | None, now: datetime
    ) -> tuple[ContainerFacts, datetime | None]:
        """The container in its present attempt, and when that changes."""
        length = timedelta(seconds=stages.run_seconds(self.pod, self.profile))
        policy = self.pod["spec"].get("restartPolicy") or "Always"
        began_at, restarts, last = running_at, 0, None
        while True:
            facts = replace(self._fresh(name, began_at, restarts), restarts=restarts, last=last)
            ends_at = began_at + length
            if now < ends_at:
                is_ready = ready_at is not None and now >= ready_at
                return replace(facts, is_ready=is_ready), ends_at
            code = stages.exit_codes(self.pod, self.attempt + restarts).get(name, 0)
            ended = _terminated(facts, code, ends_at)
            if policy == "Never" or (policy == "OnFailure" and code == 0):
                return ended, None
            assert isinstance(ended.state, Terminated)
            last = replace(ended.state, id=facts.id)
            wait = self._backoff(restarts, length.total_seconds())
            began_at = ends_at + timedelta(seconds=wait)
            if now < began_at:
                return replace(facts, last=last, state=self._crash_loop(name, wait)), began_at
            restarts += 1

    def _backoff(self, restarts: int, ran_seconds: float) -> float:
        """The first restart comes at once, the next after the base, then twice that."""
        speed = self.profile.speed
        is_reset = ran_seconds * speed >= BACKOFF_RESET_SECONDS
        if is_reset or not restarts:
            wait = 0.0
        else:
            doubled = self.profile.backoff_base * 2.0 ** min(restarts - 1, 30)
            wait = min(doubled, self.profile.backoff_cap) / speed
        return max(wait, CYCLE_SECONDS_MIN - ran_seconds if restarts else 0.0, 0.0)

    def _crash_loop(self, name: str, wait: float) -> Waiting:
        metadata = self.pod["metadata"]
        where = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
        seconds = round(wait * self.profile.speed)
        message = f"back-off {seconds}s restarting failed container={name} pod={where}"
        return Waiting("CrashLoopBackOff", message)

    def _with_running(
        self, facts: PodFacts, names: list[str], at: datetime, *, is_ready: bool = False
    ) -> PodFacts:
        running = {name: replace(self._fresh(name, at), is_ready=is_ready) for name in names}
        return replace(facts, containers={**facts.containers, **running})

    def _fail(self, facts: PodFacts, name: stages.Name, at: datetime) -> PodFacts:
        """One container fails, and with it the pod; the others are stopped."""
        which, how = stages.failing(self.pod, name)
        kind = "initContainers" if name.startswith("pod-init") else "containers"
        candidates = [each["name"] for each in self.pod["spec"][kind]]
        which = which if which in candidates else candidates[0]
        facts = self._stop_all(facts, at)
        before = facts.containers[which].state
        failed = Terminated(
            how.exit_code,
            how.reason,
            how.message,
            started_at=before.started_at if isinstance(before, Terminated) else at,
            finished_at=at,
        )
        containers = {**facts.containers, which: replace(facts.containers[which], state=failed)}
        return replace(facts, containers=containers)

    def _stop_all(self, facts: PodFacts, at: datetime) -> PodFacts:
        stopped = {
            name: _terminated(each, self._code_when_stopped(name), at)
            if isinstance(each.state, Running)
            else each
            for name, each in facts.containers.items()
        }
        return replace(facts, containers=stopped, is_over=True)

    def _code_when_stopped(self, name: str) -> int:
        """Sidecars are asked to end and do; others are cut off."""
        inits = self.pod["spec"].get("initContainers") or ()
        return 0 if any(each["name"] == name for each in inits) else TERMINATED_BY_SIGNAL

    def _deadline(self) -> datetime | None:
        seconds = self.pod["spec"].get("activeDeadlineSeconds")
        return None if seconds is None else self.began_at + timedelta(seconds=int(seconds))

    def _ended_at(self, deadline: datetime) -> PodFacts:
        before = self._unbounded(deadline - timedelta(microseconds=1), was_running=True).facts
        if before.is_over:
            return before
        return replace(self._stop_all(before, deadline), failure=DEADLINE_EXCEEDED)

    def _fresh(self, name: str, at: datetime, restarts: int = 0) -> ContainerFacts:
        uid = self.pod["metadata"]["uid"]
        digest = sha256(f"{uid}/{name}/{restarts}".encode()).hexdigest()
        return ContainerFacts(Running(at), is_ready=True, id=digest)

    def _delay(self, name: stages.Name) -> timedelta:
        return timedelta(seconds=stages.delay(self.pod, name, self.profile))


def _terminated(facts: ContainerFacts, code: int, at: datetime) -> ContainerFacts:
    assert isinstance(facts.state, Running)
    ended = Terminated(code, started_at=facts.state.started_at, finished_at=at)
    return replace(facts, state=ended, is_ready=False)
