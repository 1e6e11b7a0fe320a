"""Kubernetes quantities, exact: `100m`, `1.5Gi`, `12e6`. Parsed, compared and printed as
kube-apiserver does, which includes what it keeps verbatim and where it rounds up."""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import total_ordering
from typing import Literal, Union

from fleetqueue.base.kept_texts import kept_texts
from fleetqueue.errors import InvalidInput

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_NANO = -9
_INT64_MAX = 2**63 - 1
_FAST_DIGITS = 18
_DIGITS_MAX = 1024
_EXPONENT_GAP_MAX = 2048
"""Beyond this many digits the smaller summand is lost, so that `1e2000000000` costs nothing."""

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_NAMES = {exponent: suffix for suffix, exponent in _BINARY.items()}

_SHAPE = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([-+]?[0-9]+)", re.ASCII)

WRONG_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
WRONG_NUMBER = "unable to parse numeric part of quantity"
WRONG_SUFFIX = "unable to parse quantity's suffix"


class QuantityError(InvalidInput, ValueError):
    """The text is no quantity; the message is kube-apiserver's."""


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """`unscaled * 10**exponent`. `text` is set where the text that was read is kept as it is."""

    unscaled: int = 0
    exponent: int = 0
    format: Format = "DecimalSI"
    text: str = ""

    @classmethod
    def of(cls, value: "QuantityLike") -> "Quantity":
        """From whatever JSON may hold: text, an integer or another number."""
        if isinstance(value, Quantity):
            return value
        if isinstance(value, str):
            return parse(value.strip())
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise QuantityError(WRONG_FORMAT)
        return parse(str(value) if isinstance(value, int) else _float_text(value))

    @classmethod
    def from_milli(cls, value: int, format: Format = "DecimalSI") -> "Quantity":
        return cls(value, -3, format)

    def value(self) -> int:
        """As a whole number, rounded away from zero."""
        return self.scaled_value(0)

    def milli_value(self) -> int:
        return self.scaled_value(-3)

    def scaled_value(self, exponent: int) -> int:
        """In units of 10**exponent, rounded away from zero."""
        return _rescale(self.unscaled, self.exponent - exponent)

    def is_zero(self) -> bool:
        return self.unscaled == 0

    def sign(self) -> int:
        return (self.unscaled > 0) - (self.unscaled < 0)

    def __str__(self) -> str:
        return self.text or _canonical(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and _compare(self, other) == 0

    def __lt__(self, other: "Quantity") -> bool:
        return _compare(self, other) < 0

    def __hash__(self) -> int:
        return hash(_without_zeros(self.unscaled, self.exponent))

    def __bool__(self) -> bool:
        return self.unscaled != 0

    def __neg__(self) -> "Quantity":
        return Quantity(-self.unscaled, self.exponent, self.format)

    def __abs__(self) -> "Quantity":
        return -self if self.unscaled < 0 else self

    def __add__(self, other: "Quantity") -> "Quantity":
        """Zero takes the format of what is added to it."""
        unscaled, exponent = _add(self, other)
        return Quantity(unscaled, exponent, self.format if self.unscaled else other.format)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return self + -other

    def __mul__(self, factor: int) -> "Quantity":
        return Quantity(self.unscaled * factor, self.exponent, self.format)


QuantityLike = Union[Quantity, str, int, float]  # noqa: UP007 - the class is not there yet as `|` needs


@kept_texts(8192)
def parse(text: str) -> Quantity:
    match = _SHAPE.fullmatch(text)
    if match is None or not text:
        raise QuantityError(WRONG_FORMAT)
    sign, number, fraction, suffix = match.groups(default="")
    number = number.lstrip("0") or "0"
    negative = sign == "-"
    base, power, format = _interpret(suffix)
    if len(number) + len(fraction) > _DIGITS_MAX:
        raise QuantityError(WRONG_NUMBER)
    has_digits = match.end(2) > match.start(2) or fraction
    fast = _parse_fast(text, number, fraction, base, power, format, negative)
    if fast is not None:
        return fast
    if not has_digits:
        raise QuantityError(WRONG_NUMBER)
    return _parse_exact(number, fraction, base, power, format, negative)


def _interpret(suffix: str) -> tuple[int, int, Format]:
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], "DecimalSI"
    if suffix in _BINARY:
        return 2, _BINARY[suffix], "BinarySI"
    match = _EXPONENT.fullmatch(suffix)
    if match is None or not -(2**63) <= int(match.group(1)) < 2**63:
        raise QuantityError(WRONG_SUFFIX)
    # Upstream keeps 32 bits of the exponent.
    return 10, (int(match.group(1)) + 2**31) % 2**32 - 2**31, "DecimalExponent"


