"""Values printed as Go's fmt package prints decoded JSON, for messages that clients match on."""

import re
from typing import Any

from fleetqueue.base import codec


def plain(value: Any) -> str:
    """As `%v`: no quotes, maps sorted by key."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{plain(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(plain(item) for item in value)}]"
    return _number(value) if isinstance(value, float) else str(value)


def syntax(value: Any) -> str:
    """As `%#v`: Go source for the value."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        items = ", ".join(f"{quoted(key)}:{syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{items}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(syntax(item) for item in value)}}}"
    return plain(value)


_UNFIT = re.compile(
    r"json: cannot unmarshal (\w+)(?: \S+)? into Go (?:struct field \S+|value) of type (.+)"
)
_KINDS = {"object": "map", "array": "slice", "number": "int64"}


def conversion_error(text: str) -> str:
    """What the converter of decoded maps says where the JSON decoder would say `text`."""
    found = _UNFIT.fullmatch(text)
    if found is None:
        return text
    given, wanted = _KINDS.get(found[1], found[1]), found[2]
    if wanted.startswith("[]"):
        return f"cannot restore slice from {given}"
    if wanted.startswith("map["):
        return f"cannot restore map from {given}"
    if "." in wanted:
        return f"cannot restore struct from: {given}"
    if given == "int64" and wanted == "string":
        return "cannot convert int64 to string"
    return f"unrecognized type: {wanted}"


def quoted(text: str) -> str:
    """As `%q`."""
    return codec.encode(text).decode()


def type_name(value: Any) -> str:
    """As `%T`; a number in an applied configuration is always a float64."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "map[string]interface {}"
    return "[]interface {}" if isinstance(value, list) else "float64"


def _number(value: float) -> str:
    """Go switches to an exponent below 1e-4 and from 1e21 on."""
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return repr(value)
