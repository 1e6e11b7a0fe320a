"""Checks that several parts of the configuration share."""

from collections.abc import Iterator

from fleetqueue.api.field_errors import FieldError, wrong
from fleetqueue.api.times import TimeError, parse_nanoseconds

NEGATIVE = "must be greater than or equal to 0"


def check_span(span: str | None, path: str, least: int = 0) -> Iterator[FieldError]:
    """A span of at least so many nanoseconds; a missing one is fine."""
    if span is None:
        return
    try:
        nanoseconds = parse_nanoseconds(span)
    except TimeError as error:
        yield wrong(path, span, str(error))
        return
    if nanoseconds < least:
        yield wrong(path, span, "must be greater than 0" if least else NEGATIVE)


def check_count(count: float | None, path: str) -> Iterator[FieldError]:
    if count is not None and count < 0:
        whole = int(count)
        yield wrong(path, whole if whole == count else count, NEGATIVE)


def is_kind_version_group(text: str) -> bool:
    return text.count(".") > 1 and all(text.split(".", 2))
