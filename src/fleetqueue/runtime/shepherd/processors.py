"""Which processors a container with a CPU limit runs on, where no control group keeps the limit."""

from collections.abc import Iterable


class Processors:
    """Whole ones, each as evenly used as can be."""

    def __init__(self, available: Iterable[int]) -> None:
        self._used = dict.fromkeys(sorted(available), 0)
        self._given: dict[str, tuple[int, ...]] = {}

    def give(self, id: str, millis: int) -> tuple[int, ...]:
        """As many as the limit needs; none where that is all of them, which needs no limit."""
        count = max(1, -(-millis // 1000))
        if count >= len(self._used):
            return ()
        chosen = tuple(sorted(self._used, key=lambda each: (self._used[each], each))[:count])
        self._given[id] = chosen
        for each in chosen:
            self._used[each] += 1
        return chosen

    def release(self, id: str) -> None:
        for each in self._given.pop(id, ()):
            self._used[each] -= 1
