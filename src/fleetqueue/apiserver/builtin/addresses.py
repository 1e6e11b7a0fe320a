"""Checks for IP addresses and for what may be an endpoint."""

import ipaddress

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, wrongs

PROTOCOLS = ("SCTP", "TCP", "UDP")
HOST = ipaddress.ip_network("127.0.0.0/16")
"""This machine's own; the rest of 127.0.0.0/8 belongs to pods that are processes of it."""


def validate_address(address: str, path: str) -> Errors:
    return wrongs(path, address, names.ip_address(address))


def validate_network(network: str, path: str) -> Errors:
    return wrongs(path, network, names.cidr(network))


def validate_endpoint_address(address: str, path: str) -> Errors:
    """Traffic must be able to reach it from elsewhere."""
    parsed = names.parse_ip(address)
    if parsed is None:
        return [fields.wrong(path, address, "must be a valid IP address")]
    mapped = getattr(parsed, "ipv4_mapped", None)
    parsed = mapped or parsed
    found = []
    if parsed.is_unspecified:
        found.append(f"may not be unspecified ({address})")
    if parsed.is_loopback and not _is_of_pod(parsed):
        found.append("may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if parsed.is_link_local:
        found.append("may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if _is_link_local_multicast(parsed):
        found.append("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
    return wrongs(path, address, found)


def is_ipv6(address: str) -> bool:
    parsed = names.parse_ip(address)
    return isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is None


def validate_port_or_name(port: int | str, path: str) -> Errors:
    if isinstance(port, int):
        return wrongs(path, port, names.port_number(port))
    return wrongs(path, port, names.port_name(port))


def _is_of_pod(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return isinstance(address, ipaddress.IPv4Address) and address not in HOST


def _is_link_local_multicast(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address in ipaddress.ip_network("224.0.0.0/24")
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02
