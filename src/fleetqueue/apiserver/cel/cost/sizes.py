"""Ranges of sizes, and arithmetic that stops at the largest number of 64 bits."""

import math
from dataclasses import dataclass

MOST = 2**64 - 1
"""As much as can be counted; also what stands for "nobody knows"."""
TRAVERSAL = 0.1
"""The cost of walking over one character."""
PATTERN = 0.25
"""The cost of one character of a regular expression, for each unit of the text it reads."""


@dataclass(frozen=True, slots=True)
class Size:
    """Of a string its characters, of a list or map its entries, of other values 1."""

    least: int
    most: int

    def plus(self, other: "Size") -> "Size":
        return Size(add(self.least, other.least), add(self.most, other.most))

    def times(self, other: "Size") -> "Size":
        return Size(multiply(self.least, other.least), multiply(self.most, other.most))

    def or_else(self, other: "Size") -> "Size":
        """The value has one size or the other."""
        return Size(min(self.least, other.least), max(self.most, other.most))


UNKNOWN = Size(0, MOST)
ONE = Size(1, 1)


@dataclass(frozen=True, slots=True)
class EntrySize:
    """The keys and values of one list or map; the keys of a list are its indices."""

    is_list: bool
    key: Size
    value: Size

    def or_else(self, other: "EntrySize") -> "EntrySize":
        key, value = self.key.or_else(other.key), self.value.or_else(other.value)
        return EntrySize(self.is_list, key, value)


def add(*counts: int) -> int:
    return min(sum(counts), MOST)


def multiply(first: int, second: int) -> int:
    return min(first * second, MOST)


def scale(count: int, factor: float) -> int:
    """Rounded up; computed in floating point, as the counts of kube-apiserver are."""
    product = float(count) * factor
    return MOST if product >= 2.0**64 else math.ceil(product)


def wrapped(count: int) -> int:
    """What is left of a number in 64 bits, where kube-apiserver does not guard its sums."""
    return count & MOST
