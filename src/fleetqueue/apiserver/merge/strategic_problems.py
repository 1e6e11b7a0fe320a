"""What a strategic merge patch is refused with; the words are upstream's."""

from typing import Any

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.merge import go_text

PRIMITIVE_LIST_FORMAT = "invalid patch format of primitive list"
RETAIN_KEYS_FORMAT = "invalid patch format of retainKeys"
SET_ORDER_FORMAT = "invalid patch format of setElementOrder list"


def refused(message: str) -> problems.ApiError:
    """Upstream has no status of its own for these, so the client sees a 500 without a reason."""
    return problems.ApiError(500, "", message)


def bad_format(message: str) -> problems.ApiError:
    return problems.bad_request(message)


def list_of_lists() -> problems.ApiError:
    message = "the server rejected our request due to an error in our request"
    return problems.ApiError(422, "Invalid", message)


def no_merge_key(item: Any, key: str) -> problems.ApiError:
    return refused(f"map: {go_text.plain(item)} does not contain declared merge key: {key}")


def bad_patch_type(directive: Any, item: Any) -> problems.ApiError:
    return refused(f"unknown patch type: {go_text.plain(directive)} in map: {go_text.plain(item)}")


def bad_argument(expected: Any, actual: Any) -> problems.ApiError:
    names = [_type_name(expected), _type_name(actual)]
    return refused(f"expected a {names[0]}, but received a {names[1]}")


def _type_name(value: Any) -> str:
    if value is None:
        return "%!s(<nil>)"
    if isinstance(value, int) and not isinstance(value, bool):
        return "int64"
    return go_text.type_name(value)
