"""What the pods of a job say of why they are not ready, or why they failed; in sentences that are
made of their statuses and of the Warning events about them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.kueue.admission_status import find_condition
from fleetqueue.cli.pod_reading import (
    BEGINNING,
    Object,
    involved,
    phase_of,
    sentence,
    status_of,
    unscheduled,
    waiting_of,
)

PODS_MAX = 3
EVENTS_MAX = 3
CHARACTERS_MAX = 1000
"""Of one message. Of longer ones the end is kept: that is where a log says what went wrong."""
CRASHING = "CrashLoopBackOff"
_ONLY_A_REASON = re.compile(r"Error: \w+")


@dataclass(frozen=True, slots=True)
class Seen:
    """Of one job, on one cluster."""

    pods: Sequence[Object] = ()
    pod_warnings: Sequence[Object] = ()
    """Warning events about its pods, also about those that are gone; the newest first."""
    job_warnings: Sequence[Object] = ()
    """The same about the job itself and what makes its pods."""
    reads_events: bool = True


@dataclass(frozen=True, slots=True)
class _Said:
    text: str
    tells_why: bool = True


# Pods that are not ready


def are_ready(pods: Sequence[Object]) -> bool:
    return bool(pods) and not _unready(pods)


def why_unready(seen: Seen, *, is_told: bool) -> list[str]:
    """`is_told`: the job says that not all are ready. Without that, only trouble is worth a word:
    the others may just be about to begin.
    """
    words = [(pod, _words(pod, seen)) for pod in _unready(seen.pods)]
    if not is_told:
        words = [(pod, said) for pod, said in words if said is not None]
    lines = [f"{_title(pod)}: {said or _silence(pod, seen)}" for pod, said in words[:PODS_MAX]]
    if (more := len(words) - PODS_MAX) > 0:
        lines.append(f"{more} more of its pods {'is' if more == 1 else 'are'} not ready")
    if not lines:
        lines += [_about(event) for event in _telling(seen.job_warnings)[:1]]
    if not lines and is_told and not seen.pods:
        lines.append(f"it has no pods yet{_unread(seen)}")
    return lines


def _unready(pods: Sequence[Object]) -> list[Object]:
    """Those that have failed come last: others may have taken their places."""
    found = [pod for pod in pods if not _is_ready(pod) and not _is_leaving(pod)]
    return sorted(found, key=lambda pod: (phase_of(pod) == "Failed", _name(pod)))


def _is_ready(pod: Object) -> bool:
    ready = find_condition(pod, "Ready")
    return phase_of(pod) == "Succeeded" or (ready is not None and ready["status"] == "True")


def _is_leaving(pod: Object) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def _silence(pod: Object, seen: Seen) -> str:
    waiting = (waiting_of(each) for each in _containers(pod))
    reason = next((each["reason"] for each in waiting if each.get("reason")), "")
    begun = f" ({reason})" if reason else ""
    return f"it is not ready{begun}, and nothing says why yet{_unread(seen)}"


def _unread(seen: Seen) -> str:
    return "" if seen.reads_events else "; its events may not be read"


# Pods that have failed


def why_failed(seen: Seen, told: str) -> list[str]:
    """`told`: what is said of the failure already."""
    failed = sorted(filter(_has_failed, seen.pods), key=_ended_at)
    for pod in reversed(failed):
        if (said := _words(pod, seen)) is not None:
            return [f"{_title(pod)}: {said}"]
    events = _telling(seen.pod_warnings) or _telling(
        [each for each in seen.job_warnings if each.get("message") != told]
    )
    if events:
        return list(dict.fromkeys(_about(event) for event in events))[:EVENTS_MAX]
    return [f"its pods are gone, and no event says more{_unread(seen)}"]


def _has_failed(pod: Object) -> bool:
    return phase_of(pod) == "Failed" or any(_ended(each) for each in _containers(pod))


def _ended_at(pod: Object) -> str:
    ends = [str((_ended(each) or {}).get("finishedAt") or "") for each in _containers(pod)]
    return max([*ends, str(pod["metadata"].get("creationTimestamp") or "")])


# One pod


def _words(pod: Object, seen: Seen) -> str | None:
    """Nothing where nobody says anything; an event helps where its status only gives a name."""
    said = next(_all_said(pod), None)
    if said is not None and said.tells_why:
        return said.text
    own = [each for each in seen.pod_warnings if _is_about(each, pod)]
    event = next((_event_words(each) for each in _telling(own)), None)
    return "; ".join(filter(None, ["" if said is None else said.text, event])) or None


def _all_said(pod: Object) -> Iterator[_Said]:
    containers = _containers(pod)
    for container in containers:
        waiting = waiting_of(container)
        if waiting.get("reason", "") not in BEGINNING or waiting.get("message"):
            yield _of_waiting(container, waiting)
    for container in containers:
        if ended := _ended(container):
            yield _Said(
                f"container {container['name']} ended: {_end(ended)}", bool(ended.get("message"))
            )
    status = status_of(pod)
    if status.get("message"):
        yield _Said(_joined(status.get("reason"), status["message"]))
    if message := (unscheduled(pod) or {}).get("message"):
        yield _Said(f"it is on no node: {clean(message)}")


def _of_waiting(container: Object, waiting: Object) -> _Said:
    text = f"container {container['name']} waits: "
    text += _joined(waiting.get("reason"), waiting.get("message"))
    ended = _ended(container)
    if not ended:
        return _Said(text, bool(waiting.get("message")) and waiting.get("reason") != CRASHING)
    return _Said(f"{text}; it ended before: {_end(ended)}", bool(ended.get("message")))


def _end(ended: Object) -> str:
    text = f"{ended.get('reason') or 'Error'}, exit code {ended['exitCode']}"
    return f"{text}: {clean(ended['message'])}" if ended.get("message") else text


def _containers(pod: Object) -> list[Object]:
    status = status_of(pod)
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def _ended(container: Object) -> Object | None:
    """How it ended with an error, now or before its restart; one that is ready again is well."""
    if container.get("ready"):
        return None
    for name in ("state", "lastState"):
        ended: Object | None = (container.get(name) or {}).get("terminated")
        if ended:
            return ended if ended.get("exitCode") else None
    return None


def _name(pod: Object) -> str:
    return str(pod["metadata"]["name"])


def _title(pod: Object) -> str:
    return f"pod {_name(pod)}"


# Events


def _is_about(event: Object, pod: Object) -> bool:
    uid = (event.get("involvedObject") or {}).get("uid")
    return involved(event)[1] == _name(pod) and uid in (None, "", pod["metadata"].get("uid"))


def _telling(events: Sequence[Object]) -> list[Object]:
    """Those that say more than that something is tried again; all where none does."""
    return [each for each in events if _tells_more(each)] or list(events)


def _tells_more(event: Object) -> bool:
    message = str(event.get("message") or "")
    return event.get("reason") != "BackOff" and not _ONLY_A_REASON.fullmatch(message)


def _about(event: Object) -> str:
    kind, name = involved(event)
    return f"{kind.lower()} {name}: {_event_words(event)}"


def _event_words(event: Object) -> str:
    return _joined(event.get("reason"), event.get("message"))


# Texts


def _joined(reason: Any, message: Any) -> str:
    return sentence(reason, clean(str(message or "")))


def clean(text: str) -> str:
    """One line of what can be printed: a container writes what it likes."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= CHARACTERS_MAX else f"… {line[-CHARACTERS_MAX:]}"
