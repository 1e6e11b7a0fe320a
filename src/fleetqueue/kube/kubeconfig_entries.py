"""What stands in a kubeconfig file, field by field."""

from typing import Any

import msgspec


class ExecVariable(msgspec.Struct, frozen=True):
    """An environment variable of an exec plugin."""

    name: str
    value: str = ""


class ExecConfig(msgspec.Struct, frozen=True, rename="camel"):
    """How to run the program that yields a credential."""

    command: str
    api_version: str = ""
    args: list[str] | None = None
    env: list[ExecVariable] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class Extension(msgspec.Struct, frozen=True):
    """Something a tool keeps beside an entry."""

    name: str
    extension: Any = None


class ClusterEntry(msgspec.Struct, frozen=True, rename="kebab"):
    """Where an API server is and how to know that it is the right one."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[Extension] | None = None


class UserEntry(msgspec.Struct, frozen=True, rename="kebab"):
    """Who we say we are."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    as_: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] | None = None
    as_user_extra: dict[str, list[str]] | None = None
    exec: ExecConfig | None = None
    auth_provider: Any = None


class ContextEntry(msgspec.Struct, frozen=True):
    """A cluster, a user and a namespace under one name."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class Named(msgspec.Struct, frozen=True):
    """An entry of one of the lists."""

    name: str


class NamedCluster(Named, frozen=True):
    """A cluster in its list."""

    cluster: ClusterEntry | None = None


class NamedUser(Named, frozen=True):
    """A user in its list."""

    user: UserEntry | None = None


class NamedContext(Named, frozen=True):
    """A context in its list."""

    context: ContextEntry | None = None


class KubeconfigFile(msgspec.Struct, frozen=True):
    """One file as it is written."""

    kind: str = "Config"
    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None
    current_context: str = msgspec.field(default="", name="current-context")
