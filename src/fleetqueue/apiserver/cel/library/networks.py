"""IP addresses and networks in expressions."""

import ipaddress
import re
from dataclasses import dataclass
from typing import TypeAlias

from fleetqueue.apiserver.cel.errors import CelError
from fleetqueue.apiserver.cel.overloads import overload
from fleetqueue.apiserver.cel.values import register

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Ip:
    address: _Address

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True)
class Cidr:
    address: _Address
    bits: int

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        return ipaddress.ip_network((self.address, self.bits), strict=False)

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"


register(Ip, "net.IP")
register(Cidr, "net.CIDR")


def _parse_ip(text: str) -> Ip:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        why = f'ParseAddr("{text}"): unable to parse IP'
        raise CelError(
            f'IP Address "{text}" parse error during conversion from string: {why}'
        ) from None
    if "%" in text:
        raise CelError(f'IP address "{text}" with zone value is not allowed')
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise CelError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return Ip(address)


def _parse_cidr(text: str) -> Cidr:
    address, slash, bits = text.rpartition("/")
    problem = "network address parse error during conversion from string: "
    if not slash:
        raise CelError(f"{problem * 2}netip.ParsePrefix(\"{text}\"): no '/'")
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        why = f'ParseAddr("{address}"): unable to parse IP'
        raise CelError(f'{problem * 2}netip.ParsePrefix("{text}"): {why}') from None
    if re.fullmatch(r"0|[1-9][0-9]{0,2}", bits) is None or int(bits) > parsed.max_prefixlen:
        words = "bad bits after slash" if not bits.isdecimal() else "prefix length out of range"
        raise CelError(f'{problem * 2}netip.ParsePrefix("{text}"): {words}: "{bits}"')
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        raise CelError(f'{problem}IPv4-mapped IPv6 address "{text}" is not allowed')
    return Cidr(parsed, int(bits))


def _is_ip(text: str) -> bool:
    try:
        _parse_ip(text)
    except CelError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    try:
        _parse_cidr(text)
    except CelError:
        return False
    return True


def _is_global_unicast(value: Ip) -> bool:
    """As Go sees it: also private addresses are global."""
    address = value.address
    if address == ipaddress.ip_address("255.255.255.255"):
        return False
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


def _is_link_local_multicast(value: Ip) -> bool:
    if value.address.version == 4:
        return value.address in ipaddress.ip_network("224.0.0.0/24")
    return value.address.packed[0] == 0xFF and value.address.packed[1] & 0x0F == 0x02


def _contains_ip(cidr: Cidr, value: Ip | str) -> bool:
    address = (_parse_ip(value) if isinstance(value, str) else value).address
    return address.version == cidr.address.version and address in cidr.network


def _contains_cidr(cidr: Cidr, value: Cidr | str) -> bool:
    other = _parse_cidr(value) if isinstance(value, str) else value
    if cidr.address.version != other.address.version or cidr.bits > other.bits:
        return False
    return other.network.network_address in cidr.network


def _masked(cidr: Cidr) -> Cidr:
    return Cidr(cidr.network.network_address, cidr.bits)


OVERLOADS = [
    overload("ip", "(string) -> IP", _parse_ip),
    overload("isIP", "(string) -> bool", _is_ip),
    overload("ip.isCanonical", "(string) -> bool", lambda text: str(_parse_ip(text)) == text),
    overload("family", "IP.() -> int", lambda ip: ip.address.version),
    overload("isUnspecified", "IP.() -> bool", lambda ip: ip.address.is_unspecified),
    overload("isLoopback", "IP.() -> bool", lambda ip: ip.address.is_loopback),
    overload("isLinkLocalMulticast", "IP.() -> bool", _is_link_local_multicast),
    overload("isLinkLocalUnicast", "IP.() -> bool", lambda ip: ip.address.is_link_local),
    overload("isGlobalUnicast", "IP.() -> bool", _is_global_unicast),
    overload("string", "(IP) -> string", str),
    overload("cidr", "(string) -> CIDR", _parse_cidr),
    overload("isCIDR", "(string) -> bool", _is_cidr),
    overload("containsIP", "CIDR.(string) -> bool", _contains_ip),
    overload("containsIP", "CIDR.(IP) -> bool", _contains_ip),
    overload("containsCIDR", "CIDR.(string) -> bool", _contains_cidr),
    overload("containsCIDR", "CIDR.(CIDR) -> bool", _contains_cidr),
    overload("ip", "CIDR.() -> IP", lambda cidr: Ip(cidr.address)),
    overload("prefixLength", "CIDR.() -> int", lambda cidr: cidr.bits),
    overload("masked", "CIDR.() -> CIDR", _masked),
    overload("string", "(CIDR) -> string", str),
]
