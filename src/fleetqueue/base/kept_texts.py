"""Remembers what was made of texts that come again and again."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

LENGTH_MAX = 1024
Made = TypeVar("Made")


def kept_texts(count: int) -> Callable[[Callable[[str], Made]], Callable[[str], Made]]:
    """`lru_cache` for what is made of one text. Longer ones than `LENGTH_MAX` do not come again:
    somebody would fill the memory with them.
    """

    def decorate(make: Callable[[str], Made]) -> Callable[[str], Made]:
        kept = lru_cache(count)(make)

        @wraps(make)
        def found(text: str) -> Made:
            return kept(text) if len(text) <= LENGTH_MAX else make(text)

        return found

    return decorate
