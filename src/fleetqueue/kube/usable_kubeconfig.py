"""What keeps Go's client from using a kubeconfig that it could read, in its words."""

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from fleetqueue.api.field_errors import aggregate
from fleetqueue.kube.kubeconfig import Kubeconfig, without_login
from fleetqueue.kube.kubeconfig_entries import ClusterEntry, ExecConfig, UserEntry

PROXIES = ("http", "https", "socks5")
MODES = ("Never", "IfAvailable", "Always")
OLD_PLUGINS = tuple(f"client.authentication.k8s.io/{each}" for each in ("v1alpha1", "v1beta1"))
"""Those that need not say how they may ask somebody."""
_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_QUANTUM = 4


def fault(user_name: str, user: UserEntry, cluster_name: str, cluster: ClusterEntry) -> str:
    """All that is wrong with the two entries of a context; "" where nothing is. No file is
    looked at.
    """
    found = [*_of_user(user_name, user), *_of_cluster(cluster_name, cluster)]
    return f"invalid configuration: {aggregate(found)}" if found else ""


def encoding_fault(found: Kubeconfig) -> str:
    """The first of all entries that is to be base64 and is not."""
    said = [each.certificate_authority_data for each in found.clusters.values()]
    for user in found.users.values():
        said += [user.client_certificate_data, user.client_key_data]
    wrong = (_first_wrong(each) for each in said)
    return next((f"illegal base64 data at input byte {at}" for at in wrong if at is not None), "")


def _of_user(name: str, user: UserEntry) -> Iterator[str]:
    has_certificate = bool(user.client_certificate or user.client_certificate_data)
    if has_certificate and not (user.client_key or user.client_key_data):
        yield (
            f"client-key-data or client-key must be specified for {name}"
            " to use the clientCert authentication method."
        )
    if user.exec is not None:
        if user.auth_provider is not None:
            yield f"authProvider cannot be provided in combination with an exec plugin for {name}"
        yield from _of_plugin(name, user.exec)
    basic = bool(user.username or user.password)
    if user.token and basic:
        yield (
            f"more than one authentication method found for {name};"
            " found [token basicAuth], only one is allowed"
        )
    if (user.as_uid or user.as_groups or user.as_user_extra) and not user.as_:
        yield f"requesting uid, groups or user-extra for {name} without impersonating a user"


def _of_plugin(name: str, plugin: ExecConfig) -> Iterator[str]:
    variables = (("env variable name", each.name) for each in plugin.env or ())
    needed = [("command", plugin.command), ("apiVersion", plugin.api_version), *variables]
    for field, value in needed:
        if not value:
            yield f"{field} must be specified for {name} to use exec authentication plugin"
    mode = plugin.interactive_mode
    if not mode and plugin.api_version not in OLD_PLUGINS:
        yield f"interactiveMode must be specified for {name} to use exec authentication plugin"
    elif mode and mode not in MODES:
        yield f'invalid interactiveMode for {name}: "{mode}"'


def _of_cluster(name: str, cluster: ClusterEntry) -> Iterable[str]:
    url = without_login(cluster.proxy_url)
    if not url:
        return []
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        why = f"could not parse: {url}"
    else:
        if scheme in PROXIES:
            return []
        why = f'unsupported scheme "{scheme}", must be http, https, or socks5'
    return [f'invalid \'proxy-url\' "{url}" for cluster "{name}": {why}']


def _first_wrong(text: str) -> int | None:
    """Where base64 ends to be any, counted in bytes; None where all of it is. Line ends count for
    nothing.
    """
    digits = 0
    for at, each in enumerate(text):
        if each in "\r\n":
            continue
        if each == "=":
            return _wrong_padding(text, at, digits % _QUANTUM)
        if each not in _ALPHABET:
            return len(text[:at].encode())
        digits += 1
    return len(text) - digits % _QUANTUM if digits % _QUANTUM else None


def _wrong_padding(text: str, at: int, digits: int) -> int | None:
    """`digits`: those of the last four that are there before the padding."""
    if digits < 2:
        return at
    rest = [(place, each) for place, each in enumerate(text) if place > at and each not in "\r\n"]
    if digits == 2:
        if not rest:
            return len(text)
        place, each = rest.pop(0)
        if each != "=":
            return place - 1
    return rest[0][0] if rest else None
