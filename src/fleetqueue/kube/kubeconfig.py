"""Reads kubeconfig files, merges them as kubectl does, and resolves one context into an access."""

import base64
import binascii
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from fleetqueue.kube.errors import BadKubeconfig
from fleetqueue.kube.kubeconfig_entries import (
    ClusterEntry,
    ContextEntry,
    ExecConfig,
    KubeconfigFile,
    Named,
    UserEntry,
)

DEPTH_MAX = 100
ALIASES_MAX = 10
TOO_DEEP = "this is nested too deeply"
TOO_MANY_ALIASES = "this has too many aliases"
NOT_AS_TAGGED = "a value is not what it seems to be, or what its tag says"
E = TypeVar("E", bound=Named)
_LOGIN = re.compile(r"^([^:/?#]*://)?.*@", re.DOTALL)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """To Go's parser, what looks like a time is text."""


_Loader.add_constructor("tag:yaml.org,2002:timestamp", yaml.SafeLoader.construct_yaml_str)


@dataclass(frozen=True)
class Material:
    """A certificate or key: its bytes, or a file that may be replaced while we run."""

    data: bytes | None = None
    file: str = ""

    def read(self) -> bytes:
        if self.data is not None:
            return self.data
        try:
            return Path(self.file).read_bytes()
        except OSError as error:
            why = f'the file "{self.file}" cannot be read: {error.strerror}'
            raise BadKubeconfig(why) from error


@dataclass(frozen=True)
class Impersonation:
    """Another user to act as."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class Access:
    """Everything that is needed to reach one cluster as one user."""

    server: str
    namespace: str = "default"
    authority: Material | None = None
    is_insecure: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    certificate: Material | None = None
    key: Material | None = None
    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    exec: ExecConfig | None = None
    exec_cluster_config: Any = None
    """What the cluster's entry says to exec plugins, passed on as it is."""
    impersonate: Impersonation = Impersonation()
    headers: tuple[tuple[str, str], ...] = ()
    """What else goes with every call, for whoever stands before the server; names in lower case."""
    name: str = ""
    """The context's name, for messages."""


@dataclass(frozen=True)
class Kubeconfig:
    """Several files as one: the first that names a thing decides it."""

    clusters: Mapping[str, ClusterEntry] = field(default_factory=dict)
    users: Mapping[str, UserEntry] = field(default_factory=dict)
    contexts: Mapping[str, ContextEntry] = field(default_factory=dict)
    current_context: str = ""
    files: Sequence[str] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.clusters or self.users or self.contexts)

    def access(self, context: str = "") -> Access:
        """What a context gives; the current one unless named."""
        name = context or self.current_context
        entry = self._context(name, asked=bool(context))
        cluster = self._lookup("cluster", self.clusters, entry.cluster, name)
        user = self._lookup("user", self.users, entry.user, name) if entry.user else UserEntry()
        try:
            return _access(name, entry, cluster, user)
        except BadKubeconfig as error:
            raise BadKubeconfig(
                error.what, file=", ".join(self.files), field=error.field, fix=error.fix
            ) from error

    def _context(self, name: str, *, asked: bool) -> ContextEntry:
        if not name:
            raise BadKubeconfig(
                "no context is current",
                file=", ".join(self.files),
                fix="run `kubectl config use-context NAME`, or name a context",
            )
        if name not in self.contexts:
            what = f'there is no context "{name}"'
            fix = f"name one of: {', '.join(sorted(self.contexts)) or '(there are none)'}"
            where = "" if asked else "current-context"
            raise BadKubeconfig(what, file=", ".join(self.files), field=where, fix=fix)
        return self.contexts[name]

    def _lookup(self, what: str, entries: Mapping[str, Any], name: str, context: str) -> Any:
        if name not in entries:
            raise BadKubeconfig(
                f'the context "{context}" names the {what} "{name}", which does not exist',
                file=", ".join(self.files),
                fix=f"name one of: {', '.join(sorted(entries)) or '(there are none)'}",
            )
        return entries[name]


def load(paths: Iterable[str | os.PathLike[str]], *, must_exist: bool = False) -> Kubeconfig:
    """Reads and merges files. Those that do not exist count as empty, unless they must exist."""
    merged = Kubeconfig()
    for path in paths:
        text = _read(Path(path), must_exist=must_exist)
        if text is not None:
            merged = _merge(merged, parse(text, str(path)))
    return merged


