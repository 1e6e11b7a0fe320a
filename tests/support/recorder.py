"""Watches objects and keeps every distinct state of each, as facts that compare well: times, uids
and generated names are told apart by what they are, not by their value.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping
from typing import Any

from fleetqueue.kube.client import Client
from fleetqueue.kube.resources import EVENTS, Object, Resource

Facts = dict[str, Any]
"""What an object says, flat: `spec.podSets[main].count`, or the type of a condition."""
Story = list[Facts]
"""The first facts, then what each further state changed; None is a fact that is gone."""
_TIME = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z$")
_SPAN = re.compile(r"(\bwas |within |exceeded )(?=\d)[\dhms.µn]+")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_WORKLOAD = re.compile(r"\b((?:job|pod)-[a-z0-9-]*?)-[0-9a-f]{5}\b")
_LEFT_OUT = {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "managedFields"}
_LEFT_OUT |= {"generateName"}
_CONSTANT = {
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
    "serviceAccount": "default",
    "serviceAccountName": "default",
}


class Recorder:
    """Records from `start` on; `close` ends its watches."""

    def __init__(self, client: Client, kinds: Iterable[Resource]) -> None:
        self._client = client
        self._kinds = (*kinds, EVENTS)
        self._tasks: list[asyncio.Task[None]] = []
        self._states: dict[tuple[str, str], list[Facts]] = {}
        self._names: dict[str, str] = {}
        self._seen_events: dict[str, Facts] = {}

    async def __aenter__(self) -> "Recorder":
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._follow(kind)) for kind in self._kinds]
        await asyncio.sleep(0)
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
                self._seen_events[event.object["metadata"]["uid"]] = event.object
            else:
                self._keep(event.type, event.object)

    def _keep(self, type: str, obj: Object) -> None:
        metadata = obj["metadata"]
        states = self._states.setdefault((obj["kind"], metadata["uid"]), [])
        if metadata.get("generateName"):
            self._names[metadata["name"]] = f"{metadata['generateName']}*"
        self._names.setdefault(metadata["name"], plain(metadata["name"]))
        found = facts(obj)
        if type == "DELETED":
            found["DELETED"] = True
        if not states or found != states[-1]:
            states.append({**found, "": metadata["name"]})

    def stories(self, kind: str, name: str) -> list[Story]:
        """Of all objects that go by the name; generated parts of one are `*`."""
        return [
            story([{key: each for key, each in state.items() if key} for state in states])
            for (of, _), states in self._states.items()
            if of == kind and self._names[states[0][""]] == name
        ]

    def names(self, kind: str) -> list[str]:
        found = {self._names[states[0][""]] for (of, _), states in self._states.items() if of == kind}
        return sorted(found)

    def events(self, namespace: str = "") -> list[tuple[str, ...]]:
        """About what, type, reason, message, who reported it and the action; in order of arrival."""
        return [
            event_line(each, self._names)
            for each in self._seen_events.values()
            if not namespace or each["involvedObject"].get("namespace") == namespace
        ]


def story(states: Iterable[Facts]) -> Story:
    told: Story = []
    before: Facts = {}
    for now in states:
        told.append(changes(before, now))
        before = now
    return told


def changes(before: Facts, now: Facts) -> Facts:
    gone = {key: None for key in before if key not in now}
    return {**gone, **{key: value for key, value in now.items() if before.get(key) != value}}


def event_line(event: Object, names: Mapping[str, str]) -> tuple[str, ...]:
    about = event["involvedObject"]
    name = names.get(about["name"], plain(about["name"]))
    message = plain(event.get("message") or "")
    for found, told in names.items():
        if told.endswith("*"):
            message = message.replace(found, told)
    return (
        f"{about['kind']} {name}",
        event["type"],
        event["reason"],
        re.sub(r" to \S+$", " to <node>", message) if event["reason"] == "Scheduled" else message,
        event.get("reportingComponent") or (event.get("source") or {}).get("component", ""),
        event.get("action") or "",
    )


# Facts


def facts(obj: Object) -> Facts:
    found: Facts = {}
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _LEFT_OUT}
    metadata["annotations"] = {
        key: value
        for key, value in (metadata.get("annotations") or {}).items()
        if key != RUN_SECONDS
    }
    _owners(metadata, found)
    _flatten("", metadata, found)
    status = dict(obj.get("status") or {})
    for condition in status.pop("conditions", None) or ():
        found[str(condition["type"])] = condition_line(condition)
    spec = dict(obj.get("spec") or {})
    if obj["kind"] == "Pod":
        spec, status = _pod_facts(spec, status, found)
    _flatten("spec", spec, found)
    _flatten("", {**status}, found)
    for key in set(obj) - {"apiVersion", "kind", "metadata", "spec", "status"}:
        _flatten(key, obj[key], found)
    return {key: value for key, value in found.items() if key not in ("", "spec")}


def _pod_facts(spec: Object, status: Object, found: Facts) -> tuple[Object, Object]:
    """What a queue can see of a pod; the rest is between it and its node."""
    for type in ("Initialized", "ContainersReady", "PodReadyToStartContainers"):
        found.pop(type, None)
    for type in ("PodScheduled", "Ready"):
        if type in found:
            found[type] = re.sub(r" @\d+", "", found[type])
    shown = {"nodeName": "<node>"} if spec.get("nodeName") else {}
    return shown, {key: value for key, value in status.items() if key == "phase"}


def condition_line(condition: Object) -> str:
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
    text = _SPAN.sub(r"\1<d>", _UID.sub("<uid>", text))
    return _WORKLOAD.sub(r"\1-*", text)


def _owners(metadata: Object, found: Facts) -> None:
    for owner in metadata.pop("ownerReferences", None) or ():
        role = "controller" if owner.get("controller") else "owner"
        found[f"owner {owner['kind']} {plain(owner['name'])}"] = role


def _flatten(path: str, value: Any, found: Facts) -> None:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            if not (key in _CONSTANT and _CONSTANT[key] == inner and ".template." in f"{path}."):
                _flatten(f"{path}.{key}" if path else key, inner, found)
    elif isinstance(value, list) and value and all(_name(each) for each in value):
        for each in value:
            rest = {key: inner for key, inner in each.items() if key != "name"}
            _flatten(f"{path.removesuffix('.resources')}[{each['name']}]", rest, found)
    elif value is not None:
        found[path] = _plain(value)


def _name(value: Any) -> bool:
    return isinstance(value, Mapping) and "name" in value


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value
