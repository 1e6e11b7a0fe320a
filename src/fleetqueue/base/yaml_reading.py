"""Reads YAML by the rules that Kubernetes tools follow.

Apart from `documents.py`, because a server that is sent JSON alone never loads the YAML library.
"""

import math
from collections.abc import Iterator
from typing import Any

import yaml

from fleetqueue.base import codec, nodes, scalars
from fleetqueue.base.documents import DocumentError

_TAG = "tag:yaml.org,2002:"
_ALIAS_FREE_NODES = 400_000


def load_all(text: str) -> Iterator[Any]:
    """Every document of a stream, empty ones as None."""
    try:
        for node in nodes.compose_all(text):
            yield _Reader().value(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise DocumentError(f"{line}{error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise DocumentError(f"the text is not YAML: {error}".splitlines()[0]) from None
    except RecursionError:
        raise DocumentError("the document is nested too deeply") from None


class _Reader:
    """Turns the nodes of one document into JSON values."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._open: set[int] = set()
        self._nodes = 0
        self._repeated = 0

    def value(self, node: yaml.Node) -> Any:
        self._count(node)
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if id(node) in self._open:
            raise _error(node, "an anchor contains itself")
        self._open.add(id(node))
        made: Any
        if isinstance(node, yaml.MappingNode):
            made = self._mapping(node)
        else:
            made = [self.value(child) for child in node.value]
        self._open.discard(id(node))
        return made

    def _count(self, node: yaml.Node) -> None:
        """Guards against a few lines of aliases that unfold into gigabytes."""
        self._nodes += 1
        self._repeated += id(node) in self._seen
        self._seen.add(id(node))
        if self._nodes > _ALIAS_FREE_NODES and self._repeated > self._nodes // 2:
            raise _error(node, "the document contains excessive aliasing")

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if _is_merge(key_node):
                for source in self._merge_sources(value_node):
                    merged = source | merged
                continue
            key = _key(key_node)
            if key in own:
                raise _error(key_node, f'the key "{key}" is already set in this map')
            own[key] = self.value(value_node)
        return merged | own if merged else own

    def _merge_sources(self, node: yaml.Node) -> list[dict[str, Any]]:
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        if not all(isinstance(source, yaml.MappingNode) for source in sources):
            raise _error(node, "map merge requires map or sequence of maps as the value")
        return [self.value(source) for source in sources]


def _is_merge(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.value == "<<" and not node.style


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _error(node, "a key must be a plain value, not a list or a map")
    value = _scalar(node)
    if value is None:
        raise _error(node, "a key must not be null")
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else codec.encode(value).decode()


_NUMERIC_TAGS = ("bool", "int", "float", "null")


def _scalar(node: yaml.ScalarNode) -> Any:
    tag = str(node.tag).removeprefix(_TAG)
    explicit = tag != nodes.UNTAGGED
    if (explicit and tag not in _NUMERIC_TAGS) or (node.style and not explicit):
        return node.value
    value = scalars.resolve(node.value)
    if isinstance(value, float) and not math.isfinite(value):
        raise _error(node, f"{node.value} is no number that JSON can hold")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        value = int(value)
    if (
        not explicit
        or scalars.kind(value) == tag
        or (tag == "float" and scalars.kind(value) == "int")
    ):
        return value
    raise _error(node, f"cannot read {node.value!r} as {tag}")


def _error(node: yaml.Node, what: str) -> DocumentError:
    return DocumentError(f"line {node.start_mark.line + 1}: {what}")