def parse(text: str, path: str = "") -> Kubeconfig:
    """One file. Relative paths in it are relative to the file."""
    raw = content(text, path)
    try:
        read = msgspec.convert({} if raw is None else raw, KubeconfigFile)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        raise BadKubeconfig(what, file=path, field=where.rstrip("`")) from error
    folder = Path(path).absolute().parent
    clusters = _by_name(read.clusters, "clusters", path)
    users = _by_name(read.users, "users", path)
    contexts = _by_name(read.contexts, "contexts", path)
    return Kubeconfig(
        clusters={n: _absolute_cluster(c.cluster or ClusterEntry(), folder) for n, c in clusters},
        users={name: _absolute_user(u.user or UserEntry(), folder) for name, u in users},
        contexts={name: c.context or ContextEntry() for name, c in contexts},
        current_context=read.current_context,
        files=(path,) if path else (),
    )


def content(text: str, path: str = "") -> Any:
    """What its YAML says. Nothing of the text is repeated where it cannot be read: any of it may be
    a secret.
    """
    try:
        if fault := _excess(text):
            raise BadKubeconfig(fault, file=path)
        return _without_nulls(yaml.load(text, Loader=_Loader))
    except yaml.YAMLError as error:
        raise BadKubeconfig(f"this is not YAML: {_place_and_problem(error)}", file=path) from error
    except RecursionError:
        raise BadKubeconfig(TOO_DEEP, file=path) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise BadKubeconfig(NOT_AS_TAGGED, file=path, fix="put it in quotes") from None


def _excess(text: str) -> str:
    """What is too much of it, known from its events alone: to make objects of them would exhaust
    the stack or, where aliases repeat each other, take for ever.
    """
    depth = aliases = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        if depth > DEPTH_MAX:
            return TOO_DEEP
        if aliases > ALIASES_MAX:
            return TOO_MANY_ALIASES
    return ""


def problem_of(error: yaml.MarkedYAMLError) -> str:
    """Without the tag or the name that is the problem."""
    if isinstance(error, yaml.constructor.ConstructorError):
        return NOT_AS_TAGGED
    if isinstance(error, yaml.composer.ComposerError):
        return str(error.problem or "").partition("'")[0].rstrip()
    return error.problem or ""


def without_login(url: str) -> str:
    """For messages: an address may hold a user and a password."""
    return _LOGIN.sub(r"\1", url)


