"""`"%s has %d".format([name, count])`: the clauses of CEL's format strings."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from fleetqueue.apiserver.cel.errors import CelError
from fleetqueue.apiserver.cel.times import Duration, Timestamp
from fleetqueue.apiserver.cel.types import Type
from fleetqueue.apiserver.cel.values import kind_of
from fleetqueue.apiserver.schema.values import show_double
from fleetqueue.base import codec

_CLAUSE = re.compile(r"%(?:%|(?:\.([0-9]+))?([a-zA-Z]))")


def format_text(template: str, arguments: list[Any]) -> str:
    """Raises CelError where a clause and its argument do not go together."""
    used = 0
    parts: list[str] = []
    for literal, letter, precision in _pieces(template):
        parts.append(literal)
        if not letter:
            continue
        if used >= len(arguments):
            raise CelError(f"index {used} out of range")
        write, words, accepted = _CLAUSES[letter]
        value = arguments[used]
        if kind_of(value) not in accepted:
            raise CelError(_refused(words, _type_name(kind_of(value))))
        parts.append(write(value, precision))
        used += 1
    return "".join(parts)


def clauses(template: str) -> Iterator[str]:
    """The letters of the clauses; raises CelError where one cannot be read."""
    return (letter for _, letter, _ in _pieces(template) if letter)


def refusal(letter: str, kind: str) -> str:
    """Why an argument of this type does not go with the clause, or ""."""
    _, words, accepted = _CLAUSES[letter]
    if kind in accepted or kind in ("dyn", "object"):
        return ""
    return _refused(words, _type_name(kind))


def _pieces(template: str) -> Iterator[tuple[str, str, int]]:
    """(text, letter of the clause behind it or "", precision)"""
    at = 0
    while (percent := template.find("%", at)) >= 0:
        text = template[at:percent]
        clause = _CLAUSE.match(template, percent)
        if clause is None:
            raise CelError("could not parse formatting clause: unexpected end of string")
        at = clause.end()
        if clause[0] == "%%":
            yield f"{text}%", "", 0
            continue
        if clause[2] not in _CLAUSES:
            what = f'unrecognized formatting clause "{clause[2]}"'
            raise CelError(f"could not parse formatting clause: {what}")
        yield text, clause[2], 6 if clause[1] is None else int(clause[1])
    yield template[at:], "", 0


def _text(value: Any, _: int) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case str():
            return value
        case float():
            return show_double(value)
        case bytes():
            return value.decode(errors="replace")
        case int() | Duration() | Timestamp():
            return str(int(value)) if isinstance(value, int) else str(value)
        case Type():
            return value.name
        case list():
            return f"[{', '.join(_element(item) for item in value)}]"
        case dict():
            pairs = sorted((_element(key), _element(item)) for key, item in value.items())
            return f"{{{', '.join(f'{key}:{item}' for key, item in pairs)}}}"
    raise CelError(_refused(_TEXT_WORDS, _type_name(kind_of(value))))


def _element(value: Any) -> str:
    """Inside a list or map: as a literal."""
    match value:
        case str():
            return codec.encode(value).decode()
        case bytes():
            return f"b{codec.encode(value.decode(errors='replace')).decode()}"
        case bool() | None:
            return _text(value, 6)
        case float():
            return f"{value:.6f}" if math.isfinite(value) else f'"{show_double(value)}"'
        case Timestamp():
            return f'timestamp("{value}")'
        case Duration():
            return f'duration("{value}")'
        case Type():
            return f"type({value.name})"
    return _text(value, 6)


def _decimal(value: Any, _: int) -> str:
    return str(int(value))


def _real(write: Callable[[float, int], str]) -> Callable[[Any, int], str]:
    def format_real(value: Any, precision: int) -> str:
        if isinstance(value, str):
            if value not in _UNBOUNDED:
                raise CelError(_refused("fixed-point clause can only be used on doubles", "string"))
            return _UNBOUNDED[value]
        if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
        return write(value, precision)

    return format_real


def _scientific(value: float, precision: int) -> str:
    mantissa, _, power = f"{value:.{precision}e}".partition("e")
    superscripts = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    exponent = f"{'-' if int(power) < 0 else ''}{abs(int(power)):02d}".translate(superscripts)
    return f"{mantissa}×10{exponent}"


def _hexadecimal(value: Any, _: int) -> str:
    if isinstance(value, str):
        return value.encode().hex()
    return value.hex() if isinstance(value, bytes) else f"{int(value):x}"


def _type_name(kind: str) -> str:
    return {
        "timestamp": "google.protobuf.Timestamp",
        "duration": "google.protobuf.Duration",
    }.get(kind, kind)


def _refused(words: str, kind: str) -> str:
    return f"error during formatting: {words}, was given {kind}"


_UNBOUNDED = {"NaN": "NaN", "Infinity": "∞", "-Infinity": "-∞"}
_TEXT_WORDS = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
    "types, durations, and timestamps"
)
_TEXT_KINDS = frozenset(
    [
        "list",
        "map",
        "int",
        "uint",
        "double",
        "bool",
        "string",
        "timestamp",
        "bytes",
        "duration",
        "type",
        "null_type",
    ]
)
_CLAUSES: dict[str, tuple[Callable[[Any, int], str], str, frozenset[str]]] = {
    "s": (_text, _TEXT_WORDS, _TEXT_KINDS),
    "d": (_decimal, "decimal clause can only be used on integers", frozenset(("int", "uint"))),
    "f": (
        _real(lambda value, precision: f"{value:,.{precision}f}"),
        "fixed-point clause can only be used on doubles",
        frozenset(("double", "string")),
    ),
    "e": (
        _real(_scientific),
        "scientific clause can only be used on doubles",
        frozenset(("double", "string")),
    ),
    "b": (
        lambda value, _: f"{int(value):b}",
        "only integers and bools can be formatted as binary",
        frozenset(("int", "uint", "bool")),
    ),
    "x": (
        _hexadecimal,
        "only integers, byte buffers, and strings can be formatted as hex",
        frozenset(("int", "uint", "string", "bytes")),
    ),
    "X": (
        lambda value, precision: _hexadecimal(value, precision).upper(),
        "only integers, byte buffers, and strings can be formatted as hex",
        frozenset(("int", "uint", "string", "bytes")),
    ),
    "o": (
        lambda value, _: f"{int(value):o}",
        "octal clause can only be used on integers",
        frozenset(("int", "uint")),
    ),
}
"""Letter -> (writer, what is said of a wrong argument, the types it takes)."""
