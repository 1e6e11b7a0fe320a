"""Pairs the values of an object with what stood in the same place before an update.

Ratcheting tolerates errors in values that did not change; transition rules compare old and new.
Fields and map keys pair by name, items of map lists by their keys, items of other lists never.
"""

from typing import Any

from fleetqueue.apiserver.schema.node import Node
from fleetqueue.apiserver.schema.values import same


class Pair:
    """A value and its predecessor."""

    __slots__ = ("_equal", "_old_items", "node", "old", "value")

    def __init__(self, value: Any, old: Any, node: Node) -> None:
        self.value = value
        self.old = old
        self.node = node
        self._equal: bool | None = None
        self._old_items: dict[str, Any] | None = None

    @property
    def is_unchanged(self) -> bool:
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def field(self, name: str) -> "Pair | None":
        if not isinstance(self.value, dict) or not isinstance(self.old, dict):
            return None
        if name not in self.value or name not in self.old:
            return None
        below = self.node.child(name)
        return None if below is None else Pair(self.value[name], self.old[name], below)

    def item(self, index: int) -> "Pair | None":
        if not isinstance(self.value, list) or not isinstance(self.old, list):
            return None
        if self.node.list_type != "map" or self.node.items is None:
            return None
        if self._old_items is None:
            self._old_items = by_key(self.old, self.node)
        item = self.value[index]
        old = self._old_items.get(item_key(item, self.node))
        return None if old is None else Pair(item, old, self.node.items)

    def _compare(self) -> bool:
        if isinstance(self.value, list) and self.node.list_type == "map":
            return self._compare_map_list()
        if isinstance(self.value, dict) and isinstance(self.old, dict):
            return self.value.keys() == self.old.keys() and all(
                self._is_field_unchanged(name) for name in self.value
            )
        return same(self.value, self.old)

    def _is_field_unchanged(self, name: str) -> bool:
        # Where the schema knows no field, nothing pairs, and the whole counts as changed.
        pair = self.field(name)
        return pair is not None and pair.is_unchanged

    def _compare_map_list(self) -> bool:
        if not isinstance(self.old, list) or len(self.old) != len(self.value):
            return False
        pairs = [self.item(index) for index in range(len(self.value))]
        return all(pair is not None and pair.is_unchanged for pair in pairs)


def by_key(items: list[Any], node: Node) -> dict[str, Any]:
    """The items of a map list by their key; the first one wins."""
    found: dict[str, Any] = {}
    for item in items:
        key = item_key(item, node)
        if key:
            found.setdefault(key, item)
    return found


def item_key(item: Any, node: Node) -> str:
    """ "" for an item that lacks a key, and so cannot be paired."""
    if not isinstance(item, dict) or any(key not in item for key in node.list_keys):
        return ""
    return repr([item[key] for key in node.list_keys])
