"""The JSONPath of printer columns and selectable fields, with the meaning kubectl gives it.

`.status.conditions[?(@.type=="Ready")].status`, `.items[-1:].name`, `.metadata.labels['a\\.b']`.
A missing key yields nothing; an index out of range is an error.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fleetqueue.base import codec

Step = Callable[[list[Any]], list[Any]]


class JsonPathError(ValueError):
    """The text is no JSONPath, or the document has another shape than the path expects."""


@dataclass(frozen=True)
class JsonPath:
    text: str
    steps: tuple[Step, ...]

    def find(self, document: Any) -> list[Any]:
        values = [document]
        for step in self.steps:
            values = step(values)
        return values

    def first(self, document: Any) -> Any:
        """As a table cell shows it: the first result, or None for none and for any error."""
        try:
            found = self.find(document)
        except JsonPathError:
            return None
        return found[0] if found else None


@lru_cache(maxsize=1024)
def parse(text: str) -> JsonPath:
    body = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    body = body.removeprefix("$")
    steps, rest = _parse_steps(body, text)
    if rest:
        raise JsonPathError(f'unrecognized text in JSONPath "{text}" at "{rest}"')
    return JsonPath(text, tuple(steps))


def show(value: Any) -> str:
    """A result as text, the way kubectl prints it."""
    if isinstance(value, str):
        return value
    return codec.encode(value).decode()


_FIELD = re.compile(r"(?:[^\s,\[\]()|.@=!<>{}'\"\\]|\\.)+")
_SLICE = re.compile(r"(-?\d+)?(?::(-?\d+)?)?(?::(-?\d+)?)?$")
_QUOTED = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*$""")
_OPERATOR = re.compile(r"(==|!=|<=|>=|<|>)")


def _parse_steps(body: str, whole: str) -> tuple[list[Step], str]:
    steps: list[Step] = []
    rest = body
    while rest:
        if rest.startswith(".."):
            steps.append(_recursive)
            rest = rest[2:] if rest[2:3] == "[" else rest[1:]
        elif rest.startswith(".*"):
            steps.append(_wildcard)
            rest = rest[2:]
        elif rest.startswith("["):
            inside, rest = _bracket(rest, whole)
            steps.append(_parse_bracket(inside, whole))
        elif match := _FIELD.match(rest, 1 if rest[0] == "." else 0):
            steps.append(_field(_unescape(match.group())))
            rest = rest[match.end() :]
        elif rest == ".":
            rest = ""
        else:
            break
    return steps, rest


def _bracket(rest: str, whole: str) -> tuple[str, str]:
    """Splits `[…]more` at the bracket that closes the first one, minding quotes."""
    depth, quote, position = 0, "", 0
    while position < len(rest):
        char = rest[position]
        if char == "\\":
            position += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
            if depth == 0:
                return rest[1:position], rest[position + 1 :]
        position += 1
    raise JsonPathError(f'unterminated array in JSONPath "{whole}"')


def _parse_bracket(inside: str, whole: str) -> Step:
    if inside.strip() == "*":
        return _wildcard
    if inside.startswith("?(") and inside.endswith(")"):
        return _parse_filter(inside[2:-1], whole)
    parts = _split_union(inside)
    if len(parts) > 1:
        return _union([_parse_bracket(part, whole) for part in parts])
    if match := _QUOTED.match(inside):
        return _field(_unescape(match.group(1) if match.group(1) is not None else match.group(2)))
    if (match := _SLICE.match(inside.strip())) and inside.strip():
        return _slice(inside.strip())
    raise JsonPathError(f'invalid array index {inside} in JSONPath "{whole}"')


