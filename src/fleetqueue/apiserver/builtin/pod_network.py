"""Rules for a pod's network: host ports, name resolution and host aliases."""

import re
from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, wrongs

Object = Mapping[str, Any]

NAMESERVERS_MAX = 3
SEARCHES_MAX = 32
SEARCH_LETTERS_MAX = 2048

_UNDERSCORED_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORED = rf"{_UNDERSCORED_LABEL}(\.{_UNDERSCORED_LABEL})*"
_UNDERSCORED_PATTERN = re.compile(_UNDERSCORED, re.ASCII)


def validate_host_ports(spec: Object, path: str, *, is_pod: bool) -> Errors:
    if not spec.get("hostNetwork"):
        return []
    errors: Errors = []
    for index, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports") or ()):
            host, own = port.get("hostPort") or 0, port.get("containerPort") or 0
            if (is_pod or host) and host != own:
                why = "must match `containerPort` when `hostNetwork` is true"
                below = f"{path}.containers[{index}].ports[{number}].hostPort"
                errors.append(fields.wrong(below, host, why))
    return errors


def validate_dns(spec: Object, path: str) -> Errors:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            why = "must provide `dnsConfig` when `dnsPolicy` is None"
            return [fields.required(path, why)]
        if not config.get("nameservers"):
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [fields.required(f"{path}.nameservers", why)]
    if config is None:
        return []
    errors = _validate_nameservers(config.get("nameservers") or [], f"{path}.nameservers")
    errors += _validate_searches(config.get("searches") or [], f"{path}.searches")
    return errors + [
        fields.required(f"{path}.options[{index}]", "must not be empty")
        for index, option in enumerate(config.get("options") or ())
        if not option.get("name")
    ]


def validate_host_aliases(spec: Object, path: str) -> Errors:
    errors: Errors = []
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        below, address = f"{path}[{index}]", alias.get("ip", "")
        errors += wrongs(f"{below}.ip", address, names.ip_address(address))
        for number, name in enumerate(alias.get("hostnames") or ()):
            errors += wrongs(f"{below}.hostnames[{number}]", name, names.dns1123_subdomain(name))
    return errors


def warn_of_address(address: str, path: str) -> list[str]:
    """Spellings of an address that will not be accepted for ever."""
    parsed = names.parse_ip(address)
    if parsed is None:
        return []
    shown = getattr(parsed, "ipv4_mapped", None) or parsed
    if shown is not parsed or _is_padded(address):
        return [
            f'{path}: non-standard IP address "{address}" will be considered invalid '
            f'in a future Kubernetes release: use "{shown}"'
        ]
    if ":" in address and str(parsed) != address:
        return [
            f'{path}: IPv6 address "{address}" should be in RFC 5952 canonical format ("{parsed}")'
        ]
    return []


def _validate_nameservers(servers: list[str], path: str) -> Errors:
    errors: Errors = []
    if len(servers) > NAMESERVERS_MAX:
        why = f"must not have more than {NAMESERVERS_MAX} nameservers"
        errors.append(fields.wrong(path, servers, why))
    for index, server in enumerate(servers):
        errors += wrongs(f"{path}[{index}]", server, names.ip_address(server))
    return errors


def _validate_searches(searches: list[str], path: str) -> Errors:
    errors: Errors = []
    if len(searches) > SEARCHES_MAX:
        why = f"must not have more than {SEARCHES_MAX} search paths"
        errors.append(fields.wrong(path, searches, why))
    if len(" ".join(searches)) > SEARCH_LETTERS_MAX:
        why = (
            f"must not have more than {SEARCH_LETTERS_MAX} characters "
            "(including spaces) in the search list"
        )
        errors.append(fields.wrong(path, searches, why))
    for index, search in enumerate(searches):
        if search != ".":
            plain = search.removesuffix(".")
            errors += wrongs(f"{path}[{index}]", plain, _search_problems(plain))
    return errors


def _search_problems(value: str) -> list[str]:
    problems = [names.max_length(253)] if len(value) > 253 else []
    if not _UNDERSCORED_PATTERN.fullmatch(value):
        text = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'_', '-' or '.', and must start and end with an alphanumeric character"
        )
        problems.append(names.pattern_message(text, _UNDERSCORED, "example.com"))
    return problems


def _is_padded(address: str) -> bool:
    octets = address.rpartition(":")[2].split(".")
    return len(octets) == 4 and any(len(octet) > 1 and octet[0] == "0" for octet in octets)
