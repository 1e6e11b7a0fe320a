"""Who we are towards an API server: finds the access, and yields credentials that stay fresh."""

import asyncio
import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from fleetqueue.base.clock import Clock
from fleetqueue.kube import kubeconfig
from fleetqueue.kube.errors import BadKubeconfig, CredentialFailure
from fleetqueue.kube.exec_plugin import ExecCredentials, Run, run_program
from fleetqueue.kube.kubeconfig import Access, Impersonation, Kubeconfig, Material

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
FILE_AGE_MAX = timedelta(minutes=1)
"""How old the content of a token or certificate file may be before it is read again."""


def own_namespace(environment: Mapping[str, str], directory: Path = SERVICE_ACCOUNT) -> str:
    """The namespace of the pod that we run in; "" where that is none."""
    said = environment.get("POD_NAMESPACE") or ""
    if said:
        return said
    try:
        return (directory / "namespace").read_text().strip()
    except OSError:
        return ""


@dataclass(frozen=True)
class Credential:
    """What goes with a call: headers, and perhaps a client certificate with its key."""

    headers: tuple[tuple[str, str], ...] = ()
    """A name may stand several times: each group to act as is a header of its own."""
    certificate: bytes = b""
    key: bytes = b""

    @property
    def token(self) -> str:
        for name, value in self.headers:
            if name == "authorization" and value.startswith("Bearer "):
                return value.removeprefix("Bearer ")
        return ""


class Credentials(Protocol):
    """A source of credentials."""

    async def current(self) -> Credential: ...

    async def refused(self, credential: Credential) -> bool:
        """The server answered 401 to this one. True: another is worth a try."""
        ...


def find_access(
    file: str | os.PathLike[str] | None = None,
    context: str = "",
    *,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> Access:
    """As kubectl looks: the file given, KUBECONFIG, ~/.kube/config, then the pod's own account."""
    merged = find_kubeconfig(file, environ)
    if file is not None or not merged.is_empty:
        return merged.access(context)
    if is_in_cluster(environ, service_account):
        return in_cluster(environ, service_account)
    raise BadKubeconfig(
        "no cluster is configured",
        file=", ".join(_places(environ)),
        fix=(
            "KUBECONFIG names no file that exists and has a cluster"
            if environ.get("KUBECONFIG")
            else "name a kubeconfig file, or set KUBECONFIG"
        ),
    )


def find_kubeconfig(
    file: str | os.PathLike[str] | None = None, environ: Mapping[str, str] = os.environ
) -> Kubeconfig:
    """The file given, which must exist, or what is found without one."""
    if file is not None:
        return kubeconfig.load([file], must_exist=True)
    return kubeconfig.load(_places(environ))


def _places(environ: Mapping[str, str]) -> list[str]:
    listed = [path for path in environ.get("KUBECONFIG", "").split(os.pathsep) if path]
    return listed or [str(Path(environ.get("HOME", "~")).expanduser() / ".kube" / "config")]


def is_in_cluster(environ: Mapping[str, str], service_account: Path = SERVICE_ACCOUNT) -> bool:
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and (service_account / "token").exists()


def in_cluster(
    environ: Mapping[str, str] = os.environ, service_account: Path = SERVICE_ACCOUNT
) -> Access:
    """The access that every pod is given."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise BadKubeconfig(
            "this is not a pod of a cluster: "
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"
        )
    authority = service_account / "ca.crt"
    namespace = service_account / "namespace"
    return Access(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        authority=Material(file=str(authority)) if authority.exists() else None,
        token_file=str(service_account / "token"),
        name="in-cluster",
    )


def credentials_for(access: Access, clock: Clock, run: Run = run_program) -> Credentials:
    """The source that an access describes."""
    if access.exec is not None and not (access.token or access.token_file):
        return _FromPlugin(ExecCredentials(access, clock, run))
    return _FromFiles(access, clock)


class _FromFiles:
    """Tokens, passwords and certificates that stand in the access or in files."""

    def __init__(self, access: Access, clock: Clock) -> None:
        self._access = access
        self._clock = clock
        self._read_at: datetime | None = None
        self._credential = Credential()

    async def current(self) -> Credential:
        now = self._clock.now()
        if self._read_at is None or (self._rotates and now - self._read_at >= FILE_AGE_MAX):
            self._credential = await asyncio.to_thread(self._read)
            self._read_at = now
        return self._credential

    async def refused(self, credential: Credential) -> bool:
        """A rotated file may hold a better token than the one that was refused."""
        if not self._rotates:
            return False
        self._read_at = None
        return await self.current() != credential

    @property
    def _rotates(self) -> bool:
        sources = (self._access.certificate, self._access.key)
        return bool(self._access.token_file) or any(source and source.file for source in sources)

    def _read(self) -> Credential:
        access = self._access
        return Credential(
            headers=(
                *self._authorization(),
                *impersonation_headers(access.impersonate),
                *access.headers,
            ),
            certificate=access.certificate.read() if access.certificate else b"",
            key=access.key.read() if access.key else b"",
        )

    def _authorization(self) -> tuple[tuple[str, str], ...]:
        token = self._token()
        if token:
            return (("authorization", f"Bearer {token}"),)
        if self._access.username or self._access.password:
            pair = f"{self._access.username}:{self._access.password}".encode()
            return (("authorization", f"Basic {base64.b64encode(pair).decode()}"),)
        return ()

    def _token(self) -> str:
        """The file's, where it can be read; the last one that could be read, otherwise."""
        if not self._access.token_file:
            return self._access.token
        try:
            text = Path(self._access.token_file).read_text().strip()
        except OSError as error:
            return self._last_token(f"cannot be read: {error.strerror}")
        return text or self._last_token("is empty")

    def _last_token(self, why: str) -> str:
        last = self._credential.token or self._access.token
        if last:
            return last
        raise CredentialFailure(f'the token file "{self._access.token_file}" {why}')


class _FromPlugin:
    """Credentials of an exec plugin, with a certificate of the access as the ground."""

    def __init__(self, plugin: ExecCredentials) -> None:
        self._plugin = plugin

    async def current(self) -> Credential:
        found = await self._plugin.current()
        access = self._plugin.access
        headers = (*impersonation_headers(access.impersonate), *access.headers)
        if found.token:
            headers = (("authorization", f"Bearer {found.token}"), *headers)
        if found.certificate:
            return Credential(headers, found.certificate, found.key)
        certificate = access.certificate.read() if access.certificate else b""
        return Credential(headers, certificate, access.key.read() if access.key else b"")

    async def refused(self, credential: Credential) -> bool:
        return await self._plugin.refused(credential.token, credential.certificate)


def impersonation_headers(who: Impersonation) -> tuple[tuple[str, str], ...]:
    """Asks the server to decide as if somebody else were calling."""
    if not who.user:
        return ()
    headers = [("impersonate-user", who.user)]
    if who.uid:
        headers.append(("impersonate-uid", who.uid))
    headers += [("impersonate-group", group) for group in who.groups]
    for name, values in who.extra:
        header = f"impersonate-extra-{quote(name, safe='').lower()}"
        headers += [(header, value) for value in values]
    return tuple(headers)
