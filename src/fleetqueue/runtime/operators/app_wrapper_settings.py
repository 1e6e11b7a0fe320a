"""How patient an AppWrapper's operator is: its own periods, and those that a wrapper asks for."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from fleetqueue.api.times import TimeError, parse_duration
from fleetqueue.kube.resources import Object

PREFIX = "workload.codeflare.dev.appwrapper/"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Settings:
    """The periods of the operator; annotations of a wrapper may change them for it."""

    admission: timedelta = timedelta(minutes=1)
    warm_up: timedelta = timedelta(minutes=5)
    failure: timedelta = timedelta(minutes=1)
    retry_pause: timedelta = timedelta(seconds=90)
    retries_max: int = 3
    forceful_deletion: timedelta = timedelta(minutes=10)
    longest: timedelta = timedelta(hours=24)
    success_lifetime: timedelta = timedelta(days=7)
    poll_seconds: float = 5.0


class Patience:
    """The settings for one wrapper. What is malformed does not count."""

    def __init__(self, wrapper: Object, settings: Settings) -> None:
        self._notes: Object = wrapper["metadata"].get("annotations") or {}
        self._settings = settings
        self.poll_seconds = settings.poll_seconds

    @property
    def admission(self) -> timedelta:
        return self._period("admissionGracePeriodDuration", self._settings.admission)

    @property
    def warm_up(self) -> timedelta:
        return self._period("warmupGracePeriodDuration", self._settings.warm_up)

    @property
    def failure(self) -> timedelta:
        return self._period("failureGracePeriodDuration", self._settings.failure)

    @property
    def retry_pause(self) -> timedelta:
        return self._period("retryPausePeriodDuration", self._settings.retry_pause)

    @property
    def forceful_deletion(self) -> timedelta:
        default = self._settings.forceful_deletion
        return self._period("forcefulDeletionGracePeriodDuration", default)

    @property
    def deletion_on_failure(self) -> timedelta:
        return self._period("deletionOnFailureGracePeriodDuration", timedelta(0))

    @property
    def success_lifetime(self) -> timedelta:
        longest = self._settings.success_lifetime
        said = self._said("successTTLDuration", parse_duration)
        return said if said is not None and timedelta(0) < said < longest else longest

    @property
    def retries_max(self) -> int:
        said = self._said("retryLimit", int)
        return self._settings.retries_max if said is None else said

    @property
    def terminal_codes(self) -> set[int]:
        return self._codes("terminalExitCodes")

    @property
    def retryable_codes(self) -> set[int]:
        return self._codes("retryableExitCodes")

    def _period(self, name: str, otherwise: timedelta) -> timedelta:
        said = self._said(name, parse_duration)
        period = otherwise if said is None else said
        return min(max(period, timedelta(0)), self._settings.longest)

    def _codes(self, name: str) -> set[int]:
        listed = str(self._notes.get(f"{PREFIX}{name}") or "").split(",")
        return {int(code) for code in listed if code.lstrip("-").isdecimal()}

    def _said(self, name: str, read: Callable[[str], _T]) -> _T | None:
        text = self._notes.get(f"{PREFIX}{name}")
        try:
            return None if text is None else read(text)
        except (TimeError, ValueError):
            return None
