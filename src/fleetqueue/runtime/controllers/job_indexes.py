"""Sets of completion indexes, kept and written as a Job's status does: `0,2-4,6,7`."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator


class Indexes:
    """A set of indexes as ordered spans, so that a hundred thousand neighbours cost one."""

    __slots__ = ("_spans",)

    def __init__(self, indexes: Iterable[int] = ()) -> None:
        self._spans = _merged((index, index) for index in indexes)

    @classmethod
    def parse(cls, text: str | None, completions: int) -> "Indexes":
        """Those below `completions`; what is no span is passed over."""
        made = cls()
        made._spans = _merged(_spans_of(text or "", completions))
        return made

    def __or__(self, other: "Indexes") -> "Indexes":
        made = Indexes()
        made._spans = _merged([*self._spans, *other._spans])
        return made

    def __contains__(self, index: int) -> bool:
        at = bisect_left(self._spans, index, key=_last)
        return at < len(self._spans) and self._spans[at][0] <= index

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self._spans)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Indexes) and self._spans == other._spans

    def __hash__(self) -> int:
        return hash(tuple(self._spans))

    def __str__(self) -> str:
        return ",".join(_written(first, last) for first, last in self._spans)

    def common(self, other: "Indexes") -> int:
        """How many are in both."""
        count, mine, theirs = 0, 0, 0
        while mine < len(self._spans) and theirs < len(other._spans):
            (first, last), (start, end) = self._spans[mine], other._spans[theirs]
            count += max(0, min(last, end) - max(first, start) + 1)
            mine, theirs = (mine + 1, theirs) if last <= end else (mine, theirs + 1)
        return count

    def missing(self, completions: int) -> Iterator[int]:
        """The indexes below `completions` that are not here, in order."""
        candidate = 0
        for first, last in self._spans:
            yield from range(candidate, min(first, completions))
            candidate = max(candidate, last + 1)
        yield from range(candidate, completions)


def _written(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}{',' if last == first + 1 else '-'}{last}"


def _spans_of(text: str, completions: int) -> Iterator[tuple[int, int]]:
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        try:
            span = int(first), int(last or first)
        except ValueError:
            continue
        if span[0] < completions:
            yield span[0], min(span[1], completions - 1)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if made and first <= made[-1][1] + 1:
            made[-1] = made[-1][0], max(last, made[-1][1])
        else:
            made.append((first, last))
    return made


def _last(span: tuple[int, int]) -> int:
    return span[1]