def _place_and_problem(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return _one_line(error)
    mark = error.problem_mark or error.context_mark
    place = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"{problem_of(error)}{place}"


def _read(path: Path, *, must_exist: bool) -> str | None:
    try:
        return path.read_text()
    except FileNotFoundError as error:
        if not must_exist:
            return None
        raise BadKubeconfig("the file does not exist", file=str(path)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadKubeconfig(f"the file cannot be read: {error}", file=str(path)) from error


def _merge(first: Kubeconfig, then: Kubeconfig) -> Kubeconfig:
    return Kubeconfig(
        clusters={**then.clusters, **first.clusters},
        users={**then.users, **first.users},
        contexts={**then.contexts, **first.contexts},
        current_context=first.current_context or then.current_context,
        files=(*first.files, *then.files),
    )


def _by_name(entries: list[E] | None, field: str, path: str) -> list[tuple[str, E]]:
    found: dict[str, E] = {}
    for index, entry in enumerate(entries or ()):
        if entry.name in found:
            what = f'the name "{entry.name}" stands twice'
            raise BadKubeconfig(what, file=path, field=f"{field}[{index}].name")
        found[entry.name] = entry
    return list(found.items())


def _absolute_cluster(cluster: ClusterEntry, folder: Path) -> ClusterEntry:
    authority = _absolute(cluster.certificate_authority, folder)
    return msgspec.structs.replace(cluster, certificate_authority=authority)


def _absolute_user(user: UserEntry, folder: Path) -> UserEntry:
    plugin = user.exec
    if plugin is not None and "/" in plugin.command:
        plugin = msgspec.structs.replace(plugin, command=_absolute(plugin.command, folder))
    return msgspec.structs.replace(
        user,
        client_certificate=_absolute(user.client_certificate, folder),
        client_key=_absolute(user.client_key, folder),
        token_file=_absolute(user.token_file, folder),
        exec=plugin,
    )


def _absolute(path: str, folder: Path) -> str:
    return str(folder / path) if path else ""


def _access(name: str, context: ContextEntry, cluster: ClusterEntry, user: UserEntry) -> Access:
    at_cluster, at_user = f'cluster "{context.cluster}"', f'user "{context.user}"'
    _check(cluster, user, at_cluster, at_user)
    access = Access(
        server=_server(cluster.server, at_cluster),
        namespace=context.namespace or "default",
        authority=_material(
            cluster.certificate_authority_data,
            cluster.certificate_authority,
            f"{at_cluster}, certificate-authority-data",
        ),
        is_insecure=cluster.insecure_skip_tls_verify,
        tls_server_name=cluster.tls_server_name,
        proxy_url=_proxy(cluster.proxy_url, at_cluster),
        disable_compression=cluster.disable_compression,
        exec_cluster_config=_exec_extension(cluster),
        name=name,
    )
    return _with_user(access, user, at_user)


def _with_user(access: Access, user: UserEntry, at_user: str) -> Access:
    extra = tuple((key, tuple(values)) for key, values in (user.as_user_extra or {}).items())
    groups = tuple(user.as_groups or ())
    return replace(
        access,
        certificate=_material(
            user.client_certificate_data,
            user.client_certificate,
            f"{at_user}, client-certificate-data",
        ),
        key=_material(user.client_key_data, user.client_key, f"{at_user}, client-key-data"),
        token=user.token,
        token_file=user.token_file,
        username=user.username,
        password=user.password,
        exec=user.exec,
        impersonate=Impersonation(user.as_, user.as_uid, groups, extra),
    )


def _check(cluster: ClusterEntry, user: UserEntry, at_cluster: str, at_user: str) -> None:
    has_authority = cluster.certificate_authority or cluster.certificate_authority_data
    if cluster.insecure_skip_tls_verify and has_authority:
        raise BadKubeconfig(
            "a certificate authority and insecure-skip-tls-verify exclude each other",
            field=at_cluster,
            fix="remove one of them",
        )
    if user.auth_provider is not None:
        raise BadKubeconfig(
            "auth-provider was removed from Kubernetes in 1.26",
            field=at_user,
            fix="use an exec plugin, such as the one your cloud's command line offers",
        )
    methods = [bool(user.token or user.token_file), bool(user.username or user.password)]
    if all(methods):
        raise BadKubeconfig(
            "a token and a password exclude each other", field=at_user, fix="remove one of them"
        )
    certificate = bool(user.client_certificate or user.client_certificate_data)
    if certificate != bool(user.client_key or user.client_key_data):
        missing = "client-key" if certificate else "client-certificate"
        raise BadKubeconfig(
            "a client certificate and its key belong together",
            field=at_user,
            fix=f"add {missing} or {missing}-data",
        )
    impersonates = user.as_uid or user.as_groups or user.as_user_extra
    if impersonates and not user.as_:
        raise BadKubeconfig(
            "as-uid, as-groups and as-user-extra need a user", field=f"{at_user}, as"
        )


def _server(url: str, at: str) -> str:
    if not url:
        raise BadKubeconfig("no server is given", field=at, fix="add server: https://HOST:PORT")
    if "://" not in url:
        url = f"http://{url}"
    if not url.startswith(("https://", "http://")):
        raise BadKubeconfig(
            f'"{without_login(url)}" is not an http or https address', field=f"{at}, server"
        )
    return url.rstrip("/")


def _proxy(url: str, at: str) -> str:
    if url and not url.startswith(("http://", "https://", "socks5://")):
        raise BadKubeconfig(
            f'"{without_login(url)}" is not the address of a proxy',
            field=f"{at}, proxy-url",
            fix="give an http://, https:// or socks5:// address",
        )
    return url


def _material(data: str, file: str, at: str) -> Material | None:
    if data:
        try:
            return Material(base64.b64decode("".join(data.split()), validate=True))
        except (binascii.Error, ValueError) as error:
            raise BadKubeconfig(f"this is not base64: {error}", field=at) from error
    return Material(file=file) if file else None


def _exec_extension(cluster: ClusterEntry) -> Any:
    for extension in cluster.extensions or ():
        if extension.name == "client.authentication.k8s.io/exec":
            return extension.extension
    return None


def _without_nulls(value: Any) -> Any:
    """A null is as good as nothing, as it is to kubectl; what is another tool's stays as it is."""
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: item if name == "extensions" else _without_nulls(item)
        for name, item in value.items()
        if item is not None
    }


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