def _split_union(inside: str) -> list[str]:
    pieces = re.findall(r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,'"])+""", inside)
    return pieces if len(pieces) > 1 else [inside]


def _parse_filter(text: str, whole: str) -> Step:
    halves = _OPERATOR.split(_mask_quotes(text), maxsplit=1)
    if len(halves) == 1:
        return _filter(_operand(text, whole), "exists", None)
    left_end, operator = len(halves[0]), halves[1]
    left, right = text[:left_end], text[left_end + len(operator) :]
    return _filter(_operand(left, whole), operator, _operand(right, whole))


def _mask_quotes(text: str) -> str:
    """The text with quoted parts blanked, so that operators inside them are not seen."""
    return re.sub(r"""'[^']*'|"[^"]*\"""", lambda match: " " * len(match.group()), text)


def _operand(text: str, whole: str) -> Callable[[Any], list[Any]]:
    text = text.strip()
    if text.startswith("@"):
        steps, rest = _parse_steps(text[1:], whole)
        if rest:
            raise JsonPathError(f'unrecognized text in JSONPath "{whole}" at "{rest}"')
        return JsonPath(text, tuple(steps)).find
    if match := _QUOTED.match(text):
        constant: Any = _unescape(match.group(1) if match.group(1) is not None else match.group(2))
    elif text in ("true", "false"):
        constant = text == "true"
    elif re.fullmatch(r"[-+]?\d+", text):
        constant = int(text)
    elif re.fullmatch(r"[-+]?(\d+\.\d*|\.\d+|\d+)([eE][-+]?\d+)?", text):
        constant = float(text)
    else:
        raise JsonPathError(f'unrecognized text in JSONPath "{whole}" at "{text}"')
    return lambda _: [constant]


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _field(name: str) -> Step:
    return lambda values: [
        value[name] for value in values if isinstance(value, dict) and name in value
    ]


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _wildcard(values: list[Any]) -> list[Any]:
    return [child for value in values for child in _children(value)]


def _recursive(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    waiting = list(reversed(values))
    while waiting:
        value = waiting.pop()
        children = _children(value)
        if children:
            found.append(value)
            waiting.extend(reversed(children))
    return found


def _union(steps: list[Step]) -> Step:
    return lambda values: [found for step in steps for found in step(values)]


def _slice(text: str) -> Step:
    parts = [int(part) if part.strip() else None for part in text.split(":")]

    def apply(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for value in values:
            if value is not None:
                found.extend(_cut(_as_list(value), parts))
        return found

    return apply


def _cut(items: list[Any], parts: list[int | None]) -> list[Any]:
    size = len(items)
    start = _from_end(parts[0] or 0, size)
    end = start + 1 if len(parts) == 1 else size
    if len(parts) > 1 and parts[1] is not None:
        end = _from_end(parts[1], size)
    step = parts[2] if len(parts) > 2 and parts[2] is not None else 1
    if start == end:
        return []
    if not 0 <= start < size or not 0 <= end <= size:
        raise JsonPathError(f"array index out of bounds: index {start}, length {size}")
    if start > end:
        raise JsonPathError(f"starting index {start} is greater than ending index {end}")
    if step <= 0:
        raise JsonPathError("step must be > 0")
    return items[start:end:step]


def _from_end(index: int, size: int) -> int:
    return index + size if index < 0 else index


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    raise JsonPathError(f"{show(value)} is not array or slice")


def _filter(
    left: Callable[[Any], list[Any]], operator: str, right: Callable[[Any], list[Any]] | None
) -> Step:
    def passes(item: Any) -> bool:
        if right is None:
            return bool(left(item))
        lefts, rights = left(item), right(item)
        if not lefts or not rights:
            return False
        if len(lefts) > 1 or len(rights) > 1:
            raise JsonPathError("can only compare one element at a time")
        return _compare(lefts[0], operator, rights[0])

    def apply(values: list[Any]) -> list[Any]:
        return [item for value in values for item in _as_list(value) if passes(item)]

    return apply


def _compare(left: Any, operator: str, right: Any) -> bool:
    if operator in ("==", "!="):
        same = left == right and isinstance(left, bool) == isinstance(right, bool)
        return same == (operator == "==")
    both_numbers = all(isinstance(side, int | float) for side in (left, right))
    if not both_numbers and not (isinstance(left, str) and isinstance(right, str)):
        raise JsonPathError("incompatible types for comparison")
    if operator == "<":
        return bool(left < right)
    if operator == ">":
        return bool(left > right)
    return bool(left <= right) if operator == "<=" else bool(left >= right)
