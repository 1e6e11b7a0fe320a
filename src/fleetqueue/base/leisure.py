"""Whether there is time to show each step by itself: while little happens, and for a few of the
many while much does.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

PER_SECOND = 0.2
AT_ONCE = 20


class Leisure:
    """Of so many at once, then of so many a second; what is not taken is saved up to a limit. None
    while somebody `is_busy`.
    """

    def __init__(
        self,
        per_second: float = PER_SECOND,
        at_once: int = AT_ONCE,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self._is_busy = is_busy
        self._share = timedelta(seconds=1 / per_second)
        self._saved = self._share * at_once
        self._spent_until: datetime | None = None

    def take(self, now: datetime) -> bool:
        """Whether there was some left; it is spent then."""
        if self._is_busy():
            return False
        earliest = now - self._saved
        before = earliest if self._spent_until is None else max(self._spent_until, earliest)
        if before + self._share > now:
            return False
        self._spent_until = before + self._share
        return True
