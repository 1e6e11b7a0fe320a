"""`matches`, `find` and `findAll`."""

from fleetqueue.apiserver.cel.errors import CelError, CostExceeded
from fleetqueue.apiserver.cel.overloads import overload
from fleetqueue.apiserver.cel.regex import Pattern, PatternError, TooExpensive, compile_pattern


def matches(text: str, source: str) -> bool:
    try:
        return compile_pattern(source).matches(text)
    except PatternError as problem:
        raise CelError(str(problem)) from None
    except TooExpensive:
        raise CostExceeded from None


def _pattern(source: str) -> Pattern:
    try:
        return compile_pattern(source)
    except PatternError as problem:
        raise CelError(f"Illegal regex: {problem}") from None


def _find(text: str, source: str) -> str:
    try:
        span = _pattern(source).find(text)
    except TooExpensive:
        raise CostExceeded from None
    return text[span[0] : span[1]] if span else ""


def _find_all(text: str, source: str, limit: int = -1) -> list[str]:
    try:
        return _pattern(source).find_all(text, limit)
    except TooExpensive:
        raise CostExceeded from None


OVERLOADS = [
    overload("matches", "string.(string) -> bool", matches),
    overload("matches", "(string, string) -> bool", matches),
    overload("find", "string.(string) -> string", _find),
    overload("findAll", "string.(string) -> list(string)", _find_all),
    overload("findAll", "string.(string, int) -> list(string)", _find_all),
]
