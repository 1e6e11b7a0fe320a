"""Decides what becomes of an event: new, one more of the same, combined with its like, or dropped.

The numbers are client-go's, so that people find the events they are used to.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from fleetqueue.kube.remembered import Remembered
from fleetqueue.kube.resources import Object

SIMILAR_MAX = 10
"""Different messages of one reason about one object, after which they are combined."""
SIMILAR_WITHIN = timedelta(minutes=10)
BURST = 25
"""Events about one object at once; after these one more every five minutes."""
REFILL_EVERY = timedelta(minutes=5)
SERIES_WITHIN = timedelta(minutes=6)
"""Events with an action that come again this soon are one, with a count; the server is told when
the second comes, and then once in a while.
"""
SERIES_TOLD_EVERY = timedelta(minutes=30)
COMBINED_PREFIX = "(combined from similar events): "


@dataclass(frozen=True)
class Occurrence:
    """Something that happened to an object."""

    about: tuple[tuple[str, str], ...]
    """The involved object's reference, as sorted pairs."""
    type: str
    reason: str
    message: str
    component: str
    at: datetime
    action: str = ""
    """What was done; with one it is an event as events.k8s.io has them."""


@dataclass(frozen=True)
class Write:
    """An event to create, or to count up: then `name` is that of the one that exists."""

    occurrence: Occurrence
    count: int
    first_at: datetime
    name: str = ""


@dataclass
class _Similar:
    last_at: datetime
    messages: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Bucket:
    tokens: float
    filled_at: datetime


@dataclass(frozen=True)
class _Seen:
    count: int
    first_at: datetime
    name: str


@dataclass(frozen=True)
class _Series:
    seen: _Seen
    last_at: datetime
    told_at: datetime


class Correlator:
    """Remembers what was sent."""

    def __init__(self) -> None:
        self._similar: Remembered[_Similar] = Remembered()
        self._buckets: Remembered[_Bucket] = Remembered()
        self._seen: Remembered[_Seen] = Remembered()
        self._series: Remembered[_Series] = Remembered()

    def correlate(self, occurrence: Occurrence) -> Write | None:
        """What to write; None: too many about this object, drop it."""
        if occurrence.action:
            return self._in_series(occurrence)
        combined, key = self._combine(occurrence)
        seen = self._seen.get(key)
        count = seen.count + 1 if seen else 1
        first_at = seen.first_at if seen else occurrence.at
        name = seen.name if seen else ""
        self._seen.put(key, _Seen(count, first_at, name))
        if not self._has_token(occurrence):
            return None
        return Write(combined, count, first_at, name)

    def written(self, write: Write, event: Object) -> None:
        """Remembers the name under which an event exists now."""
        name = str(event["metadata"]["name"])
        seen = _Seen(write.count, write.first_at, name)
        if write.occurrence.action:
            at = write.occurrence.at
            self._series.put(_kind_of(write.occurrence), _Series(seen, at, at))
        else:
            self._seen.put(self._key(write.occurrence), seen)

    def _in_series(self, occurrence: Occurrence) -> Write | None:
        """One more of its kind, or the first of a new series."""
        kind, at = _kind_of(occurrence), occurrence.at
        known = self._series.get(kind)
        if known is None or at - known.last_at > SERIES_WITHIN:
            return Write(occurrence, 1, at)
        seen = replace(known.seen, count=known.seen.count + 1)
        self._series.put(kind, replace(known, seen=seen, last_at=at))
        if seen.count > 2 and at - known.told_at < SERIES_TOLD_EVERY:
            return None
        return Write(occurrence, seen.count, seen.first_at, seen.name)

    def _combine(self, occurrence: Occurrence) -> tuple[Occurrence, Hashable]:
        group = (occurrence.component, occurrence.about, occurrence.type, occurrence.reason)
        similar = self._similar.get(group)
        if similar is None or occurrence.at - similar.last_at > SIMILAR_WITHIN:
            similar = _Similar(occurrence.at)
            self._similar.put(group, similar)
        similar.messages.add(occurrence.message)
        similar.last_at = occurrence.at
        if len(similar.messages) < SIMILAR_MAX:
            return occurrence, self._key(occurrence)
        # One message is forgotten, so that the set stays small and the next one is combined too.
        similar.messages.discard(min(similar.messages))
        combined = replace(occurrence, message=COMBINED_PREFIX + occurrence.message)
        return combined, self._key(combined)

    def _key(self, occurrence: Occurrence) -> Hashable:
        about = (occurrence.component, occurrence.about, occurrence.type, occurrence.reason)
        if occurrence.message.startswith(COMBINED_PREFIX):
            return about
        return (*about, occurrence.message)

    def _has_token(self, occurrence: Occurrence) -> bool:
        key = (occurrence.component, occurrence.about)
        bucket = self._buckets.get(key) or _Bucket(BURST, occurrence.at)
        gained = (occurrence.at - bucket.filled_at) / REFILL_EVERY
        tokens = min(BURST, bucket.tokens + gained)
        is_allowed = tokens >= 1
        self._buckets.put(key, _Bucket(tokens - 1 if is_allowed else tokens, occurrence.at))
        return is_allowed


def _kind_of(occurrence: Occurrence) -> Hashable:
    told = (occurrence.type, occurrence.reason, occurrence.action, occurrence.message)
    return (occurrence.component, occurrence.about, *told)
