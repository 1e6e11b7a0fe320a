"""How the lists and maps of built-in kinds merge, read from their published schemas; of other kinds
nothing is known, and their lists are replaced as a whole.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from fleetqueue.api import kubernetes

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """A field of a kind: the schema of its value, or of its items, and how it merges."""

    definition: str = ""
    """The name of the schema of the object here, or of the list's items; "" where unknown."""
    strategies: frozenset[str] = frozenset()
    merge_key: str = ""

    def below(self, field: str) -> "Place":
        return _below(self.definition, field) if self.definition else NOWHERE

    @property
    def merges(self) -> bool:
        return "merge" in self.strategies

    @property
    def retains_keys(self) -> bool:
        return "retainKeys" in self.strategies

    @property
    def is_replaced(self) -> bool:
        return "replace" in self.strategies


NOWHERE = Place()


def place_of(group: str, version: str, kind: str) -> Place | None:
    """Of a whole object; None for kinds that are not built in."""
    name = kubernetes.definition_names().get((group, version, kind))
    return None if name is None else Place(name)


@cache
def _below(definition: str, field: str) -> Place:
    schema = kubernetes.definitions()[definition]
    found = (schema.get("properties") or {}).get(field)
    if found is None:
        return NOWHERE
    strategies = frozenset(filter(None, str(_told(found, "strategy") or "").split(",")))
    below = found.get("items") if found.get("type") == "array" else found
    return Place(_reference(below or {}), strategies, str(_told(found, "merge-key") or ""))


def _told(schema: Json, name: str) -> Any:
    return schema.get(f"x-kubernetes-patch-{name}")


def _reference(schema: Json) -> str:
    parts = schema.get("allOf") or [{}]
    found = str(schema.get("$ref") or parts[0].get("$ref") or "")
    return found.rpartition("/")[2]
