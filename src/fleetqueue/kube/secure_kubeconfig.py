"""Reads a kubeconfig of which nothing may point outside of itself: whoever writes one must not
make its reader, a manager, a member's agent or a person, read files, run programs or trust whom
they should not.
"""

import ipaddress
import re
from urllib.parse import urlsplit

import msgspec
import yaml

from fleetqueue.kube import kubeconfig
from fleetqueue.kube import usable_kubeconfig as usable
from fleetqueue.kube.errors import BadKubeconfig
from fleetqueue.kube.kubeconfig import Access, Kubeconfig
from fleetqueue.kube.kubeconfig_entries import ContextEntry, UserEntry

UNPARSED = "failed to parse kubeconfig(apiconfig): "
NOTHING_SAID = (
    "invalid configuration: no configuration has been provided,"
    " try setting KUBERNETES_MASTER environment variable"
)
NO_OBJECT = (
    "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type"
    ' struct {{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string'
    ' "json:\\"kind,omitempty\\"" }}'
)
_KINDS: dict[type, str] = {str: "string", list: "array", bool: "bool", int: "number",
                           float: "number"}  # fmt: skip
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_SUBDOMAIN_LENGTH_MAX = 253


class Unsafe(ValueError):
    """Why it is refused, as the condition says it."""


def read(content: bytes) -> Access:
    """The access of its current context. The first check that fails decides the text."""
    found = _parsed(content)
    _check_entries(found)
    access, user = _effective(found)
    check_access(access, user)
    _check_files(found)
    return access


def check_access(
    access: Access, user: UserEntry | None = None, *, may_run_programs: bool = False
) -> None:
    """What holds for every access, wherever it comes from."""
    if access.token_file:
        raise Unsafe("bearerTokenFile is not allowed")
    if not _is_trusted_host(access.server):
        raise Unsafe("untrusted server endpoint")
    if access.username or access.password or "@" in urlsplit(access.server).netloc:
        raise Unsafe("basic auth is not allowed")
    if access.exec is not None and not may_run_programs:
        raise Unsafe("exec plugins are not allowed")
    if user is not None and user.auth_provider is not None:
        raise Unsafe("auth providers are not allowed")
    # Kueue's own checks end here: what it lets pass does not change what it says of the rest.
    if access.server.startswith("http://"):
        raise Unsafe("plain http is not allowed, use an https server")


def with_scheme(server: str) -> str:
    """A server without one is asked over TLS."""
    return server if not server or "://" in server else f"https://{server}"


def _parsed(content: bytes) -> Kubeconfig:
    try:
        text = content.decode()
        found = kubeconfig.parse(text)
    except UnicodeDecodeError as error:
        raise Unsafe(f"{UNPARSED}{error}") from error
    except BadKubeconfig as error:
        # The parser's own text may repeat what is a secret.
        raise Unsafe(f"{UNPARSED}{_not_an_object(text) or _parser_text(error)}") from None
    if fault := usable.encoding_fault(found):
        raise Unsafe(f"{UNPARSED}{fault}")
    return found


def _not_an_object(text: str) -> str:
    """What Go says of YAML that is something else; "" where it is none at all, or an object."""
    try:
        kind = _KINDS.get(type(kubeconfig.content(text)))
    except BadKubeconfig:
        return ""
    return NO_OBJECT.format(kind) if kind else ""


def _check_entries(found: Kubeconfig) -> None:
    if any(user.token_file for user in found.users.values()):
        raise Unsafe("tokenFile is not allowed")
    for name, cluster in found.clusters.items():
        if cluster.insecure_skip_tls_verify:
            raise Unsafe(f"insecure TLS verification is not allowed for cluster {name}")
    for name, cluster in found.clusters.items():
        if cluster.certificate_authority:
            raise Unsafe(
                "certificate-authority file paths are not allowed, "
                f"use certificate-authority-data for cluster {name}"
            )
    for name, cluster in found.clusters.items():
        if not cluster.server:
            raise Unsafe(f"server URL is required for cluster {name}")


def _check_files(found: Kubeconfig) -> None:
    for name, user in found.users.items():
        for field in ("client-certificate", "client-key"):
            if getattr(user, field.replace("-", "_")):
                text = f"{field} file paths are not allowed, use {field}-data for user {name}"
                raise Unsafe(text)


def _effective(found: Kubeconfig) -> tuple[Access, UserEntry]:
    """Of a user with an auth provider all but that, which has a check of its own. A user who is
    named and not there is nobody, as for all clients.
    """
    context = _current(found)
    user = found.users.get(context.user)
    cluster = found.clusters[context.cluster]
    if fault := usable.fault(context.user, user or UserEntry(), context.cluster, cluster):
        raise Unsafe(fault)
    clusters = {
        name: msgspec.structs.replace(cluster, server=with_scheme(cluster.server))
        for name, cluster in found.clusters.items()
    }
    users = {
        name: msgspec.structs.replace(each, auth_provider=None)
        for name, each in found.users.items()
    }
    named = msgspec.structs.replace(context, user=context.user if user is not None else "")
    name = found.current_context
    plain = Kubeconfig(clusters, users, {name: named}, name)
    try:
        return plain.access(), user or UserEntry()
    except BadKubeconfig as error:
        raise Unsafe(error.what) from error


def _current(found: Kubeconfig) -> ContextEntry:
    name = found.current_context
    if name and name not in found.contexts:
        raise Unsafe(f"context was not found for specified context: {name}")
    context = found.contexts.get(name)
    if context is None or context.cluster not in found.clusters:
        raise Unsafe(NOTHING_SAID)
    return context


def _is_trusted_host(server: str) -> bool:
    try:
        parts = urlsplit(server)
        host, _ = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return len(host) <= _SUBDOMAIN_LENGTH_MAX and bool(_SUBDOMAIN.fullmatch(host))
    return True


def _parser_text(error: Exception) -> str:
    """As Go's parser of YAML says it, which finds the same faults in the same words."""
    cause = error.__cause__
    if not isinstance(cause, yaml.MarkedYAMLError) or not cause.problem:
        return error.what if isinstance(error, BadKubeconfig) else str(error)
    marks = (cause.context_mark, cause.problem_mark)
    line = next((mark.line for mark in marks if mark is not None and mark.line), 0)
    if line and isinstance(cause, yaml.scanner.ScannerError):
        line += 1
    problem = kubeconfig.problem_of(cause)
    return f"yaml: line {line}: {problem}" if line else f"yaml: {problem}"
