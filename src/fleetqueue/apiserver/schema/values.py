"""JSON values as Go sees them after decoding: the kinds of numbers, and how they are printed."""

import math
from typing import Any

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1
_EXACT = 2**53 - 1
_EXPONENT_MIN = 6
"""From here on Go prints a float with an exponent."""


def type_of(value: Any) -> str:
    """The JSON type; an integer that does not fit 64 bits has been read as a float."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int):
        return "integer" if INT64_MIN <= value <= INT64_MAX else "number"
    if isinstance(value, float):
        return "number"
    return "array" if isinstance(value, list) else "object"


def same(first: Any, second: Any) -> bool:
    """Deep equality in which 1 and true are different."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(v, second[k]) for k, v in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    return bool(first == second)


def in_order(value: Any) -> Any:
    """With the keys of objects sorted, as Go prints them."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(item) for item in value] if isinstance(value, list) else value


def is_integral(value: float) -> bool:
    return math.isfinite(value) and abs(value) <= _EXACT and float(value).is_integer()


def show_number(value: float) -> str:
    """As Go's %v prints an int64 or float64."""
    if isinstance(value, int) and INT64_MIN <= value <= INT64_MAX:
        return str(value)
    return show_double(float(value))


def show_double(value: float) -> str:
    """As Go's strconv with format 'g' and the shortest precision."""
    if not math.isfinite(value):
        return {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    mantissa, _, power = next(
        text for precision in range(18) if float(text := f"{value:.{precision}e}") == value
    ).partition("e")
    exponent = int(power)
    if -5 < exponent < _EXPONENT_MIN:
        decimals = max(0, len(mantissa.lstrip("-").replace(".", "")) - 1 - exponent)
        return f"{value:.{decimals}f}"
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
