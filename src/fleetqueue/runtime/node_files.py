"""Reads declarations of nodes from a YAML file: a list under `nodes`, or Node objects."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.api.quantity import Quantity, QuantityError
from fleetqueue.base import documents
from fleetqueue.errors import InvalidInput, Problem
from fleetqueue.runtime.modes import PROCESS, SIMULATED, is_simulated_node
from fleetqueue.runtime.nodes import NodeSpec, expanded

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
COUNT_MAX = 10_000
_FIELDS = ("name", "count", "mode", "capacity", "labels", "annotations", "taints")


def read_nodes(text: str, source: str = "the file") -> list[NodeSpec]:
    """All nodes that a text declares, one by one; everything that is wrong is told at once."""
    try:
        found = documents.load_all(text)
    except documents.DocumentError as error:
        raise InvalidInput(Problem(source, f"cannot be read: {error}")) from error
    reader = _Reader(source)
    specs = [spec for number, each in enumerate(found) for spec in reader.document(each, number)]
    if not specs and not reader.problems:
        fix = "write a list of nodes under `nodes`, or Node objects"
        reader.problems.append(Problem(source, "declares no node", fix=fix))
    singles = expanded(specs)
    seen: set[str] = set()
    for spec in singles:
        if spec.name in seen:
            reader.wrong("", f'declares the node "{spec.name}" twice', "give each another name")
        seen.add(spec.name)
    if reader.problems:
        raise InvalidInput(*reader.problems)
    return singles


class _Reader:
    """Collects what is wrong while it reads on."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.problems: list[Problem] = []

    def wrong(self, where: str, what: str, fix: str = "") -> None:
        self.problems.append(Problem(self._source, what, where, fix))

    def document(self, found: Any, number: int) -> list[NodeSpec]:
        where = f"document {number + 1}" if number else ""
        if isinstance(found, Mapping) and found.get("kind") == "Node":
            return self._object(found, where)
        if not isinstance(found, Mapping) or not isinstance(found.get("nodes"), list):
            fix = "begin with `nodes:` and a list, or with `kind: Node`"
            self.wrong(where, "declares no list of nodes", fix)
            return []
        entries = [(f"nodes[{at}]", entry) for at, entry in enumerate(found["nodes"])]
        made = (self._entry(entry, path) for path, entry in entries)
        return [spec for spec in made if spec is not None]

    def _object(self, node: Mapping[str, Any], where: str) -> list[NodeSpec]:
        metadata, status = node.get("metadata") or {}, node.get("status") or {}
        entry = {
            "name": metadata.get("name"),
            "labels": metadata.get("labels") or {},
            "annotations": metadata.get("annotations") or {},
            "taints": (node.get("spec") or {}).get("taints") or [],
            "capacity": status.get("capacity") or status.get("allocatable") or {},
            "mode": SIMULATED if is_simulated_node({"metadata": metadata}) else PROCESS,
        }
        spec = self._entry(entry, where)
        return [spec] if spec is not None else []

    def _entry(self, entry: Any, where: str) -> NodeSpec | None:
        if not isinstance(entry, Mapping):
            self.wrong(where, "has a node that is not a mapping", "write `name: …` and its fields")
            return None
        before = len(self.problems)
        for name in entry:
            if name not in _FIELDS:
                fix = f"use one of: {', '.join(_FIELDS)}"
                self.wrong(f"{where}.{name}", f'has an unknown field "{name}"', fix)
        spec = NodeSpec(
            name=self._name(entry.get("name"), where),
            mode=self._mode(entry.get("mode", SIMULATED), where),
            capacity=self._capacity(entry.get("capacity") or {}, f"{where}.capacity"),
            labels=self._texts(entry.get("labels") or {}, f"{where}.labels"),
            annotations=self._texts(entry.get("annotations") or {}, f"{where}.annotations"),
            taints=tuple(self._taints(entry.get("taints") or [], f"{where}.taints")),
            count=self._count(entry.get("count", 1), f"{where}.count"),
        )
        return spec if len(self.problems) == before else None

    def _name(self, name: Any, where: str) -> str:
        if not isinstance(name, str) or names.dns1123_subdomain(name):
            fix = "use lower case letters, digits, `-` and `.`"
            self.wrong(f"{where}.name", f"has a node with the name {name!r}", fix)
            return "?"
        return name

    def _mode(self, mode: Any, where: str) -> Any:
        if mode not in (PROCESS, SIMULATED):
            fix = f"use `{PROCESS}` or `{SIMULATED}`"
            self.wrong(f"{where}.mode", f"has the unknown mode {mode!r}", fix)
        return mode

    def _count(self, count: Any, where: str) -> int:
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= COUNT_MAX:
            self.wrong(where, f"has the count {count!r}", f"use a number from 1 to {COUNT_MAX}")
            return 1
        return count

    def _capacity(self, given: Any, where: str) -> dict[str, str]:
        made = {}
        for name, amount in self._mapping(given, where).items():
            try:
                made[str(name)] = str(Quantity.of(amount))
            except QuantityError:
                fix = "write a quantity such as `8`, `500m` or `32Gi`"
                self.wrong(f"{where}.{name}", f"has the amount {amount!r}", fix)
        return made

    def _texts(self, given: Any, where: str) -> dict[str, str]:
        made = {}
        for name, text in self._mapping(given, where).items():
            if not isinstance(text, str):
                self.wrong(f"{where}.{name}", f"has the value {text!r}", "put it in quotes")
            made[str(name)] = str(text)
        return made

    def _mapping(self, given: Any, where: str) -> Mapping[Any, Any]:
        if isinstance(given, Mapping):
            return given
        self.wrong(where, "is not a mapping", "write `key: value` lines")
        return {}

    def _taints(self, given: Any, where: str) -> list[dict[str, Any]]:
        if not isinstance(given, list):
            self.wrong(where, "is not a list", "write one taint a line, each after `- `")
            return []
        made = (self._taint(taint, f"{where}[{at}]") for at, taint in enumerate(given))
        return [taint for taint in made if taint]

    def _taint(self, taint: Any, where: str) -> dict[str, Any]:
        """`key=value:Effect`, as kubectl takes it, or a mapping."""
        if isinstance(taint, str):
            pair, _, effect = taint.rpartition(":")
            key, _, value = pair.partition("=")
            taint = {"key": key, "effect": effect} | ({"value": value} if value else {})
        if not isinstance(taint, Mapping) or not taint.get("key"):
            self.wrong(where, "is no taint", "write `key=value:NoSchedule`")
            return {}
        if taint.get("effect") not in EFFECTS:
            fix = f"use one of: {', '.join(EFFECTS)}"
            self.wrong(where, f"has the effect {taint.get('effect')!r}", fix)
            return {}
        return dict(taint)
