"""Credentials from an external program (client.authentication.k8s.io), kept until they expire."""

import asyncio
import base64
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from fleetqueue.base import codec
from fleetqueue.base.clock import Clock
from fleetqueue.kube.errors import BadKubeconfig, CredentialFailure
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.kubeconfig_entries import ExecConfig

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")
PROGRAM_SECONDS_MAX = 300.0


@dataclass(frozen=True)
class Program:
    """One run of a plugin: what to start, how, and whether it may ask a person."""

    command: Sequence[str]
    environ: Mapping[str, str]
    is_interactive: bool = False


@dataclass(frozen=True)
class Finished:
    """How a run ended."""

    code: int
    stdout: bytes


Run = Callable[[Program], Awaitable[Finished]]


@dataclass(frozen=True)
class ExecCredential:
    """What a plugin yields."""

    token: str = ""
    certificate: bytes = b""
    key: bytes = b""
    expires_at: datetime | None = None


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Output(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


class ExecCredentials:
    """Runs the plugin when there is no credential yet, when it expired, and when it was refused."""

    def __init__(self, access: Access, clock: Clock, run: Run) -> None:
        assert access.exec is not None
        self.access = access
        self._config = _checked(access.exec)
        self._clock = clock
        self._run = run
        self._lock = asyncio.Lock()
        self._found: ExecCredential | None = None

    async def current(self) -> ExecCredential:
        async with self._lock:
            if self._found is None or self._is_expired(self._found):
                self._found = await self._ask()
            return self._found

    async def refused(self, token: str, certificate: bytes) -> bool:
        """Forgets the credential, unless it has been replaced since the refused call began."""
        found = self._found
        if found and found.token == token and certificate in (found.certificate, b""):
            self._found = None
        return True

    def _is_expired(self, found: ExecCredential) -> bool:
        return found.expires_at is not None and self._clock.now() >= found.expires_at

    async def _ask(self) -> ExecCredential:
        interactive = _may_interact(self._config)
        program = Program(
            (self._config.command, *(self._config.args or ())),
            self._environ(interactive),
            interactive,
        )
        try:
            finished = await self._run(program)
        except FileNotFoundError as error:
            hint = f"; {self._config.install_hint.strip()}" if self._config.install_hint else ""
            what = f'the exec plugin "{self._config.command}" is not installed{hint}'
            raise CredentialFailure(what) from error
        except (OSError, TimeoutError) as error:
            what = f'the exec plugin "{self._config.command}" cannot run: {error}'
            raise CredentialFailure(what) from error
        if finished.code:
            what = f'the exec plugin "{self._config.command}" failed with exit code {finished.code}'
            raise CredentialFailure(what)
        return _read(finished.stdout, self._config)

    def _environ(self, interactive: bool) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._config.provide_cluster_info:
            spec["cluster"] = _cluster_info(self.access)
        info = {"kind": "ExecCredential", "apiVersion": self._config.api_version, "spec": spec}
        own = {variable.name: variable.value for variable in self._config.env or ()}
        return {**os.environ, **own, "KUBERNETES_EXEC_INFO": codec.encode(info).decode()}


async def run_program(program: Program) -> Finished:
    """The plugin as a child process; what it says on stderr is for the person who waits."""
    process = await asyncio.create_subprocess_exec(
        *program.command,
        env=dict(program.environ),
        stdin=None if program.is_interactive else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PROGRAM_SECONDS_MAX):
            stdout, _ = await process.communicate()
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return Finished(process.returncode or 0, stdout)


def _checked(config: ExecConfig) -> ExecConfig:
    if not config.command:
        raise BadKubeconfig("an exec plugin needs a command", field="exec.command")
    if config.api_version not in VERSIONS:
        raise BadKubeconfig(
            f'the exec plugin speaks "{config.api_version}", which Kubernetes no longer does'
            if config.api_version
            else "an exec plugin needs an apiVersion",
            field="exec.apiVersion",
            fix=f"use {VERSIONS[0]}, and a plugin that speaks it",
        )
    mode = config.interactive_mode
    if not mode and config.api_version == VERSIONS[1]:
        mode = "IfAvailable"
    if mode not in INTERACTIVE_MODES:
        fix = f"give one of: {', '.join(INTERACTIVE_MODES)}"
        what = "an exec plugin needs an interactiveMode"
        raise BadKubeconfig(what, field="exec.interactiveMode", fix=fix)
    return msgspec.structs.replace(config, interactive_mode=mode)


def _may_interact(config: ExecConfig) -> bool:
    has_terminal = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
    if config.interactive_mode == "Always" and not has_terminal:
        raise CredentialFailure(
            f'the exec plugin "{config.command}" must ask a person, and there is no terminal'
        )
    return config.interactive_mode != "Never" and has_terminal


def _cluster_info(access: Access) -> dict[str, Any]:
    authority = access.authority.read() if access.authority else b""
    info = {
        "server": access.server,
        "tls-server-name": access.tls_server_name,
        "insecure-skip-tls-verify": access.is_insecure,
        "certificate-authority-data": base64.b64encode(authority).decode(),
        "proxy-url": access.proxy_url,
        "disable-compression": access.disable_compression,
    }
    given = {name: value for name, value in info.items() if value}
    return {**given, "config": access.exec_cluster_config}


def _read(stdout: bytes, config: ExecConfig) -> ExecCredential:
    who = f'the exec plugin "{config.command}"'
    try:
        output = msgspec.json.decode(stdout, type=_Output)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        # The output may hold a secret: it is not repeated here.
        raise CredentialFailure(f"{who} printed no ExecCredential: {error}") from error
    if output.api_version != config.api_version or output.kind != "ExecCredential":
        raise CredentialFailure(
            f"{who} was asked for {config.api_version} ExecCredential "
            f"and printed {output.api_version} {output.kind}"
        )
    status = output.status
    if status is None or not (status.token or status.client_certificate_data):
        raise CredentialFailure(f"{who} printed neither a token nor a certificate")
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise CredentialFailure(f"{who} printed only one of a certificate and its key")
    return ExecCredential(
        status.token,
        status.client_certificate_data.encode(),
        status.client_key_data.encode(),
        status.expiration_timestamp,
    )
