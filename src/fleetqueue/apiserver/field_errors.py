"""The API server's name for `fleetqueue.api.field_errors`, which decides how field errors print."""

from fleetqueue.api.field_errors import (
    OMITTED,
    FieldError,
    duplicate,
    forbidden,
    not_found,
    required,
    show,
    too_long,
    too_many,
    unsupported,
    wrong,
    wrong_type,
)

__all__ = [
    "OMITTED",
    "FieldError",
    "duplicate",
    "forbidden",
    "not_found",
    "required",
    "show",
    "too_long",
    "too_many",
    "unsupported",
    "wrong",
    "wrong_type",
]
