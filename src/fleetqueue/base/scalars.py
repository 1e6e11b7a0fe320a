"""What an unquoted YAML scalar means, null, a boolean, a number or text, to Kubernetes tools."""

import math
import re

_WORDS: dict[str, bool | float | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES"), True),
    **dict.fromkeys(("true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO"), False),
    **dict.fromkeys(("false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}

_INTEGER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_TIMESTAMP = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}"
    r"([Tt]\d{1,2}:\d{1,2}:\d{1,2}(\.\d+)?(Z|[-+]\d\d:\d\d)| \d{1,2}:\d{1,2}:\d{1,2}(\.\d+)?)?$"
)
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$")

_INT64_MIN, _UINT64_MAX = -(2**63), 2**64 - 1


def resolve(text: str) -> str | int | float | bool | None:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] == ".":
        return _float(text, text)
    if text[0] not in "+-0123456789" or _TIMESTAMP.match(text):
        return text
    plain = text.replace("_", "")
    integer = _integer(plain)
    if integer is not None:
        return integer
    return _float(plain, text)


def reads_as_text(text: str) -> bool:
    """Whether readers, those of other tools too, take the unquoted text for a string."""
    if not text or text == "<<" or _TIMESTAMP.match(text) or _BASE_60.match(text):
        return False
    return isinstance(resolve(text), str)


def kind(value: object) -> str:
    """The last part of the YAML tag that says what a value is."""
    return {bool: "bool", int: "int", float: "float", type(None): "null"}.get(type(value), "str")


def _float(plain: str, text: str) -> float | str:
    """A number too large for a float stays text, as it does upstream."""
    value = float(plain) if _FLOAT.match(plain) else math.inf
    return value if math.isfinite(value) else text


def _integer(plain: str) -> int | None:
    match = _INTEGER.match(plain)
    if match is None:
        return None
    sign, digits = match.groups()
    value = int(digits, _base(digits)) * (-1 if sign == "-" else 1)
    in_range = _INT64_MIN <= value <= (_UINT64_MAX if not sign else 2**63 - 1)
    return value if in_range else None


def _base(digits: str) -> int:
    prefix = digits[:2].lower()
    if prefix in ("0x", "0b", "0o"):
        return 0
    return 8 if len(digits) > 1 and digits[0] == "0" else 10
