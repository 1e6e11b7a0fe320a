"""From kubectl's connection flags to a client: what a flag says goes before the kubeconfig."""

import os
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from fleetqueue.api.times import TimeError, parse_duration
from fleetqueue.base.clock import Clock
from fleetqueue.cli.kueuectl.session import NAME, warn
from fleetqueue.cli.kueuectl.transport import transport_for
from fleetqueue.errors import UsageError
from fleetqueue.kube import auth
from fleetqueue.kube.client import Client
from fleetqueue.kube.kubeconfig import Access, Impersonation, Kubeconfig, Material
from fleetqueue.kube.kubeconfig_entries import ClusterEntry, ContextEntry
from fleetqueue.kube.transport import Answer, Call, Stream, Transport

BAD_TIMEOUT = (
    "Invalid timeout value. Timeout must be a single integer in seconds, or an integer"
    " followed by a corresponding time unit (e.g. 1s | 2m | 3h)"
)
_GIVEN = "the command line"


def connect(flags: Mapping[str, Any], clock: Clock) -> Client:
    access = access_of(flags, os.environ)
    transport = transport_for(access, clock, os.environ, NAME)
    seconds = timeout_seconds(flags.get("request_timeout") or "0")
    if seconds is not None:
        transport = Hurried(transport, seconds)
    return Client(
        transport,
        random=random.SystemRandom(),
        namespace=access.namespace,
        field_manager=NAME,
        on_warning=warn,
    )


def access_of(flags: Mapping[str, Any], environ: Mapping[str, str]) -> Access:
    """The cluster, the user and the namespace that count."""
    file = flags.get("kubeconfig")
    merged = auth.find_kubeconfig(file, environ)
    if merged.is_empty and not flags.get("server"):
        access = auth.find_access(file, environ=environ)
    else:
        access = _of_kubeconfig(merged, flags)
    access = _with_certificates(_with_user(access, flags), flags)
    return replace(
        access,
        namespace=flags.get("namespace") or access.namespace,
        tls_server_name=flags.get("tls_server_name") or access.tls_server_name,
        disable_compression=flags.get("disable_compression") or access.disable_compression,
    )


def timeout_seconds(text: str) -> float | None:
    """None: no limit but the transport's own."""
    try:
        seconds = float(text) if text.isdecimal() else parse_duration(text).total_seconds()
    except TimeError as error:
        raise UsageError(BAD_TIMEOUT) from error
    return seconds or None


def _of_kubeconfig(merged: Kubeconfig, flags: Mapping[str, Any]) -> Access:
    """A server that is named needs no entry in the file."""
    clusters = dict(merged.clusters)
    name = flags.get("context") or merged.current_context or _GIVEN
    entry = merged.contexts.get(name)
    if entry is None and (flags.get("context") or not flags.get("server")):
        return merged.access(flags.get("context") or "")
    entry = entry or ContextEntry(cluster=_GIVEN)
    cluster = flags.get("cluster") or entry.cluster
    if flags.get("server"):
        known = clusters.get(cluster) or ClusterEntry()
        clusters[cluster] = msgspec.structs.replace(known, server=flags["server"])
    user = flags.get("user") or entry.user
    entry = msgspec.structs.replace(entry, cluster=cluster, user=user)
    contexts = {**merged.contexts, name: entry}
    return replace(merged, clusters=clusters, contexts=contexts).access(name)


def _with_user(access: Access, flags: Mapping[str, Any]) -> Access:
    if flags.get("token"):
        access = replace(
            access, token=flags["token"], token_file="", exec=None, username="", password=""
        )
    if any(flags.get(name) for name in ("as", "as_uid", "as_group")):
        user = flags.get("as") or access.impersonate.user
        if not user:
            raise UsageError("requesting uid, groups or user-extra without impersonating a user")
        groups = tuple(flags.get("as_group") or ())
        who = Impersonation(user, flags.get("as_uid") or "", groups)
        access = replace(access, impersonate=who)
    return access


def _with_certificates(access: Access, flags: Mapping[str, Any]) -> Access:
    if flags.get("insecure_skip_tls_verify"):
        access = replace(access, is_insecure=True, authority=None)
    return replace(
        access,
        authority=_file(flags, "certificate_authority") or access.authority,
        certificate=_file(flags, "client_certificate") or access.certificate,
        key=_file(flags, "client_key") or access.key,
    )


def _file(flags: Mapping[str, Any], flag: str) -> Material | None:
    path = flags.get(flag)
    return Material(file=str(Path(path).absolute())) if path else None


class Hurried:
    """A transport whose calls may take so long and no longer."""

    def __init__(self, transport: Transport, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds

    async def request(self, call: Call) -> Answer:
        return await self._transport.request(replace(call, timeout_seconds=self._seconds))

    async def stream(self, call: Call) -> Stream:
        return await self._transport.stream(replace(call, timeout_seconds=self._seconds))

    async def close(self) -> None:
        await self._transport.close()
