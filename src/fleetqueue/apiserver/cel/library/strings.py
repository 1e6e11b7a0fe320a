"""Functions on strings: those of the standard, and the string extension that Kubernetes enables."""

from typing import Any

from fleetqueue.apiserver.cel.errors import CelError, CostExceeded
from fleetqueue.apiserver.cel.library.formatting import format_text
from fleetqueue.apiserver.cel.overloads import overload
from fleetqueue.apiserver.cel.values import show

_LENGTH_MAX = 2**24
_GO_SPACE = "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # fmt: skip  # noqa: E501
_QUOTED = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise CelError(f"index out of range: {offset}")
    return text.find(part, offset)


def _last_index_of(text: str, part: str, offset: int | None = None) -> int:
    if offset is None:
        return text.rfind(part)
    if not part:
        return offset
    if offset < 0:
        raise CelError(f"index out of range: {offset}")
    return -1 if offset >= len(text) else text.rfind(part, 0, offset + len(part))


def _lower(text: str) -> str:
    return "".join(char.lower() if char.isascii() else char for char in text)


def _upper(text: str) -> str:
    return "".join(char.upper() if char.isascii() else char for char in text)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    rounds = (len(text) + 1) if not old else len(text) // len(old)
    if len(text) + rounds * len(new) > _LENGTH_MAX:
        raise CostExceeded
    return text.replace(old, new, count)


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if separator:
        return text.split(separator, count - 1 if count > 0 else -1)
    chars = list(text)
    if 0 < count < len(chars):
        return [*chars[: count - 1], "".join(chars[count - 1 :])]
    return chars


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    if end is not None and not 0 <= end <= len(text):
        raise CelError(f"index out of range: {end}")
    return text[start:end]


def _join(parts: list[Any], separator: str = "") -> str:
    for part in parts:
        if not isinstance(part, str):
            raise CelError(f"join: invalid input: {show(part)}")
    if sum(map(len, parts)) + len(separator) * len(parts) > _LENGTH_MAX:
        raise CostExceeded
    return separator.join(parts)


def quote(text: str) -> str:
    return '"' + "".join(_QUOTED.get(char, char) for char in text) + '"'


OVERLOADS = [
    overload("contains", "string.(string) -> bool", lambda a, b: b in a, "({1} in {0})"),
    overload("startsWith", "string.(string) -> bool", str.startswith, "{0}.startswith({1})"),
    overload("endsWith", "string.(string) -> bool", str.endswith, "{0}.endswith({1})"),
    overload("charAt", "string.(int) -> string", _char_at),
    overload("indexOf", "string.(string) -> int", _index_of),
    overload("indexOf", "string.(string, int) -> int", _index_of),
    overload("lastIndexOf", "string.(string) -> int", _last_index_of),
    overload("lastIndexOf", "string.(string, int) -> int", _last_index_of),
    overload("lowerAscii", "string.() -> string", _lower),
    overload("upperAscii", "string.() -> string", _upper),
    overload("replace", "string.(string, string) -> string", _replace),
    overload("replace", "string.(string, string, int) -> string", _replace),
    overload("split", "string.(string) -> list(string)", _split),
    overload("split", "string.(string, int) -> list(string)", _split),
    overload("substring", "string.(int) -> string", _substring),
    overload("substring", "string.(int, int) -> string", _substring),
    overload("trim", "string.() -> string", lambda text: text.strip(_GO_SPACE)),
    overload("join", "list(string).() -> string", _join),
    overload("join", "list(string).(string) -> string", _join),
    overload("format", "string.(list(dyn)) -> string", format_text),
    overload("strings.quote", "(string) -> string", quote),
]
