"""Names are refused in apimachinery's words."""

from collections.abc import Callable

import pytest

from fleetqueue.api import names

Check = Callable[[str], list[str]]

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
OLD_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
QUALIFIED = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name', "
    " or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


@pytest.mark.parametrize(
    ("check", "value", "wrong"),
    [
        (names.dns1123_label, "a-1", []),
        (names.dns1123_label, "a.b", ["must not contain dots"]),
        (names.dns1123_label, "-a", [LABEL]),
        (names.dns1123_label, "a\n", [LABEL]),
        (names.dns1123_label, "a" * 64, ["must be no more than 63 characters"]),
        (names.dns1123_subdomain, "a.b-c", []),
        (names.dns1123_subdomain, "A", [SUBDOMAIN]),
        (names.dns1123_subdomain, "", [SUBDOMAIN]),
        (names.dns1123_subdomain, "a" * 254, ["must be no more than 253 characters"]),
        (names.dns1035_label, "a1", []),
        (names.dns1035_label, "1a", [OLD_LABEL]),
        (names.qualified_name, "example.com/Name_1", []),
        (names.qualified_name, "", ["name part must be non-empty", f"name part {QUALIFIED}"]),
        (names.qualified_name, "/a", ["prefix part must be non-empty"]),
        (names.qualified_name, "A/a", [f"prefix part {SUBDOMAIN}"]),
        (
            names.qualified_name,
            "a/b/c",
            [
                f"a qualified name {QUALIFIED} with an optional DNS subdomain prefix and '/' "
                "(e.g. 'example.com/MyName')"
            ],
        ),
        (names.qualified_name, "a" * 64, ["name part must be no more than 63 characters"]),
        (names.annotation_key, "EXAMPLE.com/a", []),
        (names.label_value, "", []),
        (names.label_value, "a" * 64, ["must be no more than 63 characters"]),
        (names.c_identifier, "_a1", []),
        (names.relaxed_env_var_name, "1 a", []),
        (names.relaxed_env_var_name, "", ["environment variable name must be non-empty"]),
        (
            names.relaxed_env_var_name,
            "a=b",
            [
                "a valid environment variable name must consist only of printable ASCII characters "
                "other than '='"
            ],
        ),
        (names.config_map_key, "a.B_c", []),
        (names.config_map_key, "a b", [KEY]),
        (names.config_map_key, "..", ["must not be '..'"]),
        (names.config_map_key, ".", ["must not be '.'"]),
        (names.http_header_name, "X-A", []),
        (names.port_name, "http", []),
        (names.port_name, "1--", [
            "must contain at least one letter (a-z)",
            "must not contain consecutive hyphens",
            "must not begin or end with a hyphen",
        ]),
        (names.port_name, "a" * 16, ["must be no more than 15 characters"]),
        (names.percent, "10%", []),
        (names.path_segment, "a/%", ["may not contain '/'", "may not contain '%'"]),
        (names.path_segment, "..", ["may not be '..'"]),
        (names.ip_address, "10.0.0.1", []),
        (names.ip_address, "010.0.0.1", []),
        (names.ip_address, "::ffff:1.2.3.4", []),
        (names.ip_address, "fe80::1%eth0", [IP]),
        (names.ip_address, "10.0.0", [IP]),
        (names.strict_ip_address, "010.0.0.1", ["must not have leading 0s"]),
        (names.strict_ip_address, "::ffff:1.2.3.4", ["must not be an IPv4-mapped IPv6 address"]),
        (names.strict_ip_address, "FE80::1", ['must be in canonical form ("fe80::1")']),
        (names.cidr, "10.0.0.1/24", []),
        (
            names.cidr,
            "10.0.0.1/33",
            ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"],
        ),
        (names.wildcard_dns1123_subdomain, "*.a.com", []),
    ],
)  # fmt: skip
def test_a_name_is_judged(check: Check, value: str, wrong: list[str]) -> None:
    assert check(value) == wrong


def test_length_counts_bytes() -> None:
    assert names.byte_length("é") == 2
    assert names.label_value("é" * 32)[0] == "must be no more than 63 characters"


def test_numbers_have_ranges() -> None:
    assert names.port_number(80) == []
    assert names.port_number(0) == ["must be between 1 and 65535, inclusive"]
    assert names.user_id(-1) == ["must be between 0 and 2147483647, inclusive"]


def test_a_prefix_may_be_a_dot() -> None:
    assert names.path_segment(".", is_prefix=True) == []
