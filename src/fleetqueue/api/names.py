"""Whether a text may be a name, a label, a key or an address: each function returns what is wrong
with it, in the words of apimachinery's validation, and nothing when it is fine."""

import ipaddress
import re

from fleetqueue.base.kept_texts import kept_texts

_QUALIFIED_KEPT = 4096

_ALPHANUMERIC = "must start and end with an alphanumeric character"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_QUALIFIED_TEXT = f"must consist of alphanumeric characters, '-', '_' or '.', and {_ALPHANUMERIC}"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"


def max_length(length: int) -> str:
    return f"must be no more than {length} characters"


def in_range_message(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def pattern_message(text: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    lead = f"e.g. {shown}" if examples else ""
    return f"{text} ({lead}regex used for validation is '{pattern}')"


class _Rule:
    """A pattern with a longest length; called with a text, says what is wrong with it."""

    def __init__(self, pattern: str, text: str, *examples: str, longest: int = 0) -> None:
        self.pattern = pattern
        self._compiled = re.compile(pattern, re.ASCII)
        self._message = pattern_message(text, pattern, *examples)
        self._longest = longest

    def matches(self, value: str) -> bool:
        return self._compiled.fullmatch(value) is not None

    def __call__(self, value: str) -> list[str]:
        fits = self._compiled.fullmatch(value) is not None
        # What fits is ASCII, so its length is known without encoding it.
        if fits and (not self._longest or len(value) <= self._longest):
            return []
        wrong = []
        if self._longest and byte_length(value) > self._longest:
            wrong.append(max_length(self._longest))
        if not fits:
            wrong.append(self._message)
        return wrong


def byte_length(value: str) -> int:
    return len(value) if value.isascii() else len(value.encode(errors="surrogatepass"))


dns1123_subdomain = _Rule(
    _SUBDOMAIN,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    f"'.', and {_ALPHANUMERIC}",
    "example.com",
    longest=253,
)

_dns1123_label = _Rule(
    _LABEL,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    f"{_ALPHANUMERIC}",
    "my-name",
    "123-abc",
    longest=63,
)

dns1035_label = _Rule(
    "[a-z]([-a-z0-9]*[a-z0-9])?",
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character",
    "my-name",
    "abc-123",
    longest=63,
)

wildcard_dns1123_subdomain = _Rule(
    rf"\*\.{_SUBDOMAIN}",
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which "
    "must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric "
    "character",
    "*.example.com",
    longest=253,
)

label_value = _Rule(
    f"({_QUALIFIED})?",
    f"a valid label must be an empty string or consist of {_QUALIFIED_TEXT[16:]}",
    "MyValue",
    "my_value",
    "12345",
    longest=63,
)

c_identifier = _Rule(
    "[A-Za-z_][A-Za-z0-9_]*",
    "a valid C identifier must start with alphabetic character or '_', followed by a string of "
    "alphanumeric characters or '_'",
    "my_name",
    "MY_NAME",
    "MyName",
)

percent = _Rule(
    "[0-9]+%",
    "a valid percent string must be a numeric string followed by an ending '%'",
    "1%",
    "93%",
)

http_header_name = _Rule(
    "[-A-Za-z0-9]+",
    "a valid HTTP header must consist of alphanumeric characters or '-'",
    "X-Header-Name",
)

_config_map_key = _Rule(
    "[-._a-zA-Z0-9]+",
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "key.name",
    "KEY_NAME",
    "key-name",
    longest=253,
)

_qualified = _Rule(_QUALIFIED, _QUALIFIED_TEXT, "MyName", "my.name", "123-abc")


def dns1123_label(value: str) -> list[str]:
    wrong = _dns1123_label(value)
    if wrong and not _dns1123_label.matches(value) and dns1123_subdomain.matches(value):
        wrong[-1] = "must not contain dots"
    return wrong


def qualified_name(value: str) -> list[str]:
    """Keys of labels and annotations, names of resources: `[prefix/]name`."""
    return list(_qualified_problems(value))


@kept_texts(_QUALIFIED_KEPT)
def _qualified_problems(value: str) -> list[str]:
    """Kept, because the same few names come with every object."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        more = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a qualified name {_qualified('/')[0]}{more}"]
    wrong = []
    if slash and not prefix:
        wrong.append("prefix part must be non-empty")
    elif slash:
        wrong += [f"prefix part {message}" for message in dns1123_subdomain(prefix)]
    if not name:
        wrong.append("name part must be non-empty")
    elif byte_length(name) > 63:
        wrong.append(f"name part {max_length(63)}")
    return wrong + [f"name part {message}" for message in _qualified(name)]


label_key = qualified_name


def annotation_key(key: str) -> list[str]:
    """Unlike a label key, it may be in upper case before the slash."""
    return qualified_name(key.lower())


def path_segment(value: str, is_prefix: bool = False) -> list[str]:
    """Names that stand in a URL path as they are; a prefix may be `.`, for more will follow."""
    if not is_prefix and value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in value]


def relaxed_env_var_name(value: str) -> list[str]:
    """What pods have been allowed since 1.34: any printable ASCII but `=`."""
    if not value:
        return ["environment variable name must be non-empty"]
    if all(" " <= char <= "~" and char != "=" for char in value):
        return []
    return [
        "a valid environment variable name must consist only of printable ASCII characters other "
        "than '='"
    ]


def config_map_key(value: str) -> list[str]:
    return _config_map_key(value) + _up_the_tree(value)


def port_name(value: str) -> list[str]:
    wrong = [max_length(15)] if byte_length(value) > 15 else []
    if not re.fullmatch("[-a-z0-9]+", value):
        wrong.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        wrong.append("must contain at least one letter (a-z)")
    if "--" in value:
        wrong.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        wrong.append("must not begin or end with a hyphen")
    return wrong


def port_number(value: int) -> list[str]:
    return in_range(value, 1, 65535)


def in_range(value: int, low: int, high: int) -> list[str]:
    return [] if low <= value <= high else [in_range_message(low, high)]


def user_id(value: int) -> list[str]:
    return in_range(value, 0, 2**31 - 1)


group_id = user_id


def ip_address(value: str) -> list[str]:
    """Addresses as fields older than strict checking accept them; `010.1.1.1` too."""
    if parse_ip(value) is not None:
        return []
    return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]


def strict_ip_address(value: str) -> list[str]:
    """Addresses in the one canonical form, as newer fields ask for."""
    address = parse_ip(value)
    if address is None:
        return ip_address(value)
    if _has_leading_zeros(value):
        return ["must not have leading 0s"]
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return ["must not be an IPv4-mapped IPv6 address"]
    return [] if str(address) == value else [f'must be in canonical form ("{address}")']


def cidr(value: str) -> list[str]:
    """Subnets as fields older than strict checking accept them; bits beyond the prefix too."""
    address, slash, prefix = value.rpartition("/")
    parsed = parse_ip(address)
    if slash and parsed is not None and re.fullmatch("[0-9]{1,3}", prefix, re.ASCII):
        # A mapped address counts as the IPv6 one that it is written as.
        longest = 128 if ":" in address else 32
        if int(prefix) <= longest:
            return []
    return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]


def parse_ip(value: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Leading zeros in IPv4 are ignored, as they always were; zones are refused."""
    if "%" in value:
        return None
    try:
        return ipaddress.ip_address(_plain_octets(value))
    except ValueError:
        return None


def _plain_octets(value: str) -> str:
    head, colon, tail = value.rpartition(":")
    if "." not in tail:
        return value
    octets = [octet.lstrip("0") or octet[:1] for octet in tail.split(".")]
    return head + colon + ".".join(octets)


def _has_leading_zeros(value: str) -> bool:
    tail = value.rpartition(":")[2]
    return "." in tail and any(len(octet) > 1 and octet[0] == "0" for octet in tail.split("."))


def _up_the_tree(value: str) -> list[str]:
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []
