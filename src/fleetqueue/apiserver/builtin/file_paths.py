"""Rules for paths inside volumes and containers."""

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors


def validate_no_backsteps(value: str, path: str) -> Errors:
    if ".." in value.split("/"):
        return [fields.wrong(path, value, "must not contain '..'")]
    return []


def validate_descending(value: str, path: str) -> Errors:
    """Relative, and never upwards."""
    errors: Errors = []
    if value.startswith("/"):
        errors.append(fields.wrong(path, value, "must be a relative path"))
    return errors + validate_no_backsteps(value, path)


def validate_not_reserved(value: str, path: str) -> Errors:
    errors = validate_descending(value, path)
    if value.startswith("..") and not value.startswith("../"):
        errors.append(fields.wrong(path, value, "must not start with '..'"))
    return errors
