"""JSONPath templates as kubectl reads them: text with paths in braces, and ranges over lists."""

import re
from collections.abc import Iterator
from typing import Any

from fleetqueue.base import jsonpath
from fleetqueue.base.jsonpath import JsonPathError

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\"}
_QUOTED = re.compile(r"""^(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')$""")
_EXPRESSION = re.compile(r"""\{((?:[^{}"']|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')*)\}""")


def render(template: str, document: Any) -> str:
    parts = list(_parts(template))
    text, end = _render(parts, 0, document, document)
    if end < len(parts):
        raise JsonPathError("not in range, nothing to end")
    return text


def picked(template: str, document: Any) -> list[Any]:
    """All that the paths of a template find, in their order."""
    found: list[Any] = []
    for is_path, text in _parts(template):
        if is_path and not _QUOTED.match(text):
            found += jsonpath.parse(text).find(document)
    return found


def _parts(template: str) -> Iterator[tuple[bool, str]]:
    """Literal text, and what stands in braces."""
    if "{" not in template:
        yield True, template
        return
    at = 0
    for match in _EXPRESSION.finditer(template):
        if match.start() > at:
            yield False, template[at : match.start()]
        yield True, match.group(1).strip()
        at = match.end()
    if "{" in template[at:]:
        raise JsonPathError(f"unclosed action in {template[at:]}")
    if at < len(template):
        yield False, template[at:]


def _render(parts: list[tuple[bool, str]], at: int, document: Any, current: Any) -> tuple[str, int]:
    """Up to the end of the range that we are in; where that is."""
    made: list[str] = []
    while at < len(parts):
        is_path, text = parts[at]
        if not is_path:
            made.append(text)
        elif text == "end":
            return "".join(made), at
        elif text.startswith("range "):
            told, at = _range(parts, at, document, current)
            made.append(told)
        else:
            made.append(_value(text, document, current))
        at += 1
    return "".join(made), at


def _range(parts: list[tuple[bool, str]], at: int, document: Any, current: Any) -> tuple[str, int]:
    path = parts[at][1].removeprefix("range ").strip()
    made, end = [], _end(parts, at)
    for item in jsonpath.parse(path).find(_start(path, document, current)):
        made.append(_render(parts, at + 1, document, item)[0])
    return "".join(made), end


def _end(parts: list[tuple[bool, str]], at: int) -> int:
    depth = 0
    for index in range(at, len(parts)):
        is_path, text = parts[index]
        depth += is_path and text.startswith("range ")
        depth -= is_path and text == "end"
        if depth == 0:
            return index
    raise JsonPathError("unterminated range")


def _value(text: str, document: Any, current: Any) -> str:
    quoted = _QUOTED.match(text)
    if quoted:
        body = quoted.group(1) if quoted.group(1) is not None else quoted.group(2)
        return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match.group(1), match.group()), body)
    found = jsonpath.parse(text.removeprefix("@")).find(_start(text, document, current))
    return " ".join(jsonpath.show(each) for each in found)


def _start(path: str, document: Any, current: Any) -> Any:
    """`$` is the whole document, everything else begins where we are."""
    return document if path.startswith("$") else current