def _parse_fast(
    text: str, number: str, fraction: str, base: int, power: int, format: Format, negative: bool
) -> Quantity | None:
    """Quantities that fit 64 bits; only these keep the text that was read."""
    digits = number + fraction
    if base == 10:
        exponent, factor = power - len(fraction), 1
        fits = len(digits) <= _FAST_DIGITS and exponent >= _NANO
        kept = exponent % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    else:
        exponent, factor = 0, 2**power
        fits = not fraction and len(number) + power * 3 // 10 <= 14
        kept = int(digits) & 7 != 0 if fits else False
    if not fits or int(digits) * factor > _INT64_MAX:
        return None
    unscaled = int(digits) * factor * (-1 if negative else 1)
    return Quantity(unscaled, exponent, format, text if kept else "")


def _parse_exact(
    number: str, fraction: str, base: int, power: int, format: Format, negative: bool
) -> Quantity:
    unscaled = int(number + fraction) * (2**power if base == 2 else 1)
    exponent = -len(fraction) + (power if base == 10 else 0)
    if exponent < _NANO:
        unscaled, exponent = _rescale(unscaled, exponent - _NANO), _NANO
    if format == "BinarySI":
        whole = _rescale(unscaled, exponent)
        if whole > _INT64_MAX:
            unscaled, exponent = _INT64_MAX, 0
        elif 0 < unscaled < 10**-exponent:
            format = "DecimalSI"
    return Quantity(-unscaled if negative else unscaled, exponent, format)


def _canonical(quantity: Quantity) -> str:
    if quantity.unscaled == 0:
        return "0"
    if quantity.format == "BinarySI":
        unscaled, exponent = _without_zeros(quantity.unscaled, quantity.exponent)
        if exponent >= 0 and (exponent > 4 or abs(unscaled * 10**exponent) >= 1024):
            return _canonical_binary(unscaled * 10**exponent)
    return _canonical_decimal(quantity)


def _canonical_binary(value: int) -> str:
    power = 0
    while value % 1024 == 0:
        value //= 1024
        power += 10
    # Beyond Ei upstream has no suffix and prints none.
    return f"{value}{_BINARY_NAMES.get(power, '')}"


def _canonical_decimal(quantity: Quantity) -> str:
    unscaled, exponent = _without_zeros(quantity.unscaled, quantity.exponent)
    extra = exponent % 3
    unscaled, exponent = unscaled * 10**extra, exponent - extra
    if quantity.format == "DecimalExponent":
        return f"{unscaled}e{exponent}" if exponent else str(unscaled)
    # Beyond E upstream has no suffix and prints none.
    return f"{unscaled}{_DECIMAL_NAMES.get(exponent, '')}"


def _without_zeros(unscaled: int, exponent: int) -> tuple[int, int]:
    if unscaled == 0:
        return 0, 0
    while unscaled % 10 == 0:
        unscaled //= 10
        exponent += 1
    return unscaled, exponent


def _rescale(unscaled: int, shift: int) -> int:
    """unscaled * 10**shift, rounded away from zero; a shift no memory could hold is cut."""
    if shift >= 0:
        return int(unscaled * 10 ** min(shift, _EXPONENT_GAP_MAX))
    size = abs(unscaled)
    # Far below one, the divisor would be huge for nothing.
    shift = max(shift, -len(str(size)) - 1)
    rounded = -(-size // int(10**-shift))
    return rounded if unscaled >= 0 else -rounded


def _compare(left: Quantity, right: Quantity) -> int:
    if left.sign() != right.sign():
        return left.sign() - right.sign()
    if left.exponent == right.exponent:
        return (left.unscaled > right.unscaled) - (left.unscaled < right.unscaled)
    tops = [len(str(abs(side.unscaled))) + side.exponent for side in (left, right)]
    if tops[0] != tops[1]:
        return left.sign() if tops[0] > tops[1] else -left.sign()
    low = min(left.exponent, right.exponent)
    first = left.unscaled * 10 ** (left.exponent - low)
    second = right.unscaled * 10 ** (right.exponent - low)
    return int(first > second) - int(first < second)


def _add(left: Quantity, right: Quantity) -> tuple[int, int]:
    if not left.unscaled or not right.unscaled:
        one = left if left.unscaled else right
        return one.unscaled, one.exponent
    high, low = (left, right) if left.exponent >= right.exponent else (right, left)
    gap = high.exponent - low.exponent
    if gap > _EXPONENT_GAP_MAX:
        return high.unscaled, high.exponent
    return high.unscaled * 10**gap + low.unscaled, low.exponent


def _float_text(value: float) -> str:
    """As Go writes the number in JSON: positional in the usual range, with an exponent outside."""
    if value != value or value in (float("inf"), float("-inf")):
        raise QuantityError(WRONG_FORMAT)
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return format(Decimal(repr(value)), "f")
    return repr(value)
