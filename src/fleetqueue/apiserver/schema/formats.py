"""The string formats that CRD schemas are checked for; any other format name is not checked.

Each entry accepts exactly what the API server's format registry accepts, also where that is lax.
"""

import ipaddress
import re
from collections.abc import Callable
from datetime import date
from email.utils import parseaddr
from urllib.parse import urlsplit

from fleetqueue.apiserver.cel.regex import compile_pattern

_UUID = r"(?i)^[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{0}-?{1}-?[0-9a-f]{{12}}$"
_ANY = "[0-9a-f]{4}"
_VARIANT = "[89ab][0-9a-f]{3}"
_NAME_CHARS = r"[a-zA-Z0-9\p{S}\p{L}]"
_HOSTNAME = (
    rf"^({_NAME_CHARS}((-?{_NAME_CHARS}{{0,62}})?)"
    rf"|({_NAME_CHARS}(([a-zA-Z0-9-\p{{S}}\p{{L}}]{{0,61}}{_NAME_CHARS})?)(\.)){{1,}}"
    r"([a-zA-Z\p{L}]){2,63})$"
)
_BASE64 = r"^(?:[A-Za-z0-9+\/]{4})*(?:[A-Za-z0-9+\/]{2}==|[A-Za-z0-9+\/]{3}=|[A-Za-z0-9+\/]{4})$"
_BYTE_RANGE = r"(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"
_RGB = rf"^rgb\(\s*{_BYTE_RANGE}\s*,\s*{_BYTE_RANGE}\s*,\s*{_BYTE_RANGE}\s*\)$"
_CREDIT_CARD = (
    r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$"
)
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))\Z")
_USUAL_TIME = re.compile(
    r"[1-9]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ\Z",
    re.ASCII,
)
_DURATION = re.compile(r"[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)\Z")
_LOOSE_DURATION = re.compile(r"(\d+)\s*([A-Za-zµ]+)")
_UNITS = (
    ("ns", "nano"),
    ("us", "µs", "micro"),
    ("ms", "milli"),
    ("s", "sec"),
    ("m", "min"),
    ("h", "hr", "hour"),
    ("d", "day"),
    ("w", "wk", "week"),
)


def find(name: str) -> Callable[[str], bool] | None:
    """The check for a format, or None if the format means nothing to the server."""
    return _CHECKS.get(name.replace("-", ""))


def _pattern(source: str) -> Callable[[str], bool]:
    return lambda text: compile_pattern(source).matches(text)


def _is_date(text: str) -> bool:
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        # Go knows a year 0, Python does not.
        return text.startswith("0000-") and _is_date(f"2000{text[4:]}")
    return True


def _is_date_time(text: str) -> bool:
    if _USUAL_TIME.match(text):
        return True
    day, found, rest = text.lower().partition("t")
    clock = _TIME.match(rest.split("t")[0])
    if not found or not _is_date(day) or clock is None:
        return False
    return clock[1] <= "23" and clock[2] <= "59" and clock[3] <= "59"


def _is_duration(text: str) -> bool:
    if _DURATION.match(text):
        return True
    return any(_is_unit(unit.strip().lower()) for _, unit in _LOOSE_DURATION.findall(text))


def _is_unit(unit: str) -> bool:
    return any(unit in names or unit.startswith(names[-1]) for names in _UNITS)


def _is_hostname(text: str) -> bool:
    if not compile_pattern(_HOSTNAME).matches(text) or len(text.encode()) > 255:
        return False
    return all(len(label.encode()) <= 63 for label in text.split("."))


def _sloppy(text: str) -> str:
    """Leading zeros in an IPv4 address are dropped, as the server tolerates them."""
    return re.sub(r"(?<![0-9a-fA-F:])0+(?=[0-9])", "", text) if "." in text else text


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _is_ipv4(text: str) -> bool:
    return "." in text and _is_ip(_sloppy(text))


def _is_ipv6(text: str) -> bool:
    return ":" in text and _is_ip(text)


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not bits.isdecimal() or not _is_ip(_sloppy(address)):
        return False
    return int(bits) <= (128 if ":" in address else 32)


def _is_mac(text: str) -> bool:
    pairs = r"[0-9a-fA-F]{2}(?:(?::[0-9a-fA-F]{2})+|(?:-[0-9a-fA-F]{2})+)"
    quads = r"[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4})+"
    size = len(re.sub(r"[^0-9a-fA-F]", "", text)) // 2
    return size in (6, 8, 20) and re.fullmatch(f"{pairs}|{quads}", text) is not None


def _is_email(text: str) -> bool:
    _, address = parseaddr(text)
    local, at, domain = address.rpartition("@")
    return bool(local and at and domain) and " " not in address


def _is_uri(text: str) -> bool:
    """Absolute, or a path from the root; no control characters, valid escapes."""
    if not text or re.search(r"[\x00-\x20\x7f]", text) or re.search(r"%(?![0-9a-fA-F]{2})", text):
        return False
    if text.startswith("/"):
        return True
    try:
        parts = urlsplit(text)
        return bool(parts.scheme) and (parts.port is None or True)
    except ValueError:
        return False


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if re.fullmatch(r"(?:[0-9]{9}X|[0-9]{10})", digits) is None:
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum((index + 1) * value for index, value in enumerate(values)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if re.fullmatch(r"[0-9]{13}", digits) is None:
        return False
    return sum(int(digit) * (3 if i % 2 else 1) for i, digit in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not compile_pattern(_CREDIT_CARD).matches(digits):
        return False
    doubled = [int(d) * (2 if i % 2 else 1) for i, d in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _is_ssn(text: str) -> bool:
    return len(text) == 11 and re.fullmatch(r"\d{3}[- ]?\d{2}[- ]?\d{4}", text) is not None


_CHECKS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _pattern(r"^[0-9a-fA-F]{24}$"),
    "uri": _is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": _is_mac,
    "uuid": _pattern(_UUID.format(_ANY, _ANY)),
    "uuid3": _pattern(_UUID.format("3[0-9a-f]{3}", _ANY)),
    "uuid4": _pattern(_UUID.format("4[0-9a-f]{3}", _VARIANT)),
    "uuid5": _pattern(_UUID.format("5[0-9a-f]{3}", _VARIANT)),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _is_ssn,
    "hexcolor": _pattern(r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    "rgbcolor": _pattern(_RGB),
    "byte": _pattern(_BASE64),
    "password": lambda _: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
}
