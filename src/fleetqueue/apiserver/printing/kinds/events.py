"""The table of events, whichever API group they are read from."""

from datetime import datetime

from fleetqueue.apiserver.printing import cells
from fleetqueue.apiserver.printing.cells import at, dig, only
from fleetqueue.apiserver.printing.layout import Column, Layout, Object


def _first_seen(event: Object, now: datetime) -> str:
    return cells.since(event.get("firstTimestamp") or event.get("eventTime"), now)


def _last_seen(event: Object, now: datetime) -> str:
    if event.get("series") is not None:
        return cells.since(dig(event, "series", "lastObservedTime"), now)
    if event.get("lastTimestamp"):
        return cells.since(event["lastTimestamp"], now)
    return _first_seen(event, now)


def _count(event: Object) -> int:
    if event.get("series") is not None:
        return dig(event, "series", "count") or 0
    return event.get("count") or 1


def _target(event: Object) -> str:
    kind = (dig(event, "involvedObject", "kind") or "").lower()
    name = dig(event, "involvedObject", "name")
    return f"{kind}/{name}" if name else kind


def _source(event: Object) -> str:
    component = dig(event, "source", "component") or event.get("reportingComponent") or ""
    instance = dig(event, "source", "host") or event.get("reportingInstance")
    return f"{component}, {instance}" if instance else component


EVENTS = Layout(
    (
        Column("Last Seen", _last_seen),
        Column("Type", at("type")),
        Column("Reason", at("reason")),
        Column("Object", only(_target)),
        Column("Subobject", at("involvedObject", "fieldPath"), priority=1),
        Column("Source", only(_source), priority=1),
        Column("Message", only(lambda event: (event.get("message") or "").strip())),
        Column("First Seen", _first_seen, priority=1),
        Column("Count", only(_count), priority=1),
        Column("Name", cells.name_of, format="name", priority=1),
    ),
    api_version="v1",
)

LAYOUTS = {("", "Event"): EVENTS, ("events.k8s.io", "Event"): EVENTS}
