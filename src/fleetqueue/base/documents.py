"""Reads and writes YAML and JSON documents by the rules that Kubernetes tools follow.

Plain scalars mean what they mean to kubectl: `yes` and `on` are booleans, `010` is eight, `1e3` is
a number, a date is a string, nothing is counted in base 60, and no key may come twice.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from fleetqueue.base import codec, nodes, scalars

_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

_TAG = "tag:yaml.org,2002:"
_ALIAS_FREE_NODES = 400_000


class DocumentError(ValueError):
    """The text is no YAML or JSON; the sentence names the line."""


def load(text: str | bytes) -> Any:
    """The one document in the text; None when there is none."""
    documents = load_all(text)
    if len(documents) > 1:
        raise DocumentError(f"expected one document, found {len(documents)}")
    return documents[0] if documents else None


def load_all(text: str | bytes) -> list[Any]:
    """Every document of a stream, empty ones left out. JSON values may also follow each other."""
    content = _as_text(text)
    if content.lstrip()[:1] in ("{", "["):
        found = _load_json_stream(content)
        if found is not None:
            return found
    return [document for document in _load_yaml(content) if document is not None]


def dump(value: Any) -> str:
    """Block style with sorted keys, as kubectl prints it."""
    return str(yaml.dump(value, Dumper=_Writer, **_STYLE))


def dump_all(values: Iterable[Any]) -> str:
    return "---\n".join(dump(value) for value in values)


_STYLE: dict[str, Any] = {"default_flow_style": False, "allow_unicode": True, "sort_keys": True}


def _as_text(text: str | bytes) -> str:
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text[: error.start].count(b"\n") + 1
        raise DocumentError(f"line {line}: the text is not UTF-8") from None


def _load_json_stream(text: str) -> list[Any] | None:
    """None when it is no JSON after all; flow-style YAML begins the same way."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique_pairs, parse_float=codec.decode)
    found: list[Any] = []
    position = 0
    while True:
        position = _after_blanks(text, position)
        if position == len(text):
            return None if _has_lone_surrogate(text, found) else found
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return None
        found.append(value)


def _has_lone_surrogate(text: str, found: list[Any]) -> bool:
    """JSON may escape half a character; YAML, which these documents are, may not."""
    if "\\ud" not in text and "\\uD" not in text:
        return False
    try:
        codec.encode(found)
    except UnicodeEncodeError:
        return True
    return False


def _after_blanks(text: str, position: int) -> int:
    match = re.compile(r"[ \t\r\n]*").match(text, position)
    assert match is not None
    return match.end()


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key comes twice; the YAML reader will say where")
    return made


def _load_yaml(text: str) -> Iterator[Any]:
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
    if not explicit or _kind(value) == tag or (tag == "float" and _kind(value) == "int"):
        return value
    raise _error(node, f"cannot read {node.value!r} as {tag}")


def _kind(value: Any) -> str:
    return {bool: "bool", int: "int", float: "float", type(None): "null"}.get(type(value), "str")


def _error(node: yaml.Node, what: str) -> DocumentError:
    return DocumentError(f"line {node.start_mark.line + 1}: {what}")


class _Writer(_Dumper):  # type: ignore[misc]  # the C dumper is chosen at run time
    """Quotes what kubectl quotes, and never writes aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def resolve(self, kind: Any, value: str, implicit: tuple[bool, bool]) -> str:
        """What readers will take the text for; the emitter quotes or tags all else."""
        if kind is not yaml.ScalarNode or implicit[1] or scalars.reads_as_text(value):
            return str(super().resolve(kind, None, (False, True)))
        return f"{_TAG}{_kind(scalars.resolve(value))}"


def _represent_text(dumper: Any, text: str) -> Any:
    style = None
    if "\n" in text:
        style = "|"
    elif not scalars.reads_as_text(text):
        style = '"'
    return dumper.represent_scalar(f"{_TAG}str", text, style=style)


def _represent_float(dumper: Any, value: float) -> Any:
    return dumper.represent_scalar(f"{_TAG}float", codec.encode(value).decode())


_Writer.add_representer(str, _represent_text)
_Writer.add_representer(float, _represent_float)
