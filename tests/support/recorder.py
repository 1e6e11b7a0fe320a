"""Watches objects and keeps every distinct state of each, as facts that compare well: times, uids
and generated names are told by what they are, not by their value.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from fleetqueue.kube.client import Client
from fleetqueue.kube.resources import EVENTS, Object, Resource
from fleetqueue.runtime.stages import RUN_SECONDS

Facts = dict[str, Any]
"""What an object says, flat: `spec.podSets[main].count`, `finalizers`, the type of a condition."""
Story = list[Facts]
"""The first facts, then what each further state changed; None is a fact that is gone."""

COUNTERS = ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads", "flavors")
APART = (
    "PodsReady",
    *("active", "ready", "terminating", "uncountedTerminatedPods", "succeeded"),
    *COUNTERS,
)
"""Facts that follow others in a time of their own: what they meet on their way is chance."""
_TIME = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z$")
_SPAN = re.compile(r"\bwas (?=\d)[\dhms.µn]+")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_WORKLOAD = re.compile(r"\b((?:job|pod)-[a-z0-9-]*?)-[0-9a-f]{5}\b")
TOKEN = "kube-api-access-"
"""The volume that every pod gets for its token, under a name of its own."""
_LEFT_OUT = {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "managedFields"}
_LEFT_OUT |= {"generateName"}
CONSTANT = {
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}


class Recorder:
    """Records while it is entered."""

    def __init__(self, client: Client, kinds: Iterable[Resource]) -> None:
        self._client = client
        self._kinds = (*kinds, EVENTS)
        self._tasks: list[asyncio.Task[None]] = []
        self._states: dict[tuple[str, str, str], list[Facts]] = {}
        """By kind, name without its generated part, and uid."""
        self._generated: dict[str, str] = {}
        self._events: dict[str, Object] = {}

    async def __aenter__(self) -> "Recorder":
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._follow(kind)) for kind in self._kinds]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self, kind: Resource) -> None:
        async for event in self._client.watch(kind):
            if event.type == "BOOKMARK":
                continue
            if kind is EVENTS:
                self._events[event.object["metadata"]["uid"]] = event.object
            else:
                self._keep(event.object, is_gone=event.type == "DELETED")

    def _keep(self, obj: Object, *, is_gone: bool) -> None:
        metadata = obj["metadata"]
        name = plain(metadata["name"])
        if metadata.get("generateName"):
            name = self._generated[metadata["name"]] = f"{metadata['generateName']}*"
        states = self._states.setdefault((obj["kind"], name, metadata["uid"]), [])
        found = facts(obj) | ({"gone": True} if is_gone else {})
        if not states or found != states[-1]:
            states.append(found)

    # What was seen

    def stories(self, kind: str, name: str) -> list[Story]:
        """Of all objects that go by the name (its generated part is `*`), without what is told
        apart.
        """
        return [
            story([_without(state, APART) for state in states]) for states in self._of(kind, name)
        ]

    def story(self, kind: str, name: str) -> Story:
        [found] = self.stories(kind, name)
        return found

    def track(self, kind: str, name: str, fact: str) -> list[Any]:
        """The values that a fact had, one after the other; None before and without it."""
        [values] = self.tracks(kind, name, fact)
        return values

    def tracks(self, kind: str, name: str, fact: str) -> list[list[Any]]:
        """The same of all objects that go by the name."""
        return [_values(states, fact) for states in self._of(kind, name)]

    def counters(self, kind: str, name: str) -> list[str]:
        """What a queue said of its workloads, one after the other."""
        [states] = self._of(kind, name)
        lines: list[str] = []
        for state in states:
            line = counted(state)
            if line and lines[-1:] != [line]:
                lines.append(line)
        return lines

    def names(self, kind: str) -> list[str]:
        return sorted({name for of, name, _ in self._states if of == kind})

    def events(self, about: str = "") -> list[tuple[str, ...]]:
        """About what, type, reason, message, who reported it and the action; sorted."""
        lines = [self._event(each) for each in self._events.values()]
        return sorted(line for line in lines if line[0].startswith(about))

    def _of(self, kind: str, name: str) -> list[list[Facts]]:
        return [states for (*key, _), states in self._states.items() if key == [kind, name]]

    def _event(self, event: Object) -> tuple[str, ...]:
        about, message = event["involvedObject"], plain(event.get("message") or "")
        for found, told in self._generated.items():
            message = message.replace(found, told)
        if event["reason"] == "Scheduled":
            message = re.sub(r" to \S+$", " to <node>", message)
        name = self._generated.get(about["name"], plain(about["name"]))
        by, action = event.get("reportingComponent") or "", event.get("action") or ""
        return f"{about['kind']} {name}", event["type"], event["reason"], message, by, action


def _values(states: Iterable[Facts], fact: str) -> list[Any]:
    values: list[Any] = [None]
    for state in states:
        if state.get(fact) != values[-1]:
            values.append(state.get(fact))
    return values[1:]


def counted(state: Facts) -> str:
    """`1 waits, 2 hold cpu 4, 1 admitted cpu 3`; a part that is borrowed follows a plus."""
    if "pendingWorkloads" not in state:
        return ""
    return (
        f"{state['pendingWorkloads']} wait, "
        f"{state['reservingWorkloads']} hold {_amounts(state, 'flavorsReservation')}, "
        f"{state['admittedWorkloads']} admitted {_amounts(state, 'flavorsUsage')}"
    )


def _amounts(state: Facts, usage: str) -> str:
    told = []
    for path, total in state.items():
        if path.startswith(usage) and path.endswith(".total"):
            borrowed = state.get(path.replace(".total", ".borrowed"), "0")
            told.append(total if borrowed == "0" else f"{total} ({borrowed} borrowed)")
    return "+".join(told) or "nothing"


def story(states: Iterable[Facts]) -> Story:
    told: Story = []
    before: Facts = {}
    for now in states:
        if changed := changes(before, now):
            told.append(changed)
        before = now
    return told


def changes(before: Facts, now: Facts) -> Facts:
    gone = {key: None for key in before if key not in now}
    return {**gone, **{key: value for key, value in now.items() if before.get(key) != value}}


def _without(state: Facts, left_out: Iterable[str]) -> Facts:
    return {key: value for key, value in state.items() if not key.startswith(tuple(left_out))}


# Facts


def facts(obj: Object) -> Facts:
    found: Facts = {}
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _LEFT_OUT}
    for owner in metadata.pop("ownerReferences", None) or ():
        found[f"owner {owner['kind']} {plain(owner['name'])}"] = bool(owner.get("controller"))
    _flatten("", metadata, found)
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    for condition in status.pop("conditions", None) or ():
        found[str(condition["type"])] = _condition(condition)
    if obj["kind"] == "Pod":
        spec, status = _of_pod(spec, status, found)
    _flatten("spec", spec, found)
    _flatten("", status, found)
    for key in set(obj) - {"apiVersion", "kind", "metadata", "spec", "status"}:
        _flatten(key, obj[key], found)
    return {key: value for key, value in found.items() if key not in ("", "spec")}


def _of_pod(spec: Object, status: Object, found: Facts) -> tuple[Object, Object]:
    """What a queue can see of a pod; the rest is between it and its node."""
    for type in ("Initialized", "ContainersReady", "PodReadyToStartContainers"):
        found.pop(type, None)
    for type in ("PodScheduled", "Ready"):
        if type in found:
            found[type] = re.sub(r" @\d+", "", found[type])
    shown = {"nodeName": "<node>"} if spec.get("nodeName") else {}
    if gates := spec.get("schedulingGates"):
        shown["schedulingGates"] = gates
    return shown, {key: value for key, value in status.items() if key == "phase"}


def _condition(condition: Object) -> str:
    """`True Ready @1: what it says`; the number is the generation that was seen."""
    said = [str(condition["status"]), str(condition.get("reason") or "")]
    if generation := condition.get("observedGeneration"):
        said.append(f"@{generation}")
    line = " ".join(each for each in said if each)
    message = plain(str(condition.get("message") or ""))
    return f"{line}: {message}" if message else line


def plain(text: str) -> str:
    """Without what differs from one run to the next."""
    if _TIME.match(text):
        return "<t>"
    return _WORKLOAD.sub(r"\1-*", _SPAN.sub("was <d>", _UID.sub("<uid>", text)))


def _flatten(path: str, value: Any, found: Facts) -> None:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            if key != RUN_SECONDS and not _is_constant(path, key, inner):
                _flatten(f"{path}.{key}" if path else key, inner, found)
    elif isinstance(value, list) and value and all(_is_named(each) for each in value):
        for each in value:
            if each["name"].startswith(TOKEN):
                continue
            rest = {key: inner for key, inner in each.items() if key != "name"}
            _flatten(f"{path.removesuffix('.resources')}[{each['name']}]", rest, found)
    elif value is not None:
        found[path] = _plain(value)


def _is_constant(path: str, key: str, value: Any) -> bool:
    return ".template." in f"{path}." and key in CONSTANT and CONSTANT[key] == value


def _is_named(value: Any) -> bool:
    return isinstance(value, Mapping) and "name" in value


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value


# Who owns what


def owned(obj: Object) -> dict[tuple[str, str, str], set[str]]:
    """By manager, operation and subresource, the paths of its fields."""
    found = {}
    for entry in obj["metadata"].get("managedFields") or ():
        by = (entry["manager"], entry["operation"], entry.get("subresource", ""))
        found[by] = {plain(path) for path in _paths("", entry["fieldsV1"])}
    return found


def _paths(path: str, fields: Mapping[str, Any]) -> Iterable[str]:
    for key, inner in fields.items():
        if key == ".":
            yield path
        elif key.startswith("k:"):
            [(name, value)] = json.loads(key[2:]).items()
            below = f"{path}[{name}={value}]"
            yield from _paths(below, inner) if inner else (below,)
        else:
            below = f"{path}.{key[2:]}" if path else key[2:]
            yield from _paths(below, inner) if inner else (below,)
