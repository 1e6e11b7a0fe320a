"""Errors about one field of an object, printed as apimachinery's `field.Error` prints them.

`path` is the dotted form that clients see: `spec.containers[0].name`, `metadata.labels[app]`.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from fleetqueue.base import codec

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}

OMITTED = object()
"""As a bad value: print none, as Go does for a Required, Forbidden, TooLong or Internal error."""

_ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
"""Go's JSON escapes these, while strings of their own are quoted without."""

_WORDS = {
    "FieldValueInvalid": "Invalid value",
    "FieldValueRequired": "Required value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueNotFound": "Not found",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "FieldValueTypeInvalid": "Invalid value",
    "InternalError": "Internal error",
}


class FieldError(NamedTuple):
    """What is wrong with one field. `value` is text already, as Go's %v or %q would print it."""

    reason: str
    path: str
    value: str
    detail: str

    def body(self) -> str:
        """The message without its path, as `Status.details.causes[].message` carries it."""
        head = _WORDS[self.reason]
        if self.value:
            head = f"{head}: {self.value}"
        return f"{head}: {self.detail}" if self.detail else head

    def cause(self) -> dict[str, str]:
        return {"reason": self.reason, "message": self.body(), "field": self.path}

    def __str__(self) -> str:
        return f"{self.path}: {self.body()}"


def aggregate(errors: Iterable[object]) -> str:
    """Several as one text, as apimachinery joins errors of any kind: each text once, in brackets
    where they are more than one.
    """
    texts = list(dict.fromkeys(map(str, errors)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def show(value: Any) -> str:
    """A bad value as apimachinery prints it: strings quoted, objects as JSON, null as "null"."""
    if value is OMITTED:
        return ""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    text = codec.encode(value).decode()
    return text if isinstance(value, str) else text.translate(_ESCAPED)


def quoted(text: str) -> str:
    """As Go's %q prints it."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    code = ord(letter)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def wrong(path: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", path, show(value), detail)


def wrong_type(path: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", path, show(value), detail)


def required(path: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", path, "", detail)


def forbidden(path: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", path, "", detail)


def duplicate(path: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", path, show(value), "")


def not_found(path: str, value: Any) -> FieldError:
    return FieldError("FieldValueNotFound", path, show(value), "")


def unsupported(path: str, value: Any, allowed: Iterable[str]) -> FieldError:
    listed = ", ".join(show(word) for word in allowed)
    return FieldError("FieldValueNotSupported", path, show(value), f"supported values: {listed}")


def too_long(path: str, maximum: int) -> FieldError:
    unit = "byte" if maximum == 1 else "bytes"
    return FieldError("FieldValueTooLong", path, "", f"may not be more than {maximum} {unit}")


def too_many(path: str, actual: int, maximum: int) -> FieldError:
    unit = "item" if maximum == 1 else "items"
    return FieldError("FieldValueTooMany", path, str(actual), f"must have at most {maximum} {unit}")
