"""Makes trees of YAML nodes out of text without recursion, so that no depth of nesting can exhaust
the stack of the C library's own composer."""

from collections.abc import Iterator
from typing import Any

import yaml

UNTAGGED = "untagged"
DEPTH_MAX = 1000

_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def compose_all(text: str) -> Iterator[yaml.Node]:
    """The root of every document; scalars without an explicit tag bear `UNTAGGED`."""
    builder = _Builder()
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.DocumentStartEvent):
            builder = _Builder()
        elif isinstance(event, yaml.DocumentEndEvent):
            yield builder.root
        elif isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            builder.feed(event)


class _Builder:
    """Collects the events of one document."""

    def __init__(self) -> None:
        self.root: Any = None
        self._open: list[tuple[Any, list[Any]]] = []
        self._anchors: dict[str, Any] = {}

    def feed(self, event: Any) -> None:
        mark: Any = event.start_mark
        if isinstance(event, yaml.CollectionEndEvent):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            self._add(self._named(event))
        elif isinstance(event, yaml.ScalarEvent):
            tag = event.tag if event.tag and event.tag != "!" else UNTAGGED
            style = event.style or ("!" if event.tag == "!" else "")
            self._start(event, yaml.ScalarNode(tag, event.value, mark, None, style))
        elif isinstance(event, yaml.MappingStartEvent):
            self._open_one(event, yaml.MappingNode(event.tag or "", [], mark))
        else:
            self._open_one(event, yaml.SequenceNode(event.tag or "", [], mark))

    def _start(self, event: Any, node: Any) -> None:
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        self._add(node)

    def _open_one(self, event: Any, node: Any) -> None:
        if len(self._open) >= DEPTH_MAX:
            problem = "the document is nested too deeply"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        self._start(event, node)
        self._open.append((node, []))

    def _close(self) -> None:
        node, children = self._open.pop()
        if isinstance(node, yaml.MappingNode):
            node.value = list(zip(children[::2], children[1::2], strict=True))
        else:
            node.value = children

    def _add(self, node: Any) -> None:
        if self._open:
            self._open[-1][1].append(node)
        else:
            self.root = node

    def _named(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            problem = f'the alias "{event.anchor}" names no anchor'
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        return self._anchors[event.anchor]
