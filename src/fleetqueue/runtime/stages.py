"""The life of simulated pods as data: the stages, when each is due, and what a pod's labels and
annotations change about that. Keys are KWOK's and our own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal
from zlib import crc32

from fleetqueue.api.times import TimeError, parse_nanoseconds
from fleetqueue.kube.resources import Object

Name = Literal[
    "pod-create",
    "pod-init-container-running",
    "pod-init-container-completed",
    "pod-ready",
    "pod-complete",
    "pod-delete",
    "pod-init-container-running-failed",
    "pod-container-running-failed",
]
SUFFIX = ".stage.kwok.x-k8s.io"
RUN_SECONDS = "fleetqueue.io/sim-run-seconds"
EXIT_CODE = "fleetqueue.io/sim-exit-code"
READY_SECONDS = "fleetqueue.io/sim-ready-seconds"
FAIL_ATTEMPTS = "fleetqueue.io/sim-fail-attempts"
LOG = "fleetqueue.io/sim-log"
NEVER = "never"
"""As a number of seconds: it does not happen."""
_SHARES = 2**32


@dataclass(frozen=True, slots=True)
class Timing:
    """When a stage is due after the one before, in seconds. `up_to`: chance adds up to that."""

    after: float = 0.0
    up_to: float | None = None
    weight: int = 1
    """How likely it is among stages that compete."""


@dataclass(frozen=True, slots=True)
class Failing:
    """How a container fails where a label of the pod asks for it."""

    reason: str
    message: str
    exit_code: int = 1


FAILURES: Mapping[Name, Failing] = {
    "pod-container-running-failed": Failing("containerFailed", "container failed"),
    "pod-init-container-running-failed": Failing(
        "initContainerError", "initContainer reported errors"
    ),
}
FAILURE_WEIGHT = 10_000


@dataclass(frozen=True, slots=True)
class Profile:
    """The timing of every stage, and how much faster than the clock simulated time runs."""

    timings: Mapping[Name, Timing] = field(default_factory=dict)
    speed: float = 1.0
    backoff_base: float = 10.0
    backoff_cap: float = 300.0

    def timing(self, name: Name) -> Timing:
        default = Timing(weight=FAILURE_WEIGHT) if name in FAILURES else Timing()
        return self.timings.get(name, default)


FAST = Profile()
"""Everything happens at once."""
_GENERAL = Timing(1.0, up_to=5.0)
GENERAL = Profile(
    {
        "pod-create": _GENERAL,
        "pod-init-container-running": _GENERAL,
        "pod-init-container-completed": _GENERAL,
        "pod-ready": _GENERAL,
        "pod-complete": _GENERAL,
        "pod-delete": _GENERAL,
        "pod-init-container-running-failed": Timing(1.0, 5.0, FAILURE_WEIGHT),
        "pod-container-running-failed": Timing(1.0, 5.0, FAILURE_WEIGHT),
    }
)
"""As real pods take a few seconds for each step."""


def delay(pod: Object, name: Name, profile: Profile) -> float:
    """How long after the stage before, in seconds of the clock. The same pod always gets the same:
    what looks like chance follows from its uid.
    """
    notes, timing = annotations(pod), profile.timing(name)
    said = _kwok_span(notes.get(f"{name}{SUFFIX}/delay"))
    up_to = _kwok_span(notes.get(f"{name}{SUFFIX}/jitter-delay"))
    after = timing.after if said is None else said
    if up_to is None and said is None:
        up_to = timing.up_to
    if up_to is not None:
        after = min(after, up_to) + max(up_to - after, 0.0) * share(pod, name)
    return after / profile.speed


def fails(pod: Object, name: Name, against: Name, profile: Profile) -> bool:
    """Whether a failure was asked for, and wins over the stage it competes with."""
    if (pod["metadata"].get("labels") or {}).get(f"{name}{SUFFIX}") != "true":
        return False
    weights = [_weight(pod, each, profile) for each in (name, against)]
    return share(pod, f"{name} or {against}") * sum(weights) < weights[0]


def failing(pod: Object, name: Name) -> tuple[str, Failing]:
    """The container that is to fail ("" for the first), and how."""
    notes, default = annotations(pod), FAILURES[name]
    return notes.get(f"{name}{SUFFIX}/container-name", ""), Failing(
        notes.get(f"{name}{SUFFIX}/reason", default.reason),
        notes.get(f"{name}{SUFFIX}/message", default.message),
        _integer(notes.get(f"{name}{SUFFIX}/exit-code"), default.exit_code),
    )


def ends(pod: Object) -> bool:
    """Whether a pod ends by itself: those of Jobs do, and those that are told to."""
    notes = annotations(pod)
    if any(key in notes for key in (RUN_SECONDS, EXIT_CODE, FAIL_ATTEMPTS)):
        return notes.get(RUN_SECONDS) != NEVER
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner.get("kind") == "Job" for owner in owners)


def run_seconds(pod: Object, profile: Profile) -> float:
    """How long its containers run."""
    said = _own_span(annotations(pod).get(RUN_SECONDS))
    return delay(pod, "pod-complete", profile) if said is None else said / profile.speed


def ready_seconds(pod: Object, profile: Profile) -> float | None:
    """How long after its containers run they are ready; None: never."""
    said = annotations(pod).get(READY_SECONDS)
    if said == NEVER:
        return None
    return (_own_span(said) or 0.0) / profile.speed


def exit_codes(pod: Object, attempt: int) -> dict[str, int]:
    """By container, how attempt number `attempt` ends, which counts from 0."""
    notes = annotations(pod)
    names = [container["name"] for container in pod["spec"]["containers"]]
    text = notes.get(EXIT_CODE, "")
    codes = dict.fromkeys(names, 0)
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, equals, code = part.rpartition("=")
        for each in (name,) if equals else names:
            codes[each] = _integer(code, 1)
    attempts = _integer(notes.get(FAIL_ATTEMPTS), -1)
    if attempts < 0:
        return codes
    if attempt >= attempts:
        return dict.fromkeys(names, 0)
    return codes if any(codes.values()) else dict.fromkeys(names, 1)


def log_of(pod: Object) -> str:
    """What its containers are said to have written."""
    return annotations(pod).get(LOG, "")


def annotations(pod: Object) -> Mapping[str, str]:
    return pod["metadata"].get("annotations") or {}


def share(pod: Object, what: str) -> float:
    """A number from 0 to 1 that belongs to this pod and this question."""
    return crc32(f"{pod['metadata'].get('uid')}/{what}".encode()) / _SHARES


def _weight(pod: Object, name: Name, profile: Profile) -> int:
    said = annotations(pod).get(f"{name}{SUFFIX}/weight")
    return max(_integer(said, profile.timing(name).weight), 0)


def _kwok_span(text: str | None) -> float | None:
    """A duration such as `30s`, or a number of milliseconds; None where it is neither."""
    if text is None:
        return None
    number = _number(text)
    return number / 1000 if number is not None else _duration(text)


def _own_span(text: str | None) -> float | None:
    """A number of seconds, or a duration such as `5m`."""
    if text is None:
        return None
    number = _number(text)
    return number if number is not None else _duration(text)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return max(number, 0.0) if isfinite(number) else None


def _duration(text: str) -> float | None:
    try:
        return max(parse_nanoseconds(text) / 1e9, 0.0)
    except TimeError:
        return None


def _integer(text: str | None, default: int) -> int:
    try:
        return int(text) if text is not None else default
    except ValueError:
        return default
